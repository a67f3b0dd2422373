package openstack_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/openstackauth"
	"fairlead.dev/providers/infrastructure/openstack"
	"fairlead.dev/providers/infrastructure/openstack/api"
	"fairlead.dev/providers/infrastructure/openstack/cloud"
	ost "fairlead.dev/providers/infrastructure/openstack/openstacktest"
)

// betaSecret is the Secret of the pool that is in project beta.
var betaSecret = fleet.Key{Namespace: "prod", Name: "beta-config"}

// ownNetwork adds a network of a project's own.
func ownNetwork(c *ost.Cloud, project string) (id string) {
	id = c.Add(project, ost.Networks, ost.Object{"name": "theirs", "status": "ACTIVE"})
	c.Add(project, ost.Subnets, ost.Object{
		"network_id": id, "cidr": "10.9.0.0/24", "ip_version": 4,
		"allocation_pools": []ost.Object{{"start": "10.9.0.10", "end": "10.9.0.99"}},
	})
	return id
}

// elsewhere is a machine in a network of its project's own.
func elsewhere(identity api.OpenStackIdentityReference) *api.OpenStackMachineSpec {
	spec := machineSpec()
	spec.IdentityRef = &identity
	spec.Ports = []api.PortOpts{{
		Network:                &api.NetworkParam{Filter: &api.NetworkFilter{Name: "theirs"}},
		ResolvedPortSpecFields: api.ResolvedPortSpecFields{EnablePortSecurity: ptr(false)}, // the managed groups are in alpha
	}}
	return spec
}

// inBeta has the workers of w in project beta, with one machine, and returns what is
// remembered of that and how the pool leaves Git.
func (w *world) inBeta(ref api.OpenStackIdentityReference) (lives fleet.Residence, leave func()) {
	w.Helper()
	ownNetwork(w.cloud, "beta")
	home := w.cluster.Workers
	pool := home[0]
	pool.Template = "1-beta"
	pool.Infrastructure = object(w, "OpenStackMachineTemplate", "nodes-beta", nil, elsewhere(ref))
	pool.Infrastructure.Secrets = map[fleet.Key]fleet.SecretData{betaSecret: w.cluster.Secrets[betaSecret.Name]}
	w.cluster.Workers = []fleet.Pool{pool}
	w.settle()
	w.mustCreate(0)
	w.await(0, fleet.MachineRunning)
	lives.Provider = "openstack"
	for _, p := range w.observe().Places {
		lives.Places = append(lives.Places, p.Place)
	}
	return lives, func() {
		w.cluster.Workers, w.cluster.Residence = home, lives
		w.cluster.Residence.Places = slices.Clone(lives.Places)
	}
}

func (w *world) secretOf(user string) fleet.SecretData {
	return fleet.SecretData{openstackauth.CloudsYAMLKey: fleet.NewSecret(w.cloud.CloudsYAML(ost.URL, user))}
}

func betaIdentity() api.OpenStackIdentityReference {
	return api.OpenStackIdentityReference{Type: api.IdentitySecret, Name: betaSecret.Name, CloudName: "openstack"}
}

// A project that Git does not name any more is looked at as long as something of the
// cluster is there, by whichever process: what is remembered leads there.
func TestRememberedPlace(t *testing.T) {
	inBubble(t, clusterSpec(), machineSpec(), func(w *world) {
		w.cluster.Secrets = map[string]fleet.SecretData{betaSecret.Name: w.secretOf("bob")}
		lives, leave := w.inBeta(betaIdentity())
		alpha, beta := "project "+w.cloud.ProjectID("alpha"), "project "+w.cloud.ProjectID("beta")+" in region RegionOne"
		want := []fleet.Place{{ID: alpha}, {ID: beta, Access: `{"type":"Secret","name":"beta-config","cloudName":"openstack"}`}}
		if !slices.Equal(lives.Places, want) {
			w.Fatalf("places %+v, want %+v", lives.Places, want)
		}
		inGit := w.cluster
		leave()
		w.restart()
		got := w.observe()
		if len(got.Machines) != 1 || got.Machines[0].Template != "1-beta" || got.Machines[0].State != fleet.MachineRunning {
			w.Fatalf("machines %+v, want the one in beta", got.Machines)
		}
		if want := []fleet.PlaceSeen{{Place: want[0], Used: true, Named: true}, {Place: want[1], Used: true}}; !slices.Equal(got.Places, want) {
			w.Errorf("places %+v, want %+v", got.Places, want)
		}
		w.wantError("DeleteInfrastructure", w.provider.DeleteInfrastructure(w.Context(), "op", &w.cluster), fleet.Conflict, "there are still machines")
		all, err := w.provider.Orphans(w.Context(), "fleet-a", []*fleet.Cluster{&w.cluster})
		if err != nil || len(all) > 0 {
			w.Errorf("orphans of a cluster that is there: %v, %v", all, err)
		}
		other := w.cluster
		other.Key.Name = "eu-2"
		if all, err = w.provider.Orphans(w.Context(), "fleet-a", []*fleet.Cluster{&other}); err != nil ||
			!slices.ContainsFunc(all, func(o fleet.Orphan) bool { return o.Kind == "server" && o.Name == string(got.Machines[0].Name) }) {
			w.Errorf("orphans in a remembered project: %v, %v", all, err)
		}
		m := got.Machines[0]
		if err := w.provider.DeleteMachine(w.Context(), "op", &w.cluster, m.Name, m.ProviderID); err != nil {
			w.Fatal(err)
		}
		w.calm()
		if got := w.observe(); len(got.Machines) != 0 || len(got.Places) != 2 || got.Places[1].Used {
			w.Errorf("with nothing in beta: machines %+v, places %+v", got.Machines, got.Places)
		}
		if left := inProject(w.cloud, "beta"); len(left) > 0 {
			w.Errorf("left in beta: %q", left)
		}
		w.cluster = inGit
		w.mustCreate(0)
		w.await(0, fleet.MachineRunning)
		leave()
		w.restart()
		w.remove()
		if left := inProject(w.cloud, "beta"); len(left) > 0 {
			w.Errorf("left in beta by a deletion: %q", left)
		}
	})
}

// inProject names all of project that machines have.
func inProject(c *ost.Cloud, project string) (out []string) {
	for _, k := range []ost.Kind{ost.Servers, ost.Ports, ost.Trunks, ost.FloatingIPs, ost.Volumes} {
		for _, o := range c.Objects(k) {
			if o.String("tenant_id") == c.ProjectID(project) || o.String("project_id") == c.ProjectID(project) {
				out = append(out, string(k)+" "+o.String("name"))
			}
		}
	}
	return out
}

// Where nobody can look any more in a project that has something of the cluster, that
// is an error which says what to do: nothing may follow from what is not seen.
func TestRememberedPlaceOutOfReach(t *testing.T) {
	const lost = "neither Git nor the secret store has it"
	for reason, tc := range map[string]struct {
		change func(w *world)
		words  []string // of the error; none: it goes well
	}{
		"as it was":          {func(*world) {}, nil},
		"no Secret":          {func(w *world) { w.cluster.Secrets = nil }, []string{"Secret prod/beta-config", lost, "bring it back"}},
		"Secret in store":    {func(w *world) { w.secret, w.cluster.Secrets = stored(w.secretOf("bob")), nil }, nil},
		"another project":    {func(w *world) { w.cluster.Secrets[betaSecret.Name] = w.secretOf("alice") }, []string{"Secret prod/beta-config leads to project", "bring back"}},
		"another user":       {func(w *world) { w.cluster.Secrets[betaSecret.Name] = w.secretOf("bob") }, nil},
		"another entry":      {access(`{"type":"Secret","name":"beta-config","cloudName":"none"}`), []string{`no cloud "none"`}},
		"identity is gone":   {access(`{"type":"ClusterIdentity","name":"company","cloudName":"openstack"}`), []string{"OpenStackClusterIdentity company"}},
		"nothing remembered": {access(""), []string{"it is not known with which credentials"}},
		"nonsense":           {access("{"), []string{"it is not known with which credentials"}},
		"Secret of another namespace": {access(`{"type":"Secret","name":"other/beta-config","cloudName":"openstack"}`), []string{
			"it is not known with which credentials",
		}},
		"given up": {func(w *world) {
			w.cluster.Secrets, w.cluster.ForgetPlaces = nil, []string{"project " + w.cloud.ProjectID("beta") + " in region RegionOne"}
		}, nil},
		"of another provider": {func(w *world) { w.cluster.Secrets, w.cluster.Residence.Provider = nil, "inmemory" }, nil},
	} {
		t.Run(reason, func(t *testing.T) {
			inBubble(t, clusterSpec(), machineSpec(), func(w *world) {
				w.secret = stored(nil)
				w.cluster.Secrets = map[string]fleet.SecretData{betaSecret.Name: w.secretOf("bob")}
				_, leave := w.inBeta(betaIdentity())
				leave()
				tc.change(w)
				before := inProject(w.cloud, "beta")
				p := newProviderWith(w)
				calls := map[string]func() error{
					"Observe": func() error { _, err := p.Observe(w.Context(), &w.cluster); return err },
					"Orphans": func() error { _, err := p.Orphans(w.Context(), "fleet-a", []*fleet.Cluster{&w.cluster}); return err },
				}
				if len(tc.words) > 0 { // what changes something asks as well
					calls["EnsureInfrastructure"] = func() error { return p.EnsureInfrastructure(w.Context(), "op", &w.cluster) }
					calls["DeleteInfrastructure"] = func() error { return p.DeleteInfrastructure(w.Context(), "op", &w.cluster) }
					calls["DeleteMachine"] = func() error { return p.DeleteMachine(w.Context(), "op", &w.cluster, "x", "") }
				}
				for name, call := range calls {
					err := call()
					if len(tc.words) == 0 && err != nil {
						w.Errorf("%s: %v", name, err)
					}
					if len(tc.words) > 0 {
						w.wantError(name, err, fleet.Unauthorized, append(tc.words, "look in project "+w.cloud.ProjectID("beta"),
							"fairlead.dev/forget-place: project "+w.cloud.ProjectID("beta")+" in region RegionOne")...)
					}
				}
				if after := inProject(w.cloud, "beta"); !slices.Equal(before, after) {
					w.Errorf("in beta is %q, was %q", after, before)
				}
			})
		})
	}
}

// stored is a secret store that has nothing but d.
func stored(d fleet.SecretData) func(fleet.Key) (fleet.SecretData, error) {
	return func(k fleet.Key) (fleet.SecretData, error) {
		if d == nil || k != betaSecret {
			return nil, fleet.Errorf(fleet.NotFound, "find it", "%s", k)
		}
		return d, nil
	}
}

// access has another access be remembered.
func access(text string) func(w *world) {
	return func(w *world) { w.cluster.Residence.Places[1].Access = text }
}

// What is remembered names the identity, of whichever kind, and holds nothing of the
// credential that it leads to.
func TestAccessHoldsNoCredential(t *testing.T) {
	inBubble(t, clusterSpec(), machineSpec(), func(w *world) {
		w.cluster.Secrets = map[string]fleet.SecretData{betaSecret.Name: w.secretOf("bob")}
		company := object(w, "OpenStackClusterIdentity", "company", nil, api.OpenStackClusterIdentitySpec{
			SecretRef: api.OpenStackCredentialSecretReference{Namespace: betaSecret.Namespace, Name: betaSecret.Name},
		})
		company.Namespace, company.Secrets = "", map[fleet.Key]fleet.SecretData{betaSecret: w.secretOf("bob")}
		w.cluster.Companions = []fleet.Object{company}
		ref := api.OpenStackIdentityReference{Type: api.IdentityCluster, Name: "company", CloudName: "openstack", Region: "RegionOne"}
		lives, leave := w.inBeta(ref)
		told, err := json.Marshal(lives)
		if err != nil {
			w.Fatal(err)
		}
		if got, want := lives.Places[1].Access, `{"type":"ClusterIdentity","name":"company","cloudName":"openstack","region":"RegionOne"}`; got != want {
			w.Errorf("remembered is %s, want %s", got, want)
		}
		for _, hidden := range []string{"password", "secret", "auth", "bob", "http"} {
			if strings.Contains(strings.ToLower(string(told)), hidden) {
				w.Errorf("%s holds %q", told, hidden)
			}
		}
		leave()
		w.cluster.Secrets = nil
		w.restart()
		if got := w.observe(); len(got.Machines) != 1 {
			w.Errorf("machines %+v, want the one in beta", got.Machines)
		}
		w.cluster.Companions[0].Spec = json.RawMessage(`{"secretRef":{"name":"beta-config","namespace":"prod"},"namespaceSelector":{"matchLabels":{"team":"a"}}}`)
		_, err = w.provider.Observe(w.Context(), &w.cluster)
		w.wantError("Observe with an identity that is for others now", err, fleet.Unauthorized, "does not let in namespace prod")
	})
}

// Two regions of a project are two places, each of which is remembered.
func TestRegionsArePlaces(t *testing.T) {
	inBubble(t, clusterSpec(), machineSpec(), func(w *world) {
		w.cluster.Secrets = map[string]fleet.SecretData{betaSecret.Name: w.secretOf("bob")}
		lives, leave := w.inBeta(betaIdentity())
		w.cluster.Residence = fleet.Residence{Provider: "openstack", Places: []fleet.Place{lives.Places[0], {ID: "project " + w.cloud.ProjectID("beta")}}}
		if got := w.observe(); len(got.Places) != 2 || got.Places[1].Place != lives.Places[1] {
			w.Errorf("places %+v with one of which the region is not known, want %+v", got.Places, lives.Places)
		}
		if got, want := lives.Places[1].ID, "project "+w.cloud.ProjectID("beta")+" in region RegionOne"; got != want {
			w.Fatalf("place %q, want %q", got, want)
		}
		leave()
		w.cluster.Residence.Places[1].ID = "project " + w.cloud.ProjectID("beta") + " in region RegionTwo"
		_, err := w.provider.Observe(w.Context(), &w.cluster)
		w.wantError("Observe of another region", err, fleet.Unauthorized, "leads to project "+w.cloud.ProjectID("beta")+" in region RegionOne")
		w.cluster.Residence.Places[1].ID = "project " + w.cloud.ProjectID("beta") // as of a credential that named none
		time.Sleep(2 * tick)
		if got := w.observe(); len(got.Places) != 2 || got.Places[1].ID != lives.Places[1].ID || len(got.Machines) != 1 {
			w.Errorf("machines %+v, places %+v", got.Machines, got.Places)
		}
	})
}

// newProviderWith returns a provider that asks the secret store of w.
func newProviderWith(w *world) *openstack.Provider {
	return openstack.New(openstack.Options{
		Cloud: cloud.Options{Tick: tick, Rate: -1, Base: w.client}, Settle: settle,
		Secret: func(_ context.Context, k fleet.Key) (fleet.SecretData, error) { return w.secret(k) },
	})
}

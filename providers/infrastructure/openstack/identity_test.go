package openstack_test

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/openstackauth"
	"fairlead.dev/providers/infrastructure/openstack"
	"fairlead.dev/providers/infrastructure/openstack/api"
	"fairlead.dev/providers/infrastructure/openstack/cloud"
	ost "fairlead.dev/providers/infrastructure/openstack/openstacktest"
)

func TestIdentity(t *testing.T) {
	named := clusterSpec()
	named.IdentityRef = api.OpenStackIdentityReference{Type: api.IdentityCluster, Name: "company", CloudName: "openstack"}
	stored := fleet.Key{Namespace: "infra", Name: "openstack"}
	company := func(w *world, labels map[string]string, secrets map[fleet.Key]fleet.SecretData) fleet.Object {
		spec := api.OpenStackClusterIdentitySpec{SecretRef: api.OpenStackCredentialSecretReference{Namespace: stored.Namespace, Name: stored.Name}}
		if labels != nil {
			spec.NamespaceSelector = &metav1.LabelSelector{MatchLabels: labels}
		}
		o := object(w, "OpenStackClusterIdentity", "company", nil, spec)
		o.Namespace, o.Secrets = "", secrets
		return o
	}
	data := func(w *world) fleet.SecretData {
		return fleet.SecretData{openstackauth.CloudsYAMLKey: fleet.NewSecret(w.cloud.CloudsYAML(ost.URL, "alice"))}
	}
	for reason, tc := range map[string]struct {
		spec  *api.OpenStackClusterSpec
		setup func(w *world)
		words string // of the error; empty: it goes well
	}{
		"Secret in Git": {clusterSpec(), func(*world) {}, ""},
		"Secret nowhere": {
			clusterSpec(), func(w *world) { w.cluster.Infrastructure.Secrets = nil },
			"neither Git nor the secret store has it",
		},
		"Secret in the store": {clusterSpec(), func(w *world) {
			w.cluster.Infrastructure.Secrets = nil
			w.secret = func(k fleet.Key) (fleet.SecretData, error) {
				if k != credential {
					return nil, fleet.Errorf(fleet.NotFound, "find it", "%s", k)
				}
				return data(w), nil
			}
		}, ""},
		"identity": {named, func(w *world) {
			w.cluster.Companions = []fleet.Object{company(w, nil, map[fleet.Key]fleet.SecretData{stored: data(w)})}
		}, ""},
		"identity that is none": {named, func(*world) {}, "holds none of that name"},
		"identity without right": {named, func(w *world) {
			w.cluster.Companions = []fleet.Object{company(w, map[string]string{"team": "a"}, map[fleet.Key]fleet.SecretData{stored: data(w)})}
		}, "does not let in namespace prod"},
		"identity with right": {named, func(w *world) {
			w.cluster.NamespaceLabels = map[string]string{"team": "a"}
			w.cluster.Companions = []fleet.Object{company(w, map[string]string{"team": "a"}, map[fleet.Key]fleet.SecretData{stored: data(w)})}
		}, ""},
	} {
		t.Run(reason, func(t *testing.T) {
			inBubble(t, tc.spec, machineSpec(), func(w *world) {
				w.secret = func(k fleet.Key) (fleet.SecretData, error) {
					return nil, fleet.Errorf(fleet.NotFound, "find it", "%s", k)
				}
				tc.setup(w)
				p := openstack.New(openstack.Options{
					Cloud: cloud.Options{Tick: tick, Rate: -1, Base: w.client}, Settle: settle,
					Secret: func(_ context.Context, k fleet.Key) (fleet.SecretData, error) { return w.secret(k) },
				})
				_, err := p.Observe(w.Context(), &w.cluster)
				if tc.words == "" && err != nil {
					w.Fatal(err)
				}
				if tc.words != "" {
					w.wantError("Observe", err, fleet.Unauthorized, tc.words)
				}
			})
		})
	}
}

// A rotated credential touches no machine; a wrong one is told in Keystone's words.
func TestRotation(t *testing.T) {
	inBubble(t, clusterSpec(), machineSpec(), func(w *world) {
		w.settle()
		w.mustCreate(0)
		before := w.await(0, fleet.MachineRunning)
		old := w.cluster.Infrastructure.Secrets
		w.cloud.SetPassword("alice", "renewed")
		w.cloud.RevokeTokens()
		time.Sleep(2 * tick)
		_, err := w.provider.Observe(w.Context(), &w.cluster)
		w.wantError("Observe with the old password", err, fleet.Unauthorized, "requires authentication", "renew the credential")
		w.cluster.Infrastructure.Secrets = map[fleet.Key]fleet.SecretData{credential: {openstackauth.CloudsYAMLKey: fleet.NewSecret(w.cloud.CloudsYAML(ost.URL, "alice"))}}
		if string(old[credential][openstackauth.CloudsYAMLKey].Reveal()) == string(w.cluster.Infrastructure.Secrets[credential][openstackauth.CloudsYAMLKey].Reveal()) {
			w.Fatal("the credential is the same")
		}
		w.cloud.ForgetCalls()
		got := w.observe()
		if len(got.Machines) != 1 || got.Machines[0].ProviderID != before.ProviderID || len(got.Drift) != 0 || !got.Ready {
			w.Errorf("after the rotation: %+v, want all as it was", got)
		}
		for _, c := range w.cloud.Calls() {
			if c.Changes() {
				w.Errorf("the rotation changed something: %s %s", c.Method, c.Path)
			}
		}
	})
}

// Machines of an identity of their own are in its project, and are seen there.
func TestMachinesOfAnotherIdentity(t *testing.T) {
	inBubble(t, clusterSpec(), machineSpec(), func(w *world) {
		for user, project := range map[string]string{"carol": "alpha", "bob": "beta"} {
			spec := machineSpec()
			spec.IdentityRef = &api.OpenStackIdentityReference{Type: api.IdentitySecret, Name: credential.Name, CloudName: "openstack"}
			spec.Ports = []api.PortOpts{{
				Network:                &api.NetworkParam{Filter: &api.NetworkFilter{Name: "theirs"}},
				ResolvedPortSpecFields: api.ResolvedPortSpecFields{EnablePortSecurity: ptr(false)}, // the managed groups are in alpha
			}}
			n := w.cloud.Add(project, ost.Networks, ost.Object{"name": "theirs", "status": "ACTIVE"})
			w.cloud.Add(project, ost.Subnets, ost.Object{
				"network_id": n, "cidr": "10.9.0.0/24", "ip_version": 4,
				"allocation_pools": []ost.Object{{"start": "10.9.0.10", "end": "10.9.0.99"}},
			})
			w.cluster.Workers[0].Infrastructure = object(w, "OpenStackMachineTemplate", "nodes", w.cloud.CloudsYAML(ost.URL, user), spec)
			w.cluster.Workers[0].Infrastructure.Secrets = map[fleet.Key]fleet.SecretData{credential: {openstackauth.CloudsYAMLKey: fleet.NewSecret(w.cloud.CloudsYAML(ost.URL, user))}}
			if project == "beta" {
				w.cluster.Workers[0].Template = "1-beta"
			}
			w.settle()
			time.Sleep(2 * tick)
			before := len(w.cloud.Objects(ost.Servers))
			if err := w.create(0); err != nil {
				w.Fatalf("%s: %v", user, err)
			}
			w.await(0, fleet.MachineRunning)
			servers := w.cloud.Objects(ost.Servers)
			if got := servers[len(servers)-1].String("tenant_id"); len(servers) != before+1 || got != w.cloud.ProjectID(project) {
				w.Errorf("%s: %d servers, the last in project %s, want it in %s", user, len(servers), got, project)
			}
			got := w.observe()
			if n := len(got.Machines); n != 1 {
				w.Errorf("%s: %d machines, want one, seen once", user, n)
			}
			w.delete(0)
			w.calm()
			w.wantParts(0)
			w.cloud.Remove(ost.Networks, n)
		}
	})
}

// Where a cluster lives is told by its project, whoever the credential is of: an
// empty project behind another one is another place.
func TestPlaces(t *testing.T) {
	inBubble(t, clusterSpec(), machineSpec(), func(w *world) {
		as := func(user string) fleet.PlaceSeen {
			w.Helper()
			w.cluster.Infrastructure.Secrets = map[fleet.Key]fleet.SecretData{credential: {openstackauth.CloudsYAMLKey: fleet.NewSecret(w.cloud.CloudsYAML(ost.URL, user))}}
			got := w.observe()
			if len(got.Places) != 1 {
				w.Fatalf("as %s: places %v, want one", user, got.Places)
			}
			return got.Places[0]
		}
		home := "project " + w.cloud.ProjectID("alpha")
		if got, want := as("alice"), (fleet.PlaceSeen{Place: fleet.Place{ID: home}, Named: true}); got != want {
			w.Errorf("before anything is made: %v, want %v", got, want)
		}
		w.settle()
		for _, user := range []string{"alice", "carol"} {
			if got, want := as(user), (fleet.PlaceSeen{Place: fleet.Place{ID: home}, Used: true, Named: true}); got != want {
				w.Errorf("as %s: %v, want %v", user, got, want)
			}
		}
		if got, want := as("bob"), (fleet.PlaceSeen{Place: fleet.Place{ID: "project " + w.cloud.ProjectID("beta")}, Named: true}); got != want {
			w.Errorf("as bob: %v, want %v", got, want)
		}
	})
}

// A cluster whose names leave no room for a mark is told so before anything is made.
func TestNamesTooLong(t *testing.T) {
	inBubble(t, clusterSpec(), machineSpec(), func(w *world) {
		w.cluster.Fleet = fleet.ID(strings.Repeat("f", 63))
		w.cluster.Key = fleet.Key{Namespace: strings.Repeat("n", 63), Name: strings.Repeat("c", 63)}
		w.cluster.Infrastructure.Secrets = map[fleet.Key]fleet.SecretData{credential: w.cluster.Infrastructure.Secrets[credential]}
		w.observe()
		w.wantError("EnsureInfrastructure", w.provider.EnsureInfrastructure(w.Context(), "op", &w.cluster), fleet.Invalid, "characters too long")
		w.wantError("CreateMachine", w.create(0), fleet.Conflict, "is not there")
		spec := w.cluster.Infrastructure
		ownNetwork(w.cloud, "alpha")
		w.spec(&api.OpenStackClusterSpec{ // all that machines share is there, and others made it
			IdentityRef: identity(), Network: &api.NetworkParam{Filter: &api.NetworkFilter{Name: "theirs"}},
			APIServer: &api.APIServer{EnableFloatingIP: ptr(false)}, EnableExternalNetwork: ptr(false),
			ControlPlaneEndpoint: &clusterv1.APIEndpoint{Host: "api.example.com", Port: 6443},
		})
		w.cluster.Infrastructure.Secrets = spec.Secrets
		time.Sleep(2 * tick)
		if got := w.observe(); !got.Ready {
			w.Fatalf("not ready: %s", got.Message)
		}
		w.wantError("CreateMachine", w.create(0), fleet.Invalid, "characters too long")
		w.cluster.Infrastructure = spec
		if got := w.mine(); len(got) > 0 {
			w.Errorf("made %q, want nothing", got)
		}
		w.cluster.Key.Namespace = "prod"
		w.settle()
		w.mustCreate(0)
		w.await(0, fleet.MachineRunning)
	})
}

// TestStoreIsAskedOnce: the looks at many clusters ask the secret store for one Secret once, and
// one that is renewed is used soon.
func TestStoreIsAskedOnce(t *testing.T) {
	inBubble(t, clusterSpec(), machineSpec(), func(w *world) {
		asked := 0
		w.secret = func(k fleet.Key) (fleet.SecretData, error) {
			if k != credential {
				return nil, fleet.Errorf(fleet.NotFound, "find it", "%s", k)
			}
			asked++
			return w.secretOf("alice"), nil
		}
		w.provider = newProviderWith(w)
		var clusters []fleet.Cluster
		for n := range 20 {
			c := newCluster(w, nil, clusterSpec(), machineSpec())
			c.Key.Name = "eu-" + strconv.Itoa(n)
			c.Infrastructure.Secrets = nil
			clusters = append(clusters, c)
		}
		look := func() {
			t.Helper()
			for i := range clusters {
				if _, err := w.provider.Observe(w.Context(), &clusters[i]); err != nil {
					t.Fatal(err)
				}
			}
		}
		look()
		if asked != 1 {
			t.Errorf("20 looks asked the store %d times, want once", asked)
		}
		time.Sleep(2 * tick)
		look()
		if asked != 2 {
			t.Errorf("the store was asked %d times, want once again", asked)
		}
	})
}

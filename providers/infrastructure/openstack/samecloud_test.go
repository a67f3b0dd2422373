package openstack_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/openstackauth"
	ost "fairlead.dev/providers/infrastructure/openstack/openstacktest"
)

// alias has the workers of w reach their project by a clouds.yaml that change makes.
func (w *world) alias(change func(yaml string) string) {
	w.Helper()
	yaml := change(string(w.cloud.CloudsYAML(ost.URL, "alice")))
	w.cluster.Workers = slices.Clone(w.cluster.Workers)
	spec, ref := machineSpec(), betaIdentity()
	spec.IdentityRef = &ref
	w.cluster.Workers[0].Infrastructure = object(w, "OpenStackMachineTemplate", "nodes-alias", nil, spec)
	w.cluster.Workers[0].Infrastructure.Secrets = map[fleet.Key]fleet.SecretData{betaSecret: {openstackauth.CloudsYAMLKey: fleet.NewSecret([]byte(yaml))}}
	time.Sleep(2 * tick)
}

// otherHost is the cloud by another host name. Its catalogue has that name too.
func otherHost(yaml string) string { return strings.ReplaceAll(yaml, ost.URL, "http://10.0.0.5") }

// TestTwoNamesOfOneCloud: however the identities of a cluster call its project, it is one
// place, with each machine once.
func TestTwoNamesOfOneCloud(t *testing.T) {
	for name, change := range map[string]func(yaml string) string{
		"other host name": otherHost,
		"trailing slash":  func(y string) string { return strings.ReplaceAll(y, "/identity/v3", "/identity/v3/") },
		"no region":       func(y string) string { return strings.ReplaceAll(otherHost(y), "region_name", "ignored") },
		"other interface": func(y string) string {
			return strings.ReplaceAll(otherHost(y), "interface: public", "interface: internal")
		},
		"name of the project": func(y string) string {
			from := y[strings.Index(y, "project_id: "):]
			from = from[:strings.Index(from, "\n")]
			return strings.ReplaceAll(otherHost(y), from, "project_name: alpha\n      project_domain_name: Default")
		},
		"other user": func(y string) string { return strings.ReplaceAll(otherHost(y), "alice", "carol") },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, clusterSpec(), machineSpec(), func(w *world) {
				w.settle()
				w.mustCreate(0)
				id := w.await(0, fleet.MachineRunning).ProviderID
				w.alias(change)
				got := w.observe()
				if len(got.Machines) != 1 || got.Machines[0].ProviderID != id || got.Machines[0].Damaged != "" || len(got.Places) != 1 || len(got.Drift) > 0 {
					t.Fatalf("by two names: machines %+v in %+v, drift %q", got.Machines, got.Places, got.Drift)
				}
				w.mustCreate(1)
				w.await(1, fleet.MachineRunning)
				other := w.cluster
				other.Key.Name = "eu-2"
				orphans, err := w.provider.Orphans(w.Context(), "fleet-a", []*fleet.Cluster{&other})
				servers := slices.DeleteFunc(orphans, func(o fleet.Orphan) bool { return o.Kind != "server" })
				if err != nil || len(servers) != 2 {
					t.Errorf("orphans by two names %+v, %v, want two servers", servers, err)
				}
				w.delete(0)
				w.calm()
				if got := w.observe(); len(got.Machines) != 1 || got.Machines[0].Name != w.name(1) {
					t.Errorf("after a deletion by two names: %+v", got.Machines)
				}
			})
		})
	}
}

// TestOtherNameOfHome: a cloud that gets another name is the place that it was.
func TestOtherNameOfHome(t *testing.T) {
	inBubble(t, clusterSpec(), machineSpec(), func(w *world) {
		w.settle()
		w.mustCreate(0)
		w.await(0, fleet.MachineRunning)
		before := w.observe()
		yaml := otherHost(string(w.cloud.CloudsYAML(ost.URL, "alice")))
		again := newCluster(w, []byte(yaml), clusterSpec(), machineSpec())
		w.cluster.Infrastructure, w.cluster.ControlPlane, w.cluster.Workers = again.Infrastructure, again.ControlPlane, again.Workers
		w.cluster.Residence = fleet.Residence{Provider: "openstack", Places: []fleet.Place{before.Places[0].Place}}
		got := w.observe()
		if !slices.Equal(got.Places, before.Places) || len(got.Machines) != 1 || got.Endpoint != before.Endpoint || !got.Ready || len(got.Drift) > 0 {
			t.Errorf("by its new name: %+v, want %+v", got, before)
		}
	})
}

// TestRememberedByOtherName: a project that is remembered by one name, and that Git leads
// to by another, is one place.
func TestRememberedByOtherName(t *testing.T) {
	inBubble(t, clusterSpec(), machineSpec(), func(w *world) {
		w.cluster.Secrets = map[string]fleet.SecretData{betaSecret.Name: w.secretOf("bob")}
		lives, _ := w.inBeta(betaIdentity())
		w.cluster.Residence = lives
		pool := w.cluster.Workers[0]
		ref := betaIdentity()
		ref.Name = "beta-alias"
		yaml := strings.ReplaceAll(otherHost(string(w.cloud.CloudsYAML(ost.URL, "bob"))), "region_name", "ignored")
		pool.Infrastructure = object(w, "OpenStackMachineTemplate", "nodes-beta", nil, elsewhere(ref))
		pool.Infrastructure.Secrets = map[fleet.Key]fleet.SecretData{{Namespace: "prod", Name: ref.Name}: {openstackauth.CloudsYAMLKey: fleet.NewSecret([]byte(yaml))}}
		w.cluster.Workers = []fleet.Pool{pool}
		if got := w.observe(); len(got.Machines) != 1 || len(got.Places) != 2 {
			t.Errorf("machines %+v in %+v, want one machine in two places", got.Machines, got.Places)
		}
	})
}

// TestOneProjectThatDoesNotSaySo: where the cloud tells nothing by which two names are one,
// the machines that both show keep the cluster from being looked at.
func TestOneProjectThatDoesNotSaySo(t *testing.T) {
	inBubble(t, clusterSpec(), machineSpec(), func(w *world) {
		w.settle()
		w.mustCreate(0)
		id := w.await(0, fleet.MachineRunning).ProviderID
		w.cloud.Set(func(o *ost.Options) { o.WithoutServiceIDs = true })
		w.restart()
		w.alias(otherHost)
		_, err := w.provider.Observe(w.Context(), &w.cluster)
		w.wantError("Observe", err, fleet.Invalid, strings.TrimPrefix(string(id), "openstack:///"), "http://10.0.0.5", ost.URL, "use one auth_url")
		w.wantError("DeleteMachine", w.provider.DeleteMachine(w.Context(), "op", &w.cluster, w.name(0), id), fleet.Invalid, "use one auth_url")
		if len(w.cloud.Objects(ost.Servers)) != 1 {
			t.Error("the server is gone")
		}
	})
}

// TestOneServerOfTwoMachines: a server that lost its mark and has ports of two machines is shown as
// both, which are damaged. That says nothing of projects.
func TestOneServerOfTwoMachines(t *testing.T) {
	inBubble(t, clusterSpec(), machineSpec(), func(w *world) {
		w.settle()
		for n := range 2 {
			w.mustCreate(n)
			w.await(n, fleet.MachineRunning)
		}
		stays, goes := w.server(0).ID(), w.server(1).ID()
		w.cloud.Remove(ost.Servers, goes)
		w.cloud.Edit(ost.Servers, stays, func(o ost.Object) { o["metadata"] = ost.Object{} })
		for _, p := range w.cloud.Objects(ost.Ports) {
			if p.String("device_id") == goes {
				w.cloud.Edit(ost.Ports, p.ID(), func(o ost.Object) { o["device_id"] = stays })
			}
		}
		time.Sleep(2 * tick)
		if got := w.observe(); len(got.Machines) != 2 || got.Machines[0].Damaged == "" || got.Machines[1].Damaged == "" {
			t.Errorf("machines %+v, want two that are damaged", got.Machines)
		}
	})
}

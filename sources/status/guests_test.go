package status

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"fairlead.dev/fleet"
)

// TestGuestsAreRemembered: what leads to sites of other providers is on the status branch,
// and which machines are there.
func TestGuestsAreRemembered(t *testing.T) {
	gvk := func(kind string) schema.GroupVersionKind {
		return schema.GroupVersionKind{Group: "fairlead.dev", Version: "v1alpha1", Kind: kind}
	}
	r := fleet.Report{
		Cluster: fleet.Key{Namespace: "prod", Name: "eu-1"}, Phase: fleet.PhaseProvisioned,
		Machines: []fleet.MachineReport{{Machine: fleet.Machine{Name: "a", ProviderID: "hosts://a", Pool: "edge", Role: fleet.RoleWorker, Version: "v1.34.1", Provider: "hosts"}}},
		Memory: fleet.Memory{Residence: fleet.Residence{Provider: "openstack", MachinePools: true, Guests: []fleet.GuestMemory{{
			Provider:       "hosts",
			Infrastructure: fleet.RememberedObject{GVK: gvk("HostCluster"), Namespace: "prod", Name: "eu-1", Spec: []byte(`{}`)},
			Companions: []fleet.RememberedObject{{
				GVK: gvk("HostPool"), Namespace: "prod", Name: "rack", Labels: map[string]string{"hall": "north"},
				Spec: []byte(`{"hosts":[{"address":"10.0.0.7","name":"a"}],"ssh":{"port":22}}`),
			}},
			Places: []fleet.Place{{ID: "pool rack", Access: "x"}}, Fingerprint: "f",
		}}}},
	}
	b, err := encodeCluster(newCluster(r, Cluster{}, time.Date(2026, 1, 31, 8, 0, 0, 0, time.UTC)))
	if err != nil {
		t.Fatal(err)
	}
	got, err := decodeCluster(b)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(r.Residence, got.Report.Residence); diff != "" {
		t.Errorf("-written +read:\n%s", diff)
	}
	if p := got.Report.Machines[0].Machine.Provider; p != "hosts" {
		t.Errorf("the machine is on %q", p)
	}
}

// TestUnknownMachine: a machine whose tags were damaged before it had an id is left out, and
// the file can be read.
func TestUnknownMachine(t *testing.T) {
	r := fleet.Report{Cluster: fleet.Key{Namespace: "prod", Name: "eu-1"}, Machines: []fleet.MachineReport{
		{Machine: fleet.Machine{State: fleet.MachinePending}}, {Machine: fleet.Machine{ProviderID: "hosts://a"}}, {Machine: fleet.Machine{Name: "b"}},
	}}
	b, err := encodeCluster(newCluster(r, Cluster{}, time.Date(2026, 1, 31, 8, 0, 0, 0, time.UTC)))
	if err != nil {
		t.Fatal(err)
	}
	got, err := decodeCluster(b)
	if err != nil {
		t.Fatal(err)
	}
	var titles []string
	for _, m := range got.Report.Machines {
		titles = append(titles, string(m.Machine.Name)+string(m.Machine.ProviderID))
	}
	if diff := cmp.Diff([]string{"hosts://a", "b"}, titles); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

package inmemory

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
)

// TestSilent: the deletion of a machine that nobody reaches stays asked for; the
// machine holds its name and its place until its power is back, and then goes.
func TestSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewCloud(CloudOptions{Listen: NewPipeNetwork().Listen, Faults: Faults{SlowDelete: 2 * time.Second, Quota: 1, SilentWithoutPower: true}})
		t.Cleanup(c.Close)
		p, cluster := NewProvider(c, 0), testCluster()
		if err := p.EnsureInfrastructure(t.Context(), "op", &cluster); err != nil {
			t.Fatal(err)
		}
		create := func(name fleet.MachineName) error {
			r := providers.MachineRequest{Cluster: &cluster, Pool: cluster.Workers[0], Name: name, UserData: providers.UserData{Format: "cloud-config"}}
			return p.CreateMachine(t.Context(), "op", r)
		}
		shows := func(when string, want ...string) {
			t.Helper()
			got, err := p.Observe(t.Context(), &cluster)
			if err != nil {
				t.Fatal(err)
			}
			var have []string
			for _, m := range got.Machines {
				have = append(have, fmt.Sprintf("%s %s %v %s", m.Name, m.State, m.Silent, m.Message))
			}
			if d := cmp.Diff(want, have); d != "" {
				t.Errorf("%s: %s", when, d)
			}
		}
		remove := func() {
			t.Helper()
			if err := p.DeleteMachine(t.Context(), "op", &cluster, "m-0", ""); err != nil {
				t.Fatal(err)
			}
		}
		if err := create("m-0"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		id := c.Facts().Machines[0].ID
		if err := c.StopVM(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		shows("without power", "m-0 Running true its host does not answer")
		remove()
		if err := c.SetFaults(t.Context(), Faults{SlowDelete: 2 * time.Second, Quota: 1}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(24 * time.Hour)
		remove() // once more
		shows("a day after its deletion", "m-0 Deleting true its host does not answer")
		wantKind(t, "another of its name", create("m-0"), fleet.Conflict, "still being deleted")
		wantKind(t, "another in its place", create("m-1"), fleet.Exhausted, "quota")
		wantKind(t, "deletion of the cluster", p.DeleteInfrastructure(t.Context(), "op", &cluster), fleet.Conflict, "m-0")
		if err := c.StartVM(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		shows("when its power is back", "m-0 Deleting false cloud-init: no user data was given, nothing to do")
		time.Sleep(2 * time.Second)
		shows("soon after")
		wantKind(t, "power of what is gone", c.StopVM(t.Context(), id), fleet.NotFound, "no such resource")
		if err := create("m-1"); err != nil {
			t.Errorf("another in its place = %v, want no error", err)
		}
	})
}

package inmemory

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
)

func TestOrphans(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cloud := NewCloud(CloudOptions{Listen: NewPipeNetwork().Listen, Faults: Faults{SlowDelete: time.Minute}})
		defer cloud.Close()
		p := NewProvider(cloud, testLag)
		ctx := t.Context()
		kept := testCluster()
		make := func(fleetID, cluster string) {
			tags := map[string]string{fleet.TagFleet: fleetID, fleet.TagCluster: cluster}
			n, err := cloud.CreateNetwork(ctx, NetworkSpec{Name: cluster, Tags: tags})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := cloud.CreateVM(ctx, VMSpec{Name: "m", Network: n.ID, Tags: tags}); err != nil {
				t.Fatal(err)
			}
		}
		make("f", kept.Key.String())
		make("f", "prod/gone")
		make("another", "prod/gone")
		clusters := []*fleet.Cluster{&kept}
		list := func() []string {
			orphans, err := p.Orphans(ctx, "f", clusters)
			if err != nil {
				t.Fatal(err)
			}
			var out []string
			for _, o := range orphans {
				if o.Created.IsZero() || o.ID == "" || o.Reason == "" {
					t.Errorf("incomplete: %+v", o)
				}
				out = append(out, o.Provider+" "+o.Kind+" "+o.Name+" of "+o.Cluster.String())
			}
			return out
		}
		if diff := cmp.Diff([]string{"inmemory server m of prod/gone", "inmemory network prod/gone of prod/gone"}, list()); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		orphans, err := p.Orphans(ctx, "f", clusters)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.RemoveOrphan(ctx, "f", clusters, orphans[1]); fleet.KindOf(err) != "Conflict" {
			t.Errorf("a network with a machine on it: %v", err)
		}
		back := fleet.Cluster{Key: fleet.Key{Namespace: "prod", Name: "gone"}}
		if err := p.RemoveOrphan(ctx, "f", []*fleet.Cluster{&kept, &back}, orphans[0]); err != nil || len(list()) != 2 {
			t.Errorf("removed what belongs to a cluster again: %v", err)
		}
		if err := p.RemoveOrphan(ctx, "f", clusters, orphans[0]); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff([]string{"inmemory network prod/gone of prod/gone"}, list()); diff != "" {
			t.Errorf("while the machine is being deleted: -want +got:\n%s", diff)
		}
		time.Sleep(2 * time.Minute) // of the bubble
		for range 2 {               // the second time there is nothing
			for _, o := range orphans {
				if err := p.RemoveOrphan(ctx, "f", clusters, o); err != nil {
					t.Error(err)
				}
			}
		}
		if left := list(); len(left) > 0 {
			t.Errorf("left: %q", left)
		}
		networks, err := cloud.Networks(ctx, nil)
		if err != nil || len(networks) != 2 {
			t.Errorf("%d networks are left, want those of the cluster and of another fleet: %v", len(networks), err)
		}
	})
}

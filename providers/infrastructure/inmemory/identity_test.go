package inmemory_test

import (
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/inmemory"
)

// A machine that lost a tag is one with damaged tags, which the planner holds.
func TestDamagedTags(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cloud := inmemory.NewCloud(inmemory.CloudOptions{ID: "damaged", Listen: inmemory.NewPipeNetwork().Listen})
		defer cloud.Close()
		c := &fleet.Cluster{Fleet: "fleet-a", Key: fleet.Key{Namespace: "prod", Name: "eu-1"}}
		tags := c.MachineTags(fleet.Pool{Name: "md", Role: fleet.RoleWorker, Template: "1-a", Version: "v1.34.1"}, "eu-1-md-0", "op")
		delete(tags, "fairlead.dev/role")
		n, err := cloud.CreateNetwork(t.Context(), inmemory.NetworkSpec{Name: "prod/eu-1", Tags: c.Tags()})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := cloud.CreateVM(t.Context(), inmemory.VMSpec{Name: "eu-1-md-0", Network: n.ID, Tags: tags, Version: "v1.34.1"}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		seen, err := inmemory.NewProvider(cloud, time.Second).Observe(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		if len(seen.Machines) != 1 || seen.Machines[0].Damaged != "fairlead.dev/role is missing" {
			t.Errorf("machines %+v, want one without its role", seen.Machines)
		}
	})
}

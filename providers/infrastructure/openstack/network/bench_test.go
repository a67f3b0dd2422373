package network_test

import (
	"fmt"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/infrastructure/openstack/cloud"
	"fairlead.dev/providers/infrastructure/openstack/network"
	ost "fairlead.dev/providers/infrastructure/openstack/openstacktest"
)

// One look at one of 200 clusters of six machines in a project.
func BenchmarkObserve(b *testing.B) {
	w := &world{TB: b, spec: managed(), cluster: cluster("eu-1"), cloud: ost.New(ost.Options{})}
	w.restart()
	look := func() *cloud.Snapshot {
		s, err := w.project.Snapshot(b.Context(), w.owner())
		if err != nil {
			b.Fatal(err)
		}
		return s
	}
	for range 20 {
		if err := network.Ensure(b.Context(), w.project, look(), w.cluster, w.spec); err != nil {
			b.Fatal(err)
		}
	}
	own := snapshot.OwnerOf(w.cluster)
	st := network.Observe(look(), w.cluster, w.spec)
	if !st.Ready {
		b.Fatal(st.Message)
	}
	for c := range 200 {
		for m := range 6 {
			name := fmt.Sprintf("m-%d-%d", c, m)
			owner := snapshot.Owner{Fleet: "fleet-a", Cluster: fleet.Key{Namespace: "prod", Name: fmt.Sprint("c", c)}, Machine: fleet.MachineName(name)}
			if c == 0 {
				owner = own.Part(fleet.MachineName(name))
			}
			tags := map[string]string{fleet.TagFleet: "fleet-a", fleet.TagCluster: owner.Cluster.String(), fleet.TagMachine: name, fleet.TagRole: "worker"}
			id := w.cloud.Add("alpha", ost.Servers, ost.Object{"name": name, "metadata": cloud.Metadata(tags), "created": time.Now().UTC().Format(time.RFC3339)})
			w.cloud.Add("alpha", ost.Ports, ost.Object{
				"name": name, "device_id": id, "network_id": fmt.Sprint("n", c), "description": cloud.FormatOwner("", owner),
				"fixed_ips": []ost.Object{{"subnet_id": "s", "ip_address": "10.0.0.1"}},
			})
		}
		text := cloud.FormatOwner("nodes", snapshot.Owner{Fleet: "fleet-a", Cluster: fleet.Key{Namespace: "prod", Name: fmt.Sprint("c", c)}})
		w.cloud.Add("alpha", ost.Networks, ost.Object{"name": "n", "description": text})
	}
	s := look()
	for b.Loop() {
		if st := network.Observe(s, w.cluster, w.spec); !st.Ready {
			b.Fatal(st.Message)
		}
	}
}

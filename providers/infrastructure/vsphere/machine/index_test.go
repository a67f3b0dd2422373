package machine

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"testing"

	"fairlead.dev/fleet"
)

// TestIndexLeavesNothingOut: what MachinesOf finds among the candidates of a cluster is what it finds among all
// VMs, whatever tags and UUIDs these have.
func TestIndexLeavesNothingOut(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	clusters := make([]*fleet.Cluster, 3)
	for i := range clusters {
		clusters[i] = &fleet.Cluster{Fleet: []fleet.ID{"f", "f", "g"}[i], Key: fleet.Key{Namespace: "n", Name: fmt.Sprint("c", i%2)}}
	}
	for range 2000 {
		all := randomVMs(random, clusters)
		x := NewIndex(all)
		for _, c := range clusters {
			if got, want := MachinesOf(x.Candidates(c), c), MachinesOf(all, c); !reflect.DeepEqual(got, want) {
				t.Fatalf("%s of %+v:\n%+v\nwant\n%+v", c.Key, all, got, want)
			}
		}
	}
}

// randomVMs returns machines of clusters, copies of them, and VMs whose tags or UUIDs are another's.
func randomVMs(random *rand.Rand, clusters []*fleet.Cluster) []VM {
	var uuids []string
	var tagged []map[string]string
	for i := range 4 {
		c := clusters[random.IntN(len(clusters))]
		tags := map[string]string{fleet.TagFleet: string(c.Fleet), fleet.TagCluster: c.Key.String(), fleet.TagMachine: fmt.Sprint("m", i), fleet.TagOperation: fmt.Sprint(i)}
		id := InstanceUUID(tags)
		if random.IntN(4) == 0 {
			u := UUIDs{fmt.Sprintf("4200%04d-0000-4000-0000-000000000000", i), fmt.Sprintf("5000%04d-0000-4000-0000-000000000000", i)}
			tags[TagUUIDs] = u.String()
			uuids = append(uuids, u.Instance, u.BIOS)
			other := maps.Clone(tags)
			other[fleet.TagCluster] = clusters[random.IntN(len(clusters))].Key.String()
			tagged = append(tagged, other)
		}
		uuids, tagged = append(uuids, id), append(tagged, tags)
	}
	tagged = append(tagged, nil)
	var out []VM
	for i := range 8 {
		v := VM{Name: fmt.Sprint("vm-", i), Configured: true, Template: random.IntN(8) == 0}
		v.Ref.Value = v.Name
		v.UUID, v.InstanceUUID = uuids[random.IntN(len(uuids))], uuids[random.IntN(len(uuids))]
		if random.IntN(2) == 0 {
			v.UUID = v.InstanceUUID
		}
		if v.Read = tagged[random.IntN(len(tagged))]; v.Read == nil {
			v.Tags = []string{"", "?"}[random.IntN(2)]
		}
		out = append(out, v)
	}
	return out
}

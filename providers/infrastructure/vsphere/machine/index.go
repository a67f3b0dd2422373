package machine

import (
	"slices"
	"strings"

	"fairlead.dev/fleet"
)

// An Index finds the VMs of a cluster among all of a vCenter. It is not changed.
type Index struct {
	vms    []VM
	tagged map[[2]string][]int // by the fleet and the cluster of their tags
	made   map[string][]int    // by the cluster that one of their UUIDs was made for
	alike  map[UUIDs][]int     // by the UUIDs that their tags were written for
}

// NewIndex returns the index of all VMs of a vCenter, which must not be changed after that.
func NewIndex(all []VM) *Index {
	x := &Index{vms: all, tagged: make(map[[2]string][]int), made: make(map[string][]int), alike: make(map[UUIDs][]int)}
	for i := range all {
		v := &all[i]
		for _, uuid := range []string{v.UUID, v.InstanceUUID} {
			if of := clusterOf(uuid); of != "" {
				x.made[of] = append(x.made[of], i)
			}
		}
		tags, err := v.tags()
		if err != nil {
			continue
		}
		of := [2]string{tags[fleet.TagFleet], tags[fleet.TagCluster]}
		x.tagged[of] = append(x.tagged[of], i)
		x.alike[uuidsOf(tags)] = append(x.alike[uuidsOf(tags)], i)
	}
	return x
}

// Candidates returns all VMs that MachinesOf asks about for c, in their order: those with tags of c, those with
// a UUID that was made for c, and whatever has tags of the same UUIDs as one of these.
func (x *Index) Candidates(c *fleet.Cluster) []VM {
	at := slices.Concat(x.tagged[[2]string{string(c.Fleet), c.Key.String()}], x.made[clusterDigest(c.Fleet, c.Key.String())])
	for _, i := range at[:len(at):len(at)] {
		if tags, err := x.vms[i].tags(); err == nil {
			at = append(at, x.alike[uuidsOf(tags)]...)
		}
	}
	slices.Sort(at)
	at = slices.Compact(at)
	out := make([]VM, 0, len(at))
	for _, i := range at {
		out = append(out, x.vms[i])
	}
	return out
}

// clusterOf returns the digest of the cluster that InstanceUUID made uuid for; empty: it did not.
func clusterOf(uuid string) string {
	if !IsMadeUUID(uuid) {
		return ""
	}
	digits := strings.ReplaceAll(strings.ToLower(uuid), "-", "")
	return digits[:12] + digits[13:16]
}

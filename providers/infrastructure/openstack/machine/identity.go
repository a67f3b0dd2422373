package machine

import (
	"fmt"
	"strings"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/infrastructure/openstack/cloud"
)

// The metadata of a server says which machine it is, and so do the marks of its ports
// and volumes. Both are written when it is made, and people and tools change metadata.
// Where the two do not agree, the machine is shown with the name that its parts have,
// and as damaged, so that nothing is done to it.

// ambiguous returns m, of cluster o, which has a part of another machine than its
// metadata says. Its name is that of its parts, if those are of the same cluster.
func ambiguous(m fleet.Machine, o snapshot.Owner, part cloud.Part) fleet.Machine {
	of := part.Owner
	if of.Shared() != o {
		addDamage(&m, fmt.Sprintf("its %s is that of machine %s of cluster %s of fleet %s", part.Name, of.Machine, of.Cluster, of.Fleet))
		return m
	}
	if m.Name != "" {
		addDamage(&m, fmt.Sprintf("%s is %q, and its %s is that of machine %s", fleet.TagMachine, m.Name, part.Name, of.Machine))
	}
	m.Name = of.Machine
	return m
}

// unmarked returns machine o, a part of which v has, whose metadata says nothing of it.
func unmarked(s *cloud.Snapshot, v *servers.Server, o snapshot.Owner, part string) fleet.Machine {
	is, ours := s.Servers.Owner(v.ID)
	if ours && is.Shared() == o.Shared() { // it is another of the cluster's, and has parts of that too
		return fleet.Machine{
			Name: o.Machine, State: fleet.MachinePending, Created: v.Created, Message: "its server was not seen",
			Damaged: fmt.Sprintf("%s is plugged into server %s, which is %s (take it off)", part, v.ID, is.Machine),
		}
	}
	tags := cloud.Tags(v.Metadata)
	m := toMachine(v, tags)
	m.Name = o.Machine
	for _, t := range []struct{ tag, want string }{{fleet.TagCluster, o.Cluster.String()}, {fleet.TagFleet, string(o.Fleet)}} {
		if have, there := tags[t.tag]; !there {
			m.Damaged = strings.TrimSuffix(t.tag+" is missing; "+m.Damaged, "; ")
		} else if have != t.want {
			m.Damaged = strings.TrimSuffix(fmt.Sprintf("%s is %q; %s", t.tag, have, m.Damaged), "; ")
		}
	}
	addDamage(&m, fmt.Sprintf("its %s is that of machine %s of cluster %s", part, o.Machine, o.Cluster))
	return m
}

func addDamage(m *fleet.Machine, why string) {
	m.Damaged = strings.TrimPrefix(m.Damaged+"; "+why, "; ")
}

// fillPool has a damaged machine counted with the pool that its name follows from,
// where no tag says another.
func fillPool(m *fleet.Machine, c *fleet.Cluster) {
	if m.Damaged == "" || m.Pool != "" {
		return
	}
	if pool, ok := poolOf(c, m.Name); ok {
		m.Pool = pool.Name
	}
}

// CheckIdentity gives the kind Conflict where s does not tell whether a server is machine o.
func CheckIdentity(s *cloud.Snapshot, o snapshot.Owner) error {
	there, own := s.Servers.Of(o), partsOf(s, o)[o]
	for _, v := range there {
		if part, yes := s.Contradiction(v.ID); yes && !Leaving(v) {
			return fleet.Errorf(fleet.Conflict, fmt.Sprintf("tell which machine server %s is", v.ID),
				"its metadata says %s, and its %s is that of machine %s of cluster %s (put its metadata right, or take the %s off it)",
				o.Machine, part.Name, part.Owner.Machine, part.Owner.Cluster, part.Name)
		}
	}
	if own == nil || len(there) > 0 {
		return nil
	}
	if v, part := own.server(s, o); v != nil && !Leaving(v) {
		return errLostMark(v, part, o)
	}
	return nil
}

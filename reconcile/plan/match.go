package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"fairlead.dev/fleet"
)

// matchNodes gives each machine its Node: the one with its provider id, else
// the one with its name that no other machine's id claims. What is left over
// and says that it was ours is a stray.
func (v *view) matchNodes() {
	nodes := v.Observed.Workload.Nodes
	byID := make(map[fleet.ProviderID]*machine, len(v.machines))
	byName := make(map[fleet.MachineName]*machine, len(v.machines))
	for _, m := range v.machines {
		if m.ProviderID != "" {
			byID[m.ProviderID] = m
		}
		byName[m.Name] = m
	}
	rest := make([]*fleet.Node, 0)
	for i := range nodes {
		n := &nodes[i]
		v.taken[fleet.MachineName(n.Name)] = true
		m := byID[n.ProviderID]
		if m == nil {
			m = byID[anywhere(n.ProviderID)]
		}
		if m != nil && m.node == nil {
			m.node = n
			continue
		}
		rest = append(rest, n)
	}
	for _, n := range rest {
		if m := byName[fleet.MachineName(n.Name)]; m != nil {
			if m.node == nil {
				m.node = n
			}
			continue
		}
		if v.wasOurs(n) || v.deleted(n) {
			v.strays = append(v.strays, n)
		}
	}
}

// anywhere returns id without the place in it: "openstack://region/id" is
// "openstack:///id". A cloud provider writes the region where it knows one, and
// an infrastructure whose ids are unique everywhere leaves it out.
func anywhere(id fleet.ProviderID) fleet.ProviderID {
	scheme, rest, ok := strings.Cut(string(id), "://")
	i := strings.LastIndex(rest, "/")
	if !ok || i < 0 {
		return id
	}
	return fleet.ProviderID(scheme + "://" + rest[i:])
}

// sameServer reports whether the Node with id node is on the machine with id machine.
func sameServer(machine, node fleet.ProviderID) bool {
	return machine == node || machine == anywhere(node)
}

// matchMembers gives each control-plane machine its etcd member, which is
// called as its Node.
func (v *view) matchMembers() {
	if v.Observed.Workload.Etcd == nil {
		return
	}
	members := v.Observed.Workload.Etcd.Members
	for i := range members {
		v.taken[fleet.MachineName(members[i].Name)] = true
		for _, m := range v.machines {
			if nodeName(m) == members[i].Name {
				m.member = &members[i]
			}
		}
	}
}

// findExtras marks all but one of the machines that share a name: the one with
// a Node stays, else the oldest.
func (v *view) findExtras() {
	for i := 1; i < len(v.machines); i++ {
		if v.machines[i].Name != v.machines[i-1].Name {
			continue
		}
		same := v.machines[i-1 : i+1]
		for i+1 < len(v.machines) && v.machines[i+1].Name == same[0].Name {
			i++
			same = same[:len(same)+1]
		}
		same = slices.DeleteFunc(slices.Clone(same), func(m *machine) bool { return m.State == fleet.MachineDeleting })
		slices.SortFunc(same, func(a, b *machine) int {
			return cmp.Or(
				compareBool(b.node != nil, a.node != nil),
				a.Created.Compare(b.Created),
				cmp.Compare(a.ProviderID, b.ProviderID))
		})
		for _, m := range same[min(1, len(same)):] {
			m.extra = true
		}
	}
}

// upToDate reports whether m is what p asks for. Hashes of different schemas
// cannot be compared: only a difference that is known makes m outdated.
func upToDate(m *machine, p *fleet.Pool) bool {
	if m.Pool != p.Name {
		return false
	}
	have, _, _ := strings.Cut(string(m.Template), "-")
	want, _, _ := strings.Cut(string(p.Template), "-")
	if have == want {
		return m.Template == p.Template
	}
	return m.Version == p.Version
}

// differs says for people why m is outdated.
func differs(m *machine, p *fleet.Pool) string {
	switch {
	case m.Version != p.Version:
		return fmt.Sprintf("version %s → %s", m.Version, p.Version)
	case m.Pool != p.Name:
		return fmt.Sprintf("pool %s is now %s", m.Pool, p.Name)
	case unwanted(m) && upToDate(m, p):
		return "replacement " + p.Replace[m.ProviderID]
	case m.overdue != "":
		return m.overdue
	}
	return "template changed"
}

func nodeName(m *machine) string {
	if m.node != nil {
		return m.node.Name
	}
	return string(m.Name)
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

package forecast

import (
	"cmp"
	"fmt"
	"slices"

	"fairlead.dev/fleet"
)

// ensureKept has the cloud keep the pool as desired says: its machines are there at once, with their Nodes.
func (m *model) ensureKept(desired *fleet.Cluster, name fleet.PoolName) {
	want, ok := desired.KeptPool(name)
	if !ok {
		return
	}
	i := m.keptPool(name)
	if i < 0 {
		m.observed.Infrastructure.Pools = append(m.observed.Infrastructure.Pools, fleet.KeptPoolSeen{Name: name, Count: want.Count})
		slices.SortFunc(m.observed.Infrastructure.Pools, func(a, b fleet.KeptPoolSeen) int { return cmp.Compare(a.Name, b.Name) })
		i = m.keptPool(name)
	}
	p := &m.observed.Infrastructure.Pools[i]
	if p.Range = want.Range; want.Range == nil {
		p.Count = want.Count
	} else {
		p.Count = want.Range.Bound(p.Count)
	}
	p.Version, p.Drift = want.Version, nil
	m.fillKept(p)
}

// keptMachines is the number of machines that the cloud keeps, or is asked for if these are more.
func (m *model) keptMachines() int {
	is, want := 0, 0
	for i := range m.observed.Infrastructure.Pools {
		is += max(m.observed.Infrastructure.Pools[i].Count, len(m.observed.Infrastructure.Pools[i].Machines))
	}
	for i := range m.git.KeptPools {
		p := &m.git.KeptPools[i]
		if want += p.Count; p.Range != nil {
			want += p.Range.Min
		}
	}
	return max(is, want)
}

// fillKept brings pool p to its desired state: as many machines as the cloud keeps, each with a Node.
func (m *model) fillKept(p *fleet.KeptPoolSeen) {
	p.State, p.Message = fleet.KeptActive, ""
	p.Machines = slices.Clone(p.Machines)
	for len(p.Machines) > p.Count {
		m.removeKeptNode(p.Machines[len(p.Machines)-1])
		p.Machines = p.Machines[:len(p.Machines)-1]
	}
	for len(p.Machines) < p.Count {
		m.made++
		p.Machines = append(p.Machines, fleet.ProviderID(fmt.Sprint(madeID, m.made)))
	}
	slices.Sort(p.Machines)
	if !m.observed.Workload.Reachable {
		return
	}
	for _, id := range p.Machines {
		n := m.keptNode(id)
		if n == nil {
			name := string(p.Name) + " " + string(id)
			m.addNode(fleet.Node{Name: name, ProviderID: id, Created: m.now})
			n = m.node(name)
		}
		if fleet.PlainVersion(p.Version) != "" {
			n.KubeletVersion = p.Version
		}
		if !n.Ready {
			n.Ready, n.Conditions = true, nil
		}
	}
}

// keptNode returns the Node of a machine that the cloud keeps; nil: it has none.
func (m *model) keptNode(id fleet.ProviderID) *fleet.Node {
	if at := m.indexed().nodesOf[id]; len(at) > 0 {
		return &m.observed.Workload.Nodes[at[0]]
	}
	return nil
}

// settleKept lets the cloud finish what it does with its pools.
func (m *model) settleKept() {
	for i := 0; i < len(m.observed.Infrastructure.Pools); i++ {
		switch p := &m.observed.Infrastructure.Pools[i]; {
		case p.Damaged != "", p.State == fleet.KeptFailed:
		case p.State == fleet.KeptDeleting:
			m.deleteKept(p.Name)
			i--
		default:
			m.fillKept(p)
		}
	}
}

func (m *model) deleteKept(name fleet.PoolName) {
	i := m.keptPool(name)
	if i < 0 {
		return
	}
	for _, id := range m.observed.Infrastructure.Pools[i].Machines {
		m.removeKeptNode(id)
	}
	m.observed.Infrastructure.Pools = slices.Delete(m.observed.Infrastructure.Pools, i, i+1)
}

// keptPool returns the place of the pool; negative: it is not there.
func (m *model) keptPool(name fleet.PoolName) int {
	return slices.IndexFunc(m.observed.Infrastructure.Pools, func(p fleet.KeptPoolSeen) bool { return p.Name == name })
}

func (m *model) removeKeptNode(id fleet.ProviderID) {
	if n := m.keptNode(id); n != nil {
		m.removeNode(n.Name)
	}
}

package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"fairlead.dev/fleet"
)

// A machine is held where what it is, or which of several, is not certain. It is
// the subject of no action, and it is none of what a pool has. But it counts where
// that is the safe side: as one that may be of the control plane, that may be
// behind a Node or an etcd member, in whose place none is made, and below which no
// infrastructure goes. It is held until people put it right.

// identify holds the machines whose tags are damaged, or contradict what Git says, and
// those of one provider id: that is one machine, and its provider lists it wrongly.
func (f *facts) identify() {
	listed := make(map[fleet.ProviderID]int, len(f.machines))
	for _, m := range f.machines {
		listed[m.ProviderID]++
	}
	for _, m := range f.machines {
		if n := listed[m.ProviderID]; n > 1 && m.ProviderID != "" {
			m.held = fmt.Sprintf("machine %s is held: its provider lists %d machines with this id, and an id is one machine", m.title(), n)
			f.held = append(f.held, m)
		} else if m.Damaged != "" {
			f.distrust(m, m.Damaged)
		} else if why := f.Desired.Contradicts(m.Machine); why != "" {
			f.distrust(m, why)
		} else if m.Provider != "" && m.Role != fleet.RoleWorker {
			f.distrust(m, fmt.Sprintf("%s is %q, and %s has workers alone", fleet.TagRole, m.Role, m.Provider))
		}
	}
}

// findMislabelled holds the machines that run what their tags say they do not: who
// wrote the tags wrote the role and the pool, or Git has no such pool any more.
func (f *facts) findMislabelled() {
	for _, m := range f.machines {
		_, known := f.Desired.Pool(m.Pool)
		runs := m.serves() || m.member != nil
		switch {
		case m.held != "":
		case m.Role == fleet.RoleWorker && runs:
			f.distrust(m, fmt.Sprintf("%s is %q, and it runs a control plane", fleet.TagRole, m.Role))
		case m.Role == fleet.RoleControlPlane && !runs && m.node != nil && !m.node.ControlPlane && !known:
			f.distrust(m, fmt.Sprintf("%s is %q, its pool %s is not in Git, and its Node is none of a control plane", fleet.TagRole, m.Role, m.Pool))
		}
	}
}

// distrust holds m, of which a tag is damaged as why says.
func (f *facts) distrust(m *machine, why string) {
	m.held = fmt.Sprintf("machine %s carries damaged tags: %s; put them back or delete it yourself", m.title(), why)
	f.held = append(f.held, m)
}

// holdUnlisted holds the machines that are known by their Nodes alone: the kubelet reports, and the provider
// lists no machine. The account may see less than before, or the tags were removed. The Node of a machine that
// is gone is not ready within a minute. A worker of a pool that left Git has its Node kept alone.
func (f *facts) holdUnlisted() {
	if f.Desired.Paused { // its machines may have no tags yet
		return
	}
	f.orphanNodes = slices.DeleteFunc(f.orphanNodes, func(n *fleet.Node) bool {
		p, known := f.Desired.PoolOfNode(n)
		if !known && n.ControlPlane {
			p.Role = fleet.RoleControlPlane
		} else if !known {
			return false // no machine is made in its place
		}
		name := fleet.MachineName(cmp.Or(string(n.Machine()), n.Name))
		s := f.site(p.Provider)
		if !n.Ready || f.deleted(n) || len(f.named[name]) > 0 || s != nil && s.away != "" {
			return false
		}
		m := &machine{node: n, Machine: &fleet.Machine{
			Name: name, ProviderID: n.ProviderID, Provider: p.Provider, Pool: p.Name, Role: p.Role, Version: n.KubeletVersion,
			State: fleet.MachineRunning, Created: n.Created,
			Addresses: n.Addresses, // no cluster that draws from the same pool is given one
		}}
		m.held = fmt.Sprintf("machine %s is held: node %s is ready, and no machine with this cluster's tags is behind it; check that the credentials show all of the cluster, and put back the tags of the machine if they were removed", m.title(), n.Name)
		f.named[name] = []*machine{m}
		f.machines, f.held, f.unlisted = append(f.machines, m), append(f.held, m), append(f.unlisted, m)
		return true
	})
}

// unlistedOn says why no machine may be made on the site of a provider; empty: one may. An account that does
// not see all machines does not see which names and addresses are in use.
func (f *facts) unlistedOn(provider string) string {
	for _, m := range f.unlisted {
		if m.Provider == provider {
			return fmt.Sprintf("machine %s, which is held, is not seen on its site", m.title())
		}
	}
	return ""
}

// title is how people find m, which may have no name, or one that another has too.
func (m *machine) title() string {
	switch {
	case m.Name == "" && m.ProviderID == "":
		return "without a provider id"
	case m.Name == "":
		return string(m.ProviderID)
	case m.ProviderID == "":
		return string(m.Name)
	}
	return fmt.Sprintf("%s (%s)", m.Name, m.ProviderID)
}

// noteHeld says which machines are held. An API server that does not answer may be the
// reason, and ends that by itself.
func (d *draft) noteHeld() {
	tell := d.note
	if d.unreachable {
		tell = d.wait
	}
	for _, m := range d.held {
		if d.contradicted != "" && slices.Contains(d.unlisted, m) {
			continue // contradicted says so of all machines
		}
		tell("%s", m.held)
	}
}

// heldOf returns the held machines that are or may be of pool name.
func (f *facts) heldOf(name fleet.PoolName) []*machine {
	var out []*machine
	for _, m := range f.held {
		if f.mayBeOf(m) == name {
			out = append(out, m)
		}
	}
	return out
}

// mayBeOf returns the pool that the held machine m is counted with. What is not
// a worker for certain is counted with the control plane.
func (f *facts) mayBeOf(m *machine) fleet.PoolName {
	p, known := f.Desired.Pool(m.Pool)
	worker := m.Role == fleet.RoleWorker && !(known && p.Role == fleet.RoleControlPlane) ||
		m.Role != fleet.RoleControlPlane && known && p.Role == fleet.RoleWorker
	if !worker || m.member != nil || m.node != nil && m.node.ControlPlane {
		if f.Desired.Hosted == nil {
			return f.Desired.ControlPlane.Name
		}
	}
	return m.Pool
}

// countNames counts ms, those that share a name as one.
func countNames(ms []*machine) int {
	names := map[fleet.MachineName]bool{}
	n := 0
	for _, m := range ms {
		if m.Name == "" || !names[m.Name] {
			n++
		}
		names[m.Name] = true
	}
	return n
}

// nameless returns a held machine that may have any name of g's, or nil: a second
// machine of a name is never asked for.
func (f *facts) nameless(g *group) *machine {
	i := slices.IndexFunc(f.held, func(m *machine) bool {
		_, known := f.Desired.Pool(m.Pool)
		return m.Name == "" && (!known || m.Pool == g.name)
	})
	if i < 0 {
		return nil
	}
	return f.held[i]
}

// mayHide names the held machine that may be behind a Node that no machine is
// matched with; empty where none may.
func (f *facts) mayHide() string {
	i := slices.IndexFunc(f.held, func(m *machine) bool { return m.node == nil })
	if i < 0 {
		return ""
	}
	return f.held[i].title()
}

// heldTexts says what is held, for conditions.
func (f *facts) heldTexts() string {
	var out []string
	for _, m := range f.held {
		out = append(out, m.held)
	}
	for _, k := range f.kept {
		if k.held != "" {
			out = append(out, fmt.Sprintf("pool %s is held: %s", k.name, k.held))
		}
	}
	slices.Sort(out)
	return strings.Join(slices.Compact(out), ". ")
}

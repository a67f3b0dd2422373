package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"fairlead.dev/fleet"
)

// matchNodes gives each machine its Node: the one with its provider id, else
// the one with its name that no other machine's id claims. Several machines of one
// name are not told apart by a name. What is left over and says that it was ours is
// an orphan.
func (f *facts) matchNodes() {
	nodes := f.Observed.Workload.Nodes
	byID := make(map[fleet.ProviderID]*machine, len(f.machines))
	for _, m := range f.machines {
		if m.ProviderID != "" {
			byID[m.ProviderID] = m
		}
	}
	rest := make([]*fleet.Node, 0)
	for i := range nodes {
		n := &nodes[i]
		f.taken[fleet.MachineName(n.Name)] = true
		m := byID[n.ProviderID]
		if m == nil {
			m = byID[withoutRegion(n.ProviderID)]
		}
		switch {
		case m != nil && len(n.Conditions) > 0 && n.Unreachable() && f.ofBefore(n, m):
			f.orphanNodes = append(f.orphanNodes, n)
		case m != nil && m.State == fleet.MachinePending && f.ofBefore(n, m): // it is being installed, and the kubelet before is not missed yet
		case m == nil && f.keptOf(n) != nil: // the cloud's
		case m == nil:
			rest = append(rest, n)
		case m.node == nil:
			m.node, m.proven = n, true
		case betterNode(n, m.node):
			rest = append(rest, m.node)
			m.node = n
		default:
			rest = append(rest, n)
		}
	}
	for _, n := range rest {
		ms := f.named[fleet.MachineName(n.Name)]
		if len(ms) == 1 && ms[0].node == nil {
			ms[0].node = n
		}
		if f.claimed[fleet.MachineName(n.Name)] = len(ms) > 0; len(ms) > 0 {
			continue
		}
		if m := byID[n.ProviderID]; m != nil && (n.Ready || !m.node.Ready) {
			f.duplicateNodes = append(f.duplicateNodes, n)
			continue
		}
		if f.wasOurs(n) || f.deleted(n) {
			f.orphanNodes = append(f.orphanNodes, n)
		}
	}
}

// ofBefore reports whether n says that it is of another machine of the cluster, which is not there any more: it was on the
// host of m, and m has its provider id.
func (f *facts) ofBefore(n *fleet.Node, m *machine) bool {
	of := n.Machine()
	return m.Name != "" && of != "" && of != m.Name && n.IsOf(f.Desired.Key) && len(f.named[of]) == 0
}

// index finds the machines by name. One that is being deleted steps back behind
// others of its name.
func (f *facts) index() {
	f.named = make(map[fleet.MachineName][]*machine, len(f.machines))
	for first := 0; first < len(f.machines); {
		name, next := f.machines[first].Name, first+1
		for next < len(f.machines) && f.machines[next].Name == name {
			next++
		}
		same := f.machines[first:next:next]
		if first = next; name == "" {
			continue
		}
		if len(same) > 1 {
			stay := slices.DeleteFunc(slices.Clone(same), func(m *machine) bool { return m.State == fleet.MachineDeleting })
			if len(stay) > 0 {
				same = stay
			}
		}
		f.named[name] = same
	}
}

// betterNode reports whether a is more likely the Node of a machine than b, if both have
// its id: the ready one first, then the newer one.
func betterNode(a, b *fleet.Node) bool {
	if a.Ready != b.Ready {
		return a.Ready
	}
	return a.Created.After(b.Created)
}

// withoutRegion returns id without the region in it: "openstack://region/id" is
// "openstack:///id". A cloud provider writes the region where it knows one, and
// an infrastructure whose ids are unique everywhere leaves it out.
func withoutRegion(id fleet.ProviderID) fleet.ProviderID {
	scheme, rest, ok := strings.Cut(string(id), "://")
	i := strings.LastIndex(rest, "/")
	if !ok || i < 0 {
		return id
	}
	return fleet.ProviderID(scheme + "://" + rest[i:])
}

// sameServer reports whether the Node with id node is on the machine with id machine.
func sameServer(machine, node fleet.ProviderID) bool {
	return machine == node || machine == withoutRegion(node)
}

// matchMembers gives each control-plane machine its etcd member, which is
// called as its Node, or as the machine where it has no Node and no other's is
// called so. Of two members of one name, the one that answers is in use.
func (f *facts) matchMembers() {
	if f.Observed.Workload.Etcd == nil {
		return
	}
	owner := make(map[string]*machine, len(f.machines))
	for name, ms := range f.named {
		if len(ms) == 1 && ms[0].node == nil {
			owner[string(name)] = ms[0]
		}
	}
	for _, m := range f.machines {
		if m.node != nil {
			owner[m.node.Name] = m
		}
	}
	members := f.Observed.Workload.Etcd.Members
	for i := range members {
		e := &members[i]
		f.taken[fleet.MachineName(e.Node)] = true
		m := owner[e.Node]
		if m != nil && e.Node != "" && (m.member == nil || e.Healthy && !m.member.Healthy) {
			m.member = e
		}
	}
}

// matchServers gives each machine its part of the control plane, by the Node.
func (f *facts) matchServers() {
	servers := f.Observed.Workload.Servers
	byNode := make(map[string]*fleet.Server, len(servers))
	for i := range servers {
		byNode[servers[i].Node] = &servers[i]
	}
	for _, m := range f.machines {
		if m.node != nil {
			m.server = byNode[m.node.Name]
		}
	}
}

// serves reports whether m's part of the control plane works.
func (m *machine) serves() bool { return m.server != nil && m.server.Ready }

// findDuplicates marks machines that share a name with another that is to stay, and
// holds all of a name where nothing says which of them is in use.
//
// The provider id of a Node does. If no machine has a Node, and they had the
// time to get one, none is in use, and the oldest stays: it is the same while the
// API server has not answered once in their lives, or where they are what became of
// the first machine and none is remembered to have answered.
func (f *facts) findDuplicates() {
	for name, same := range f.named {
		if len(same) < 2 || same[0].State == fleet.MachineDeleting {
			continue
		}
		same = slices.Clone(same)
		slices.SortFunc(same, func(a, b *machine) int {
			return cmp.Or(
				compareBool(b.proven, a.proven),
				a.Created.Compare(b.Created),
				cmp.Compare(a.ProviderID, b.ProviderID))
		})
		why := f.ambiguity(name, same)
		switch {
		case why != "":
			f.holdAmbiguous(same, same, why)
		case slices.ContainsFunc(same, func(m *machine) bool { return m.held != "" }):
			unproven := slices.DeleteFunc(slices.Clone(same), func(m *machine) bool { return m.proven })
			f.holdAmbiguous(same, unproven, "and one of them carries damaged tags: put these back first")
		default:
			for _, m := range same[1:] {
				m.duplicate = true
			}
		}
	}
	slices.SortStableFunc(f.held, func(a, b *machine) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ProviderID, b.ProviderID))
	})
}

// ambiguity says why it is not known which of same, machines called name, is in use;
// empty where it is: the first of them is the one then, if any.
func (f *facts) ambiguity(name fleet.MachineName, same []*machine) string {
	switch {
	case f.unreachable && (f.knownSilent(same[0]) || f.firstTwice()):
		if left := defaultStartup - f.Now.Sub(f.silentSince(same[0])); left > 0 {
			f.wake(left)
			return "and no machine has answered yet"
		}
		return ""
	case f.unreachable:
		return "which of them joined is not known while the API server does not answer"
	case f.claimed[name]:
		return fmt.Sprintf("and node %s does not say by its provider id which of them it is on: delete the others yourself", name)
	case same[0].proven:
		return ""
	}
	if e := f.Observed.Workload.Etcd; e != nil && slices.ContainsFunc(e.Members, func(m fleet.Member) bool { return m.Node == string(name) }) {
		return fmt.Sprintf("and etcd has a member %s that may be of any of them: delete the others yourself", name)
	}
	for _, m := range same {
		if f.starts(m) {
			return "and no machine has joined yet"
		}
	}
	return ""
}

// holdAmbiguous holds those of same, which share a name, that are in doubt, for the
// reason why.
func (f *facts) holdAmbiguous(same, doubtful []*machine, why string) {
	var ids []string
	for _, m := range same {
		ids = append(ids, string(m.ProviderID))
	}
	slices.Sort(ids)
	for _, m := range doubtful {
		if m.held != "" {
			continue
		}
		m.held = fmt.Sprintf("%d machines are called %s (%s), %s", len(same), m.Name, strings.Join(ids, ", "), why)
		f.held = append(f.held, m)
	}
}

// upToDate reports whether m is what p asks for, by the schema that m was made by. Of
// a schema that a newer version brought only a difference that is known makes m
// outdated.
func upToDate(m *machine, p *fleet.Pool) bool {
	if m.Pool != p.Name || m.Provider != p.Provider {
		return false
	}
	if same, known := p.Has(m.Template); known {
		return same
	}
	return m.Version == p.Version
}

// differs says for people why m is outdated.
func differs(m *machine, p *fleet.Pool) string {
	why, asked := askedFor(p.Replace, m)
	switch {
	case m.Version != p.Version:
		return fmt.Sprintf("version %s → %s", m.Version, p.Version)
	case m.Pool != p.Name:
		return fmt.Sprintf("pool %s is now %s", m.Pool, p.Name)
	case m.Provider != p.Provider:
		return fmt.Sprintf("pool %s is on another site now", p.Name)
	case asked && upToDate(m, p):
		return "replacement " + why
	case m.overdue != "":
		return m.overdue
	}
	return "template changed"
}

// poolName names the pool that m belongs to now: of a control-plane machine, the
// control plane, whatever that was called when m was made.
func (m *machine) poolName() fleet.PoolName {
	if m.pool != nil {
		return m.pool.Name
	}
	return m.Pool
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

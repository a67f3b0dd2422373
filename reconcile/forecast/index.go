package forecast

import (
	"cmp"
	"slices"

	"fairlead.dev/fleet"
)

// An index finds the machines and the Nodes of a model, whose lists are in no order while the actions of a plan
// are carried out.
type index struct {
	machines map[fleet.MachineName][]int
	nodes    map[string]int
	nodesOf  map[fleet.ProviderID][]int
}

// indexed returns the index of what is observed now.
func (m *model) indexed() *index {
	if m.index != nil {
		return m.index
	}
	machines, nodes := m.observed.Infrastructure.Machines, m.observed.Workload.Nodes
	x := &index{make(map[fleet.MachineName][]int, len(machines)), make(map[string]int, len(nodes)), make(map[fleet.ProviderID][]int, len(nodes))}
	for i := range machines {
		x.machines[machines[i].Name] = append(x.machines[machines[i].Name], i)
	}
	for i := range nodes {
		x.addNode(i, &nodes[i])
	}
	m.index = x
	return x
}

func (x *index) addNode(i int, n *fleet.Node) {
	if _, known := x.nodes[n.Name]; !known {
		x.nodes[n.Name] = i
	}
	x.nodesOf[n.ProviderID] = append(x.nodesOf[n.ProviderID], i)
}

// sort puts machines and Nodes in their order.
func (m *model) sort() {
	slices.SortFunc(m.observed.Infrastructure.Machines, func(a, b fleet.Machine) int {
		return cmp.Or(compare(string(a.Name), string(b.Name)), compare(string(a.ProviderID), string(b.ProviderID)))
	})
	slices.SortFunc(m.observed.Workload.Nodes, func(a, b fleet.Node) int { return compare(a.Name, b.Name) })
	m.index, m.unsorted = nil, false
}

// machine returns the first machine of that name, and of that id unless it is empty.
func (m *model) machine(name fleet.MachineName, id fleet.ProviderID) *fleet.Machine {
	machines := m.observed.Infrastructure.Machines
	for _, i := range m.indexed().machines[name] {
		if id == "" || machines[i].ProviderID == id {
			return &machines[i]
		}
	}
	return nil
}

// addMachine adds a machine.
func (m *model) addMachine(o fleet.Machine) {
	list, x := &m.observed.Infrastructure.Machines, m.indexed()
	x.machines[o.Name] = append(x.machines[o.Name], len(*list))
	*list, m.unsorted = append(*list, o), true
}

// removeMachine removes the machine at i. The last one takes its place.
func (m *model) removeMachine(i int) {
	list, x := &m.observed.Infrastructure.Machines, m.indexed()
	last := len(*list) - 1
	name, moved := (*list)[i].Name, (*list)[last].Name
	x.machines[name] = slices.DeleteFunc(x.machines[name], func(j int) bool { return j == i })
	if i != last {
		at := x.machines[moved]
		at[slices.Index(at, last)] = i
	}
	(*list)[i] = (*list)[last]
	*list, m.unsorted = slices.Delete(*list, last, last+1), true
}

// addNode adds a Node.
func (m *model) addNode(n fleet.Node) {
	list, x := &m.observed.Workload.Nodes, m.indexed()
	x.addNode(len(*list), &n)
	*list, m.unsorted = append(*list, n), true
}

// removeNode removes the Node of that name. The last one takes its place.
func (m *model) removeNode(name string) {
	list, x := &m.observed.Workload.Nodes, m.indexed()
	i, known := x.nodes[name]
	if !known {
		return
	}
	last := len(*list) - 1
	gone, moved := &(*list)[i], &(*list)[last]
	delete(x.nodes, name)
	x.nodesOf[gone.ProviderID] = slices.DeleteFunc(x.nodesOf[gone.ProviderID], func(j int) bool { return j == i })
	if i != last {
		x.nodes[moved.Name] = i
		at := x.nodesOf[moved.ProviderID]
		at[slices.Index(at, last)] = i
	}
	*gone = *moved
	*list, m.unsorted = slices.Delete(*list, last, last+1), true
}

// node returns the Node of that name.
func (m *model) node(name string) *fleet.Node {
	if i, known := m.indexed().nodes[name]; known {
		return &m.observed.Workload.Nodes[i]
	}
	return nil
}

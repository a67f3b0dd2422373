package inmemory

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"fairlead.dev/fleet"
)

// Facts are what is true of a cloud, whatever its listings show and however it
// misbehaves: for tests that judge what was done to it.
type Facts struct {
	Machines []MachineFacts       // that are not wholly gone, by name and id
	Networks []Network            // that are not deleted, by name and id
	Etcd     map[string]EtcdFacts // of clusters that were initialised, by network
	Nodes    map[string][]string  // the same: names of Node objects that kubelets made, sorted
	Planes   map[string][]string  // the same of control planes that are no machines, by address
}

// MachineFacts are what is true of one machine.
type MachineFacts struct {
	VM
	Stopped  bool   // its power is cut
	Deleted  bool   // its deletion was asked for
	Failed   bool   // it will never be a Node
	Node     string // that its kubelet registered
	Ready    bool   // its kubelet says so, now
	Cordoned bool   // its Node is
	Member   uint64 // of etcd; 0: none
}

// EtcdFacts are what is true of one cluster's etcd.
type EtcdFacts struct {
	Members []fleet.Member // those of deleted machines are there until somebody removes them
	Quorum  bool
}

// Facts returns what is true at the moment. It is no call: nothing is counted,
// late or lost.
func (c *Cloud) Facts() Facts {
	c.lock()
	defer c.unlock()
	out := Facts{Etcd: make(map[string]EtcdFacts), Nodes: make(map[string][]string), Planes: c.planeFacts()}
	for _, v := range c.vms {
		out.Machines = append(out.Machines, v.facts())
	}
	slices.SortFunc(out.Machines, func(a, b MachineFacts) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.ID, b.ID))
	})
	for _, n := range c.networks {
		if !n.deleted.IsZero() {
			continue
		}
		out.Networks = append(out.Networks, n.Network)
		if n.cluster != nil {
			out.Etcd[n.ID] = n.cluster.etcdFacts()
			out.Nodes[n.ID] = n.cluster.nodeNames()
		}
	}
	slices.SortFunc(out.Networks, func(a, b Network) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.ID, b.ID))
	})
	return out
}

func (v *vm) facts() MachineFacts {
	f := MachineFacts{
		VM: v.VM, Stopped: v.stopped, Deleted: !v.deleted.IsZero(), Node: v.node, Member: v.member,
		Failed: v.State == fleet.MachineFailed || v.booted && v.node == "",
	}
	k := v.network.cluster
	if k == nil || v.node == "" || k.nodes[v.node] != v {
		return f
	}
	f.Ready = v.alive() && v.nodeReady
	f.Cordoned = v.cordoned()
	_, there := k.api.Raw(nodeKind, "", v.node)
	f.Ready = f.Ready && there
	return f
}

// cordoned reports whether the machine's Node takes no pods. Facts are asked for
// again and again, and a Node that did not change is not decoded again.
func (v *vm) cordoned() bool {
	raw, _ := v.network.cluster.api.Raw(nodeKind, "", v.node)
	if bytes.Equal(raw, v.seen.raw) {
		return v.seen.cordoned
	}
	v.seen.raw, v.seen.cordoned = raw, false
	if u, ok := v.network.cluster.api.Get(nodeKind, "", v.node); ok {
		v.seen.cordoned, _, _ = unstructured.NestedBool(u.Object, "spec", "unschedulable")
	}
	return v.seen.cordoned
}

func (k *cluster) etcdFacts() EtcdFacts {
	out := EtcdFacts{Quorum: k.quorum()}
	for _, m := range k.members {
		shown := m.Member
		shown.Healthy = m.alive()
		out.Members = append(out.Members, shown)
	}
	slices.SortFunc(out.Members, func(a, b fleet.Member) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

func (k *cluster) nodeNames() []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(k.nodes)) {
		if _, ok := k.api.Raw(nodeKind, "", name); ok {
			out = append(out, name)
		}
	}
	return out
}

package page

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/agent/console/statusview"
	"fairlead.dev/fleet"
)

// mostBranches bounds the machines of a pool that the tree shows.
const mostBranches = 200

// Tree is the view of a cluster with its addons, pools, machines and Nodes, as fairlead tree
// shows it.
type Tree struct {
	Cluster string `json:"cluster"`
	Root    Branch `json:"tree"`
}

// A Branch is an object, and what hangs on it.
type Branch struct {
	Kind       string             `json:"kind"`
	Name       string             `json:"name"`
	Sign       Sign               `json:"sign"`
	Note       string             `json:"note,omitempty"`
	Conditions []metav1.Condition `json:"conditions,omitempty"` // those not as they should be first
	Below      []Branch           `json:"below,omitempty"`

	Bad   []metav1.Condition `json:"-"`
	Good  int                `json:"-"` // of the others
	Shown []Branch           `json:"-"` // some of Below
	More  int                `json:"-"`
}

func treeView() view {
	return view{name: "tree", path: "tree", of: " as a tree", build: func(s *state, q query) (any, bool) {
		c := s.byKey[q.key]
		if c == nil {
			return nil, false
		}
		b := brancher{machines: make(map[string]fleet.MachineReport), signs: map[string]Sign{"Cluster " + c.row.Name: c.row.Sign}}
		for _, m := range c.Report.Machines {
			b.machines["Machine "+string(m.Machine.Name)] = m
		}
		for _, p := range c.Report.Pools {
			if unsettled(p) {
				b.signs[fleet.ObjectKind(p.Role, p.Kind)+" "+string(p.Name)] = Changing
			}
		}
		for _, a := range c.Addons {
			b.signs[a.Kind+" "+a.Name] = addonSign(a.State)
		}
		return Tree{Cluster: c.row.Name, Root: b.branch(statusview.TreeOf(c.Cluster, s.Status.Fleet.Rollout))}, true
	}}
}

// A brancher makes branches of one cluster.
type brancher struct {
	machines map[string]fleet.MachineReport // by "Machine name"
	signs    map[string]Sign                // by "Kind name"; others are as they should be
}

func (b brancher) branch(n statusview.Node) Branch {
	out := Branch{Note: n.Note, Sign: OK}
	out.Kind, out.Name, _ = strings.Cut(n.Name, " ")
	if sign, ok := b.signs[n.Name]; ok {
		out.Sign = sign
	}
	if out.Kind == "Stage" {
		out.Sign = Suspended
	}
	bad, good := parted(n.Conditions)
	out.Conditions, out.Bad, out.Good = append(bad[:len(bad):len(bad)], good...), bad, len(good)
	for _, below := range n.Below {
		out.Below = append(out.Below, b.branch(below))
	}
	if m, ok := b.machines[n.Name]; ok && out.Kind == "Machine" {
		out.Sign = machineSign(m)
		if out.Sign == OK && len(bad) > 0 {
			out.Sign = Problem
		}
		if m.Node != "" {
			out.Below = append(out.Below, Branch{Kind: "Node", Name: m.Node, Sign: out.Sign, Note: m.Version})
		}
	}
	out.Shown = out.Below[:min(len(out.Below), mostBranches)]
	out.More = len(out.Below) - len(out.Shown)
	return out
}

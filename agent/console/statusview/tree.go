package statusview

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/fleet"
	"fairlead.dev/sources/status"
)

// A Node is a line of the tree of a cluster, with what hangs on it.
type Node struct {
	Name       string             `json:"name"`
	Conditions []metav1.Condition `json:"conditions,omitempty"` // as clusters have them; the first is shown beside the name
	Note       string             `json:"note,omitempty"`
	Below      []Node             `json:"below,omitempty"`
}

// TreeOf puts a cluster, its addons, its pools and their machines in a tree, with what of s waits for its
// turn there.
func TreeOf(c status.Cluster, s fleet.RolloutStatus) Node {
	r := c.Report
	root := Node{Name: "Cluster " + r.Cluster.String(), Conditions: c.Cluster.Status.Conditions, Note: string(r.Phase) + phases(r.Milestones)}
	if w, waits := s.Wait(r.Cluster); waits {
		root.Below = append(root.Below, Node{Name: "Stage " + w.Stage, Note: WaitText(w)})
	}
	for _, a := range c.Addons {
		root.Below = append(root.Below, addonNode(a))
	}
	for _, p := range r.Pools {
		if p.Kind == fleet.LoneMachine && p.Current > 0 {
			continue // below, it stands for itself
		}
		b := Node{
			Name: fleet.ObjectKind(p.Role, p.Kind) + " " + string(p.Name),
			Note: fmt.Sprintf("%d of %d ready, %d up to date, %s", p.Ready, p.Desired, p.UpToDate, p.Version),
		}
		if p.Kept() {
			b.Note += ", " + string(p.Phase)
		}
		if p.Message != "" {
			b.Note += ": " + p.Message
		}
		for i, m := range r.Machines {
			if m.Machine.Pool == p.Name {
				b.Below = append(b.Below, machineNode(m, c.Machines[i]))
			}
		}
		root.Below = append(root.Below, b)
	}
	for i, m := range r.Machines {
		if !slices.ContainsFunc(r.Pools, func(p fleet.PoolReport) bool { return p.Name == m.Machine.Pool && p.Kind != fleet.LoneMachine }) {
			root.Below = append(root.Below, machineNode(m, c.Machines[i]))
		}
	}
	return root
}

// phases says how long a cluster took to reach its phase.
func phases(m fleet.Milestones) string {
	var parts []string
	for _, l := range m.PhaseDurations() {
		if l.Phase == fleet.PhaseProvisioned {
			return fmt.Sprintf(" after %s (%s)", l.Took, strings.Join(parts, ", "))
		}
		parts = append(parts, string(l.Phase)+" "+l.Took.String())
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

func machineNode(m fleet.MachineReport, o clusterv1.Machine) Node {
	note := string(m.Phase)
	if !m.UpToDate {
		note += ", outdated"
	}
	if took := m.Joined.Sub(m.Machine.Created); !m.Joined.IsZero() && !m.Machine.Created.IsZero() && took > 0 {
		note += ", joined after " + took.Round(time.Second).String()
	}
	if m.Machine.Message != "" {
		note += ": " + m.Machine.Message
	}
	return Node{Name: "Machine " + string(m.Machine.Name), Conditions: o.Status.Conditions, Note: note}
}

// Headline is the condition that stands for its object.
func (n Node) Headline() (metav1.Condition, bool) {
	for _, name := range []string{"Available", "Ready"} {
		for _, c := range n.Conditions {
			if c.Type == name {
				return c, true
			}
		}
	}
	return metav1.Condition{}, false
}

// Negative reports the conditions that are as they should be when False.
func Negative(name string) bool {
	switch name {
	case "Paused", "RollingOut", "ScalingUp", "ScalingDown", "Remediating", "Deleting", "Updating":
		return true
	}
	return false
}

// Good reports whether c is as it should be.
func Good(c metav1.Condition) bool {
	if Negative(c.Type) {
		return c.Status == metav1.ConditionFalse
	}
	return c.Status == metav1.ConditionTrue
}

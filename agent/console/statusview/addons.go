package statusview

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fleet"
	"fairlead.dev/sources/status"
)

// An Addon is one of a cluster, as JSON and YAML show it.
type Addon struct {
	Kind     string     `json:"kind"` // ClusterResourceSet or HelmChartProxy
	Name     string     `json:"name"`
	State    string     `json:"state"`
	Since    *time.Time `json:"since,omitempty"`
	Message  string     `json:"message,omitempty"` // what it waits for or why it failed
	Chart    string     `json:"chart,omitempty"`
	Release  string     `json:"release,omitempty"` // namespace/name
	Helm     int        `json:"helmRevision,omitempty"`
	Revision string     `json:"revision,omitempty"` // that began to be applied last
}

// AddonsOf returns the addons of c.
func AddonsOf(c status.Cluster) []Addon {
	var out []Addon
	for _, a := range c.Addons {
		line := Addon{
			Kind: a.Kind, Name: a.Name, State: string(a.State), Since: timeOf(a.Since), Message: a.Message,
			Chart: a.Chart, Release: a.Release, Helm: a.HelmRevision,
		}
		if !a.Revision.IsZero() {
			line.Revision = a.Revision.String()
		}
		out = append(out, line)
	}
	return out
}

// AddonText says what of a is there: its chart and release, and the revision that brought it.
func AddonText(a fleet.AddonReport) string {
	var parts []string
	if a.Chart != "" {
		parts = append(parts, a.Chart)
	}
	if a.Release != "" {
		release := "release " + a.Release
		if a.HelmRevision > 0 {
			release += fmt.Sprintf(" revision %d", a.HelmRevision)
		}
		parts = append(parts, release)
	}
	if !a.Revision.IsZero() {
		parts = append(parts, "from "+a.Revision.Short())
	}
	return strings.Join(parts, ", ")
}

// addonNode is the line of an addon in the tree of its cluster.
func addonNode(a status.Addon) Node {
	c := metav1.Condition{Type: "Ready", Status: metav1.ConditionTrue, Reason: string(a.State), Message: a.Message, LastTransitionTime: metav1.NewTime(a.Since)}
	switch a.State {
	case fleet.AddonPending, fleet.AddonFailed, fleet.AddonRemoving:
		c.Status = metav1.ConditionFalse
	case fleet.AddonUnknown:
		c.Status = metav1.ConditionUnknown
	default:
	}
	return Node{Name: a.Kind + " " + a.Name, Conditions: []metav1.Condition{c}, Note: AddonText(a.AddonReport)}
}

// failedAddon says of an addon that failed which it is and why; empty: none did.
func failedAddon(r fleet.Report) string {
	i := slices.IndexFunc(r.Addons, func(a fleet.AddonReport) bool { return a.State == fleet.AddonFailed })
	if i < 0 {
		return ""
	}
	return "addon " + r.Addons[i].Name + ": " + r.Addons[i].Message
}

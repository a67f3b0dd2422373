package page

import (
	"cmp"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/agent/console/statusview"
	"fairlead.dev/fleet"
)

// A Sign says in one word how something is. Each has a shape of its own.
type Sign string

// The signs, those that need a person first.
const (
	Failing   Sign = "failing"
	Problem   Sign = "problem"
	Deleting  Sign = "deleting"
	Creating  Sign = "creating"
	Changing  Sign = "changing"
	Outdated  Sign = "outdated"
	Suspended Sign = "suspended"
	OK        Sign = "ok"
)

// Signs returns all of them in their order.
func Signs() []Sign {
	return []Sign{Failing, Problem, Deleting, Creating, Changing, Outdated, Suspended, OK}
}

// A Row is a cluster in the list of the fleet.
type Row struct {
	ID       string `json:"-"`
	Name     string `json:"name"` // namespace/name
	Sign     Sign   `json:"sign"`
	Phase    string `json:"phase"`
	Version  string `json:"version"`
	From     string `json:"from,omitempty"` // another version that machines have
	Provider string `json:"provider,omitempty"`
	Folder   string `json:"folder,omitempty"` // that the overlay is in
	// Labels are those of the Cluster.
	Labels  map[string]string `json:"labels,omitempty"`
	Ready   int               `json:"ready"`
	Desired int               `json:"desired"`
	Since   *time.Time        `json:"since,omitempty"` // when a condition of it changed last
	Words   string            `json:"words,omitempty"` // the most important thing to say of it
}

func rowOf(c *cluster) Row {
	r := c.Report
	out := Row{
		ID: idOf(r.Cluster), Name: r.Cluster.String(), Sign: signOf(c), Phase: string(r.Phase), Version: r.Version, Provider: r.Provider, Labels: c.Cluster.Cluster.Labels,
		From: versionBefore(r), Since: changedAt(c.Cluster.Cluster.Status.Conditions), Words: wordsOf(c),
	}
	if i := strings.LastIndex(r.Overlay, "/"); i > 0 {
		out.Folder = r.Overlay[:i]
	}
	for _, p := range r.Pools {
		out.Ready += p.Ready
		out.Desired += p.Desired
	}
	return out
}

// signOf says how a cluster is.
func signOf(c *cluster) Sign {
	r := c.Report
	switch {
	case c.damage != "" || r.Failure != "":
		return Failing
	case c.orphan || len(r.Problems) > 0 || slices.ContainsFunc(r.Addons, failed), statusview.Refused(r) != "", statusview.Stopped(r) != "", statusview.FailedPool(r) != "", statusview.HeldBack(r) != "":
		return Problem
	case r.Phase == fleet.PhaseDeleting || r.Phase == fleet.PhaseDeleted || r.Phase == fleet.PhaseAbandoned:
		return Deleting
	case holds(r.Conditions, clusterv1.PausedCondition):
		return Suspended
	case r.Phase != fleet.PhaseProvisioned && r.Milestones.Provisioned.IsZero() && !r.Milestones.Began.IsZero():
		return Creating
	case r.Phase != fleet.PhaseProvisioned || c.behind || slices.ContainsFunc(r.Pools, unsettled):
		return Changing
	}
	return OK
}

func failed(a fleet.AddonReport) bool { return a.State == fleet.AddonFailed }

func unsettled(p fleet.PoolReport) bool {
	return p.Current != p.Desired || p.UpToDate != p.Desired || p.Ready != p.Desired
}

func holds(list []fleet.Condition, name string) bool {
	return slices.ContainsFunc(list, func(c fleet.Condition) bool { return c.Type == name && c.Status == fleet.True })
}

// wordsOf says of a cluster what statusview says, or why nothing is known of it.
func wordsOf(c *cluster) string {
	if c.damage != "" {
		return fleet.PlainText(c.damage)
	}
	return fleet.PlainText(cmp.Or(statusview.MessageOf(c.Report, c.orphan), c.waits))
}

// versionBefore returns a version that machines have which is not that asked for.
func versionBefore(r fleet.Report) string {
	for _, m := range r.Machines {
		if v := m.Machine.Version; v != "" && v != r.Version {
			return v
		}
	}
	return ""
}

// changedAt returns when the last of list changed, of those that are not as they should be
// where there are such.
func changedAt(list []metav1.Condition) *time.Time {
	var all, bad time.Time
	for _, c := range list {
		at := c.LastTransitionTime.Time
		if at.After(all) {
			all = at
		}
		if !statusview.Good(c) && at.After(bad) {
			bad = at
		}
	}
	if !bad.IsZero() {
		all = bad
	}
	if all.IsZero() {
		return nil
	}
	all = all.UTC()
	return &all
}

// machineSign says how a machine is.
func machineSign(m fleet.MachineReport) Sign {
	switch {
	case m.Phase == fleet.MachinePhaseFailed:
		return Failing
	case m.Phase == fleet.MachinePhaseDeleting:
		return Deleting
	case m.Phase == fleet.MachinePhaseProvisioning:
		return Creating
	case m.Phase == fleet.MachinePhaseProvisioned:
		return Changing
	case !m.UpToDate:
		return Outdated
	}
	return OK
}

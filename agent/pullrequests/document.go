package pullrequests

import (
	"errors"
	"slices"
	"strings"

	"fairlead.dev/agent/output"
	"fairlead.dev/agent/preview"
	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/forecast"
	"fairlead.dev/sources/status"
)

// A document is what is said of a merge.
type document struct {
	changes  []status.PlannedChange // what it changes, destruction first
	anyway   int                    // what would be done without it, too
	failures []string               // of the policy, sorted
	accepted string                 // who accepted them all the same; empty: nobody
	problems []string               // what of the merge cannot be used
	errors   []string               // what could not be looked at
	remarks  []string
}

// documentOf returns what after has that before does not.
func documentOf(before, after *preview.Plan) document {
	var d document
	anyway := make(map[status.PlannedChange]bool, len(before.Changes))
	for _, c := range before.Changes {
		anyway[planned(c)] = true
	}
	for _, c := range after.Changes {
		if p := planned(c); anyway[p] {
			d.anyway++
		} else {
			p.Reason = fleet.StableText(c.Reason)
			d.changes = append(d.changes, p)
		}
	}
	slices.SortStableFunc(d.changes, func(a, b status.PlannedChange) int {
		if w := weight(a) - weight(b); w != 0 {
			return w
		}
		return strings.Compare(a.Cluster, b.Cluster)
	})
	had := make(map[string]bool)
	for _, p := range before.Problems {
		had[p.Unplaced()] = true
	}
	for _, p := range after.Problems {
		if !had[p.Unplaced()] {
			d.problems = append(d.problems, p.String())
		}
	}
	for _, e := range after.Errors {
		d.errors = append(d.errors, fleet.StableText(e))
	}
	slices.Sort(d.errors)
	for _, r := range after.Rollouts {
		d.remarks = append(d.remarks, "rolls: "+r.String())
	}
	for _, t := range after.Turns {
		d.remarks = append(d.remarks, "turn: "+fleet.StableText(t.String()))
	}
	for _, o := range after.Orphans {
		if !slices.Contains(before.Orphans, o) {
			d.remarks = append(d.remarks, o+" vanishes from Git and stays as it is, left alone")
		}
	}
	for _, n := range after.Notes {
		d.remarks = append(d.remarks, fleet.StableText(n))
	}
	return d
}

// planned returns c without its reason, which two plans may word differently.
func planned(c preview.Change) status.PlannedChange {
	return status.PlannedChange{Change: c.Change, Cluster: c.Cluster, Pool: c.Pool, Machine: c.Machine, By: c.By, Addon: c.Addon}
}

// weight orders changes: what is lost comes first.
func weight(c status.PlannedChange) int {
	order := []forecast.ChangeKind{
		forecast.DeleteCluster, forecast.DeleteMachine, forecast.ReplaceMachine, forecast.UninstallRelease, forecast.PruneResources,
		forecast.RebootMachine, forecast.UpdateShared, forecast.UpdateNode, forecast.CreateCluster, forecast.CreateMachine,
	}
	if i := slices.Index(order, forecast.ChangeKind(c.Change)); i >= 0 {
		return i
	}
	return len(order)
}

// of returns how many changes are of a kind.
func (d document) of(k forecast.ChangeKind) (n int) {
	for _, c := range d.changes {
		if c.Change == string(k) {
			n++
		}
	}
	return n
}

// summary counts the changes: "delete 1 cluster, create 3 machines".
func (d document) summary() string {
	var parts []string
	rest := len(d.changes)
	for _, k := range []struct {
		kind       forecast.ChangeKind
		verb, noun string
	}{
		{forecast.DeleteCluster, "delete", "cluster"},
		{forecast.DeleteMachine, "delete", "machine"},
		{forecast.ReplaceMachine, "replace", "machine"},
		{forecast.CreateCluster, "create", "cluster"},
		{forecast.CreateMachine, "create", "machine"},
	} {
		if n := d.of(k.kind); n > 0 {
			parts = append(parts, k.verb+" "+output.Count(n, k.noun))
			rest -= n
		}
	}
	if rest > 0 {
		parts = append(parts, "update "+output.Count(rest, "other thing"))
	}
	switch {
	case len(d.errors) > 0:
		parts = append(parts, "not everything could be looked at")
	case len(parts) == 0 && len(d.problems) > 0:
		return output.Count(len(d.problems), "problem")
	case len(parts) == 0:
		return "nothing to do"
	}
	return strings.Join(parts, ", ")
}

func joinErrors(errs ...error) error { return errors.Join(errs...) }

package pullrequests

import (
	"fmt"
	"slices"
	"strings"

	"fairlead.dev/agent/console/output"
	"fairlead.dev/agent/plans/preview"
	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/forecast"
	"fairlead.dev/sources/status"
)

// A document is what is said of a merge.
type document struct {
	changes []status.PlannedChange // what it changes, destruction first
	// pending is what comes without it, too, and withdrawn what comes only without it.
	pending, withdrawn []status.PlannedChange

	fleet    fleet.ID // that it is of; empty: no other one is in the repository
	stands   string   // why a merge brings more than the plan has; empty: it does not
	failures []string // of the policy, sorted
	accepted string   // who accepted them all the same; empty: nobody
	problems []string // what of the merge cannot be used
	errors   []string // what could not be looked at
	remarks  []string
}

// documentOf returns what after has that before does not. If apart, errors of infrastructure are told by
// their kind alone.
func documentOf(before, after *preview.Plan, apart bool) document {
	since := after.Since(before)
	d := document{pending: planned(since.Pending), withdrawn: planned(since.Withdrawn), changes: planned(since.Added)}
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
	for _, u := range after.Unseen {
		why := fleet.StableText(u.Err.Error())
		if apart && fleet.KindOf(u.Err) != fleet.Invalid {
			why = fmt.Sprintf("cannot look at %s (%s): see the log of the agent", u.Cluster, fleet.KindOf(u.Err))
		}
		d.errors = append(d.errors, why)
	}
	slices.Sort(d.errors)
	for _, r := range after.Rollouts {
		d.remarks = append(d.remarks, "rolls: "+r.String())
	}
	for _, t := range after.Turns {
		if !slices.Contains(before.Turns, t) {
			d.remarks = append(d.remarks, "turn: "+fleet.StableText(t.String()))
		}
	}
	for _, n := range after.Notes {
		d.remarks = append(d.remarks, fleet.StableText(n))
	}
	return d
}

// words returns what is said beside the changes, for programs.
func (d document) words() status.PlanWords {
	return status.PlanWords{Failures: d.failures, Accepted: d.accepted, Problems: d.problems, Errors: d.errors, Remarks: d.remarks}
}

// planned returns changes as they are recorded.
func planned(list []preview.Change) []status.PlannedChange {
	out := slices.Clone(list)
	for i := range out {
		out[i].Reason, out[i].To = fleet.StableText(out[i].Reason), ""
	}
	return out
}

// weight orders changes: what ends a promise comes first, then what is lost.
func weight(c status.PlannedChange) int {
	if i := preview.Ending(c.Change); i >= 0 {
		return i - preview.Ending(preview.WeakenPolicy) - 1
	}
	order := []forecast.ChangeKind{
		forecast.DeleteCluster, forecast.DeleteMachine, forecast.DeletePool, forecast.ReplaceMachine, forecast.UninstallRelease, forecast.PruneResources,
		forecast.RebootMachine, forecast.UpdatePool, forecast.UpdateShared, forecast.UpdateNode, forecast.CreateCluster, forecast.CreateMachine, forecast.CreatePool,
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
	counts := make(map[string]int)
	rest := 0
	for _, c := range d.changes {
		if counts[c.Change]++; !preview.EndsPromise(c.Change) && c.Change != preview.ChangeSetting {
			rest++
		}
	}
	for _, k := range []struct {
		kind       forecast.ChangeKind
		verb, noun string
	}{
		{forecast.DeleteCluster, "delete", "cluster"},
		{forecast.DeleteMachine, "delete", "machine"},
		{forecast.DeletePool, "delete", "pool"},
		{forecast.ReplaceMachine, "replace", "machine"},
		{forecast.UpdatePool, "update", "pool"},
		{forecast.CreateCluster, "create", "cluster"},
		{forecast.CreateMachine, "create", "machine"},
		{forecast.CreatePool, "create", "pool"},
	} {
		if n := d.of(k.kind); n > 0 {
			parts = append(parts, k.verb+" "+output.Count(n, k.noun))
			rest -= n
		}
	}
	if rest > 0 {
		parts = append(parts, "update "+output.Count(rest, "other thing"))
	}
	parts = preview.Headline(counts, parts...)
	if n := len(d.withdrawn); n > 0 {
		parts = append(parts, "withdraw "+output.Count(n, "change"))
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

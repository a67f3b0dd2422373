package pullrequests

import (
	"cmp"
	"fmt"
	"slices"

	"fairlead.dev/agent/console/output"
	"fairlead.dev/agent/plans/document"
	"fairlead.dev/agent/plans/preview"
	"fairlead.dev/fleet"
	"fairlead.dev/sources/status"
)

// compared adds to out what after has that before does not. If apart, errors of infrastructure are reported by
// their kind alone. Stands says why a merge brings more than the plan has; empty: it does not.
func compared(out status.Plan, before, after *preview.Plan, apart bool, stands string) status.Plan {
	since := after.Since(before)
	out.Changes, out.Pending, out.Withdrawn = planned(since.Added), document.Parts(planned(since.Pending)), document.Parts(planned(since.Withdrawn))
	document.SortByLoss(out.Changes)
	had := make(map[string]bool)
	for _, p := range before.Problems {
		had[p.Unplaced()] = true
	}
	for _, p := range after.Problems {
		if !had[p.Unplaced()] {
			out.Problems = append(out.Problems, p.String())
		}
	}
	for _, u := range after.Unseen {
		why := fleet.StableText(u.Err.Error())
		if apart && fleet.KindOf(u.Err) != fleet.Invalid {
			why = fmt.Sprintf("cannot look at %s (%s): see the log of the agent", u.Cluster, fleet.KindOf(u.Err))
		}
		out.Errors = append(out.Errors, why)
	}
	slices.Sort(out.Errors)
	for _, r := range after.Rollouts {
		out.Remarks = append(out.Remarks, "rolls: "+r.String())
	}
	for _, t := range after.Turns {
		if !slices.Contains(before.Turns, t) {
			out.Remarks = append(out.Remarks, "turn: "+fleet.StableText(t.String()))
		}
	}
	for _, n := range after.Notes {
		out.Remarks = append(out.Remarks, fleet.StableText(n))
	}
	out.Headline = headline(out, len(since.Withdrawn))
	if stands != "" {
		out.Headline = stands + "; by the plan: " + out.Headline
	}
	return out
}

// planned returns changes for the record.
func planned(list []preview.Change) []status.PlannedChange {
	out := slices.Clone(list)
	for i := range out {
		out[i].Reason, out[i].To = fleet.StableText(out[i].Reason), ""
	}
	return out
}

// headline says in one line what p changes.
func headline(p status.Plan, withdrawn int) string {
	text := document.Summary(p.Changes)
	add := func(more string) {
		if text != "" {
			text += ", "
		}
		text += more
	}
	if withdrawn > 0 {
		add("withdraw " + output.Count(withdrawn, "change"))
	}
	switch {
	case len(p.Errors) > 0:
		add("not everything could be observed")
	case text == "" && len(p.Problems) > 0:
		return output.Count(len(p.Problems), "problem")
	}
	return cmp.Or(text, "nothing to do")
}

package pullrequests

import (
	"context"
	"slices"
	"strings"

	"fairlead.dev/agent/plans/document"
	"fairlead.dev/agent/plans/forge"
	"fairlead.dev/fleet"
	"fairlead.dev/sources/status"
)

const (
	// verdictMerged is the plan of a ref that the base has all of.
	verdictMerged = "merged"
	// verdictDone is its plan once all is as merged.
	verdictDone = "done"
)

// refs adds the refs that fleet.yaml has planned to t.
func (q *PullRequests) refs(ctx context.Context, t *poll) error {
	list, err := q.p.Source.Refs(ctx, t.config.Refs)
	if err != nil {
		return err
	}
	config := q.p.Fleet.Now().Config()
	var own []string // branches that nothing is proposed on
	for _, name := range []string{t.base.Ref, config.StatusBranch, config.Escrow.Branch} {
		own = append(own, name, "refs/heads/"+name)
	}
	list = slices.DeleteFunc(list, func(r fleet.Revision) bool {
		return slices.Contains(own, r.Ref) || strings.HasPrefix(r.Ref, "refs/tags/")
	})
	if n := len(list); n > maxOpen {
		q.p.Log.Warn("too many refs, planning the first by name", "refs", n, "planned", maxOpen)
		list = list[:maxOpen]
	}
	for _, r := range list {
		if err := (status.Plan{Ref: r.Ref}).CheckName(); err != nil {
			q.p.Log.Warn("ref not planned", "error", err)
			continue
		}
		p := proposal{PullRequest: forge.PullRequest{State: forge.Open, Head: r.Hash(), Base: t.base.Ref}, ref: r.Ref}
		t.all, t.open = append(t.all, p), append(t.open, p)
	}
	return nil
}

// mergedRef returns what became of a ref that the base has all of, for its file, if that is news. A ref that
// was not planned before has no file.
func (q *PullRequests) mergedRef(t *poll, p proposal) []status.Plan {
	old, planned := t.plan(p.name())
	if !planned || old.Verdict == verdictDone {
		return nil
	}
	o := q.became(old)
	if old.Head != p.Head {
		o.Differs = append(o.Differs, "what was merged is a later head than what was planned last")
	}
	now := old
	now.Result, now.Fleet = &o, q.fleetName()
	if now.Verdict = verdictMerged; o.Done {
		now.Verdict = verdictDone
	}
	now = now.Bounded()
	if now.Text = document.Markdown(now); now.Verdict == old.Verdict && now.Text == document.Markdown(old) {
		return nil
	}
	return []status.Plan{now}
}

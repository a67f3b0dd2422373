package pullrequests

import (
	"context"
	"slices"

	"fairlead.dev/agent/console/output"
	"fairlead.dev/agent/plans/document"
	"fairlead.dev/agent/plans/forge"
	"fairlead.dev/fleet"
)

// tell sets the status of the newest revision, where fleet.yaml asks for it: whether it can
// be used, and whether all is as it says. One that a later commit took the place of before is
// told so.
func (q *PullRequests) tell(ctx context.Context, t *poll) error {
	newest := q.p.Fleet.Now().Newest()
	if !t.config.Revisions || q.p.Forge == nil || newest.IsZero() {
		return nil
	}
	next := published{head: newest.Hash(), status: q.revisionStatus(newest)}
	if last := q.told; last.head != "" && last.head != next.head && last.status.Verdict == forge.Pending {
		last.status.Verdict, last.status.Text = forge.Error, "another commit followed before all clusters were up to date"
		if err := q.setRevision(ctx, last); err != nil {
			return err
		}
	}
	return q.setRevision(ctx, next)
}

// setRevision sets a status of a commit that was pushed, unless it was the last one.
func (q *PullRequests) setRevision(ctx context.Context, next published) error {
	if q.told == next || !q.owns() {
		return nil
	}
	if err := q.p.Forge.SetStatus(ctx, next.head, next.status); err != nil {
		return err
	}
	q.told = next
	return nil
}

// revisionStatus says how far a revision is. It counts nothing that changes all the time.
func (q *PullRequests) revisionStatus(rev fleet.Revision) forge.Status {
	now := q.p.Fleet.Now()
	s := forge.Status{Name: q.named(RevisionStatus), Verdict: forge.Success, Text: "all clusters are up to date"}
	problems := now.Problems()
	behind := now.Status().Behind
	failed := slices.IndexFunc(behind, func(k fleet.Key) bool {
		r, _ := q.p.Fleet.Report(k)
		return r.Failure != ""
	})
	switch {
	case now.Refused() == rev:
		s.Verdict, s.Text = forge.Failure, "refused, clusters stay at the last good revision"
		if len(problems) > 0 {
			s.Text += ": " + problems[0].String()
		}
	case len(problems) > 0:
		s.Verdict, s.Text = forge.Failure, output.Count(len(problems), "problem")+": "+problems[0].String()
	case now.Revision() != rev:
		s.Verdict, s.Text = forge.Pending, "it is being read"
	case failed >= 0:
		r, _ := q.p.Fleet.Report(behind[failed])
		s.Verdict, s.Text = forge.Pending, behind[failed].String()+" fails, trying again: "+q.failureOf(r)
	case len(behind) > 0:
		s.Verdict, s.Text = forge.Pending, "not all clusters are up to date yet"
	}
	s.Text = document.Short(fleet.PlainText(s.Text), forge.MaxText)
	return s
}

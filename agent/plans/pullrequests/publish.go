package pullrequests

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"fairlead.dev/agent/plans/document"
	"fairlead.dev/agent/plans/forge"
	"fairlead.dev/fleet"
	"fairlead.dev/sources/status"
)

// of returns what was done for p.
func (q *PullRequests) of(p proposal) *known {
	k := q.known[p.name()]
	if k == nil {
		k = &known{}
		q.known[p.name()] = k
	}
	return k
}

// record writes all that is new to the status branch, in one commit. It is the first to be written, since it
// is known after a restart.
func (q *PullRequests) record(ctx context.Context, t *poll) error {
	var about []*known
	var put []status.Plan
	for _, p := range t.open {
		k := q.of(p)
		if k.merged {
			put = append(put, q.mergedRef(t, p)...)
			continue
		}
		if k.id != "" && !k.doubtful && k.id != k.shown.Comment {
			k.shown.Comment, k.recorded = k.id, false
		}
		if !k.recorded && k.shown.Head != "" {
			about, put = append(about, k), append(put, k.shown)
		}
	}
	if len(put)+len(t.gone) == 0 {
		return nil
	}
	err := q.p.Plans.Write(ctx, t.owner, put, t.gone)
	if isUnwritable(err) && len(put)+len(t.gone) > 1 {
		return q.recordEach(ctx, t, put, about)
	}
	if err != nil {
		return err
	}
	for _, k := range about {
		k.recorded = true
	}
	return nil
}

// isUnwritable reports whether err is about one plan, which keeps all others of its commit from being written.
func isUnwritable(err error) bool {
	kind := fleet.KindOf(err)
	return kind == fleet.Exhausted || kind == fleet.Invalid
}

// recordEach writes each of put to the status branch in a commit of its own.
func (q *PullRequests) recordEach(ctx context.Context, t *poll, put []status.Plan, about []*known) error {
	var errs []error
	for _, p := range put {
		err := q.p.Plans.Write(ctx, t.owner, []status.Plan{p}, nil)
		if errs = append(errs, err); err != nil && !isUnwritable(err) {
			return errors.Join(errs...)
		}
		for _, k := range about {
			k.recorded = k.recorded || err == nil && k.shown.Same(p)
		}
	}
	return errors.Join(append(errs, q.p.Plans.Write(ctx, t.owner, nil, t.gone))...)
}

// publish says what was planned: as statuses, then in comments.
func (q *PullRequests) publish(ctx context.Context, t *poll) error {
	return q.each(ctx, t.open, "cannot publish a plan, retrying", func(p proposal) error {
		k := q.of(p)
		switch {
		case p.ref != "":
			return nil // it has neither
		case k.failed.head == p.Head:
			return q.setStatus(ctx, k, p, forge.Status{Name: q.named(PlanStatus), Verdict: forge.Error, Text: k.failed.text})
		case !k.recorded || k.shown.Head != p.Head:
			return nil
		}
		if err := q.setStatus(ctx, k, p, forge.Status{
			Name: q.named(PlanStatus), Verdict: forge.Verdict(k.shown.Verdict), Text: document.Short(fleet.PlainText(k.shown.Summary), forge.MaxText),
		}); err != nil {
			return err
		}
		now := q.p.Fleet.Now()
		return q.comment(ctx, t, k, p.Number, comment(now.ID(), now.Config().StatusBranch, k.shown))
	})
}

// leave says on the heads that are not planned why.
func (q *PullRequests) leave(ctx context.Context, t *poll) error {
	planned := make(map[string]bool, len(t.open))
	for _, p := range t.open {
		planned[p.Head] = true // a stranger may propose a head that is planned
	}
	left := slices.DeleteFunc(slices.Clone(t.unplanned), func(p proposal) bool { return planned[p.Head] })
	return q.each(ctx, left, "cannot set the status of a pull request that is not planned, retrying", func(p proposal) error {
		why := fmt.Sprintf("not planned: more than %d pull requests are open, and others come first", maxOpen)
		if t.strange(p) && !t.config.Forks {
			why = fmt.Sprintf("not planned, its head is no branch of this repository: fairlead approve %d --plan --head %s", p.Number, p.Head)
		}
		k := q.of(p)
		k.key = ""
		return q.setStatus(ctx, k, p, forge.Status{Name: q.named(PlanStatus), Verdict: forge.Pending, Text: why})
	})
}

// setStatus sets the status of the head of p, unless it was the last one that was set.
func (q *PullRequests) setStatus(ctx context.Context, k *known, p proposal, s forge.Status) error {
	next := published{head: p.Head, status: s}
	if k.status == next || !q.owns() {
		return nil
	}
	k.status = published{} // not known, unless it is answered
	if err := q.p.Forge.SetStatus(ctx, p.Head, s); err != nil {
		return err
	}
	k.status = next
	return nil
}

// owns reports whether this agent may still write.
func (q *PullRequests) owns() bool {
	_, owned := q.p.Owner()
	return owned
}

// doubled is what a comment says that is there twice, as where the answer to the first was
// lost and a list did not show it yet.
const doubled = "_This comment was written twice: the first one counts._\n"

// comment has the agent's comment on a pull request say text. What fails is tried again after waits.
func (q *PullRequests) comment(ctx context.Context, t *poll, k *known, number int, text string) error {
	if k.comment == text && !k.doubtful || !k.commenting.due(text) || !q.owns() {
		return nil
	}
	err := q.say(ctx, t, k, number, text)
	if err == nil {
		k.commenting.done()
		return nil
	}
	if !isLimit(err) {
		k.commenting.failed(text)
	}
	return err
}

// say edits the comment that is known, or finds it. It is the first one that begins with the mark and is
// the agent's own: with anybody else's the mark is a forgery. The agent may have another account than when
// it wrote it, which the status branch tells.
func (q *PullRequests) say(ctx context.Context, t *poll, k *known, number int, text string) error {
	if k.id == "" && !k.doubtful && k.shown.Comment != "" {
		if err := q.recall(ctx, k, number); err != nil {
			return err
		}
		if k.id != "" && same(k.comment, text) {
			k.comment = text
			return nil
		}
	}
	if !q.owns() {
		return nil
	}
	if k.id != "" && !k.doubtful {
		k.comment = ""
		err := q.p.Forge.Edit(ctx, number, k.id, text)
		if err == nil {
			k.comment = text
		}
		if refused(err) { // it is gone, or another account's
			k.id, k.shown.Comment = "", ""
		}
		return err
	}
	own, err := q.ownComments(ctx, t, k, number)
	if err != nil || !q.owns() {
		return err
	}
	if len(own) == 0 {
		if k.doubtful && k.comment == text {
			return nil // a list that does not show it yet
		}
		k.comment, k.id, k.doubtful = "", "", true
		id, err := q.p.Forge.Write(ctx, number, text)
		if err != nil {
			return err
		}
		k.comment, k.id = text, id
		return nil
	}
	for i, c := range own {
		want := text
		if i > 0 {
			want = mark(q.p.Fleet.Now().ID()) + doubled
		}
		if same(c.Text, want) {
			continue
		}
		k.comment = ""
		if err := q.p.Forge.Edit(ctx, number, c.ID, want); err != nil {
			if c.Author != t.me && refused(err) {
				k.id, k.shown.Comment = "", "" // it cannot be edited by this account
			}
			return err
		}
	}
	k.comment, k.id, k.doubtful = text, own[0].ID, false
	return nil
}

// recall reads the comment whose id the status branch has. A conversation may be longer than one wants to
// read. Without the agent's mark it is not the agent's.
func (q *PullRequests) recall(ctx context.Context, k *known, number int) error {
	c, err := q.p.Forge.Comment(ctx, number, k.shown.Comment)
	if err != nil && !refused(err) {
		return err
	}
	if err == nil && strings.HasPrefix(normal(c.Text), mark(q.p.Fleet.Now().ID())) {
		k.id, k.comment = c.ID, c.Text
	}
	return nil
}

// ownComments returns the comments on a pull request that the agent wrote, the oldest first.
func (q *PullRequests) ownComments(ctx context.Context, t *poll, k *known, number int) ([]forge.Comment, error) {
	if t.me == "" {
		var err error
		if t.me, err = q.p.Forge.Self(ctx); err != nil {
			t.me = ""
			return nil, err
		}
	}
	list, err := q.p.Forge.Comments(ctx, number)
	for _, c := range list {
		if c.Author == t.me {
			q.beside(c)
		}
	}
	begin := mark(q.p.Fleet.Now().ID())
	return slices.DeleteFunc(list, func(c forge.Comment) bool {
		return c.Author != t.me && c.ID != k.shown.Comment && c.ID != k.id || !strings.HasPrefix(normal(c.Text), begin)
	}), err
}

// refused reports whether trying the same again cannot help.
func refused(err error) bool {
	switch fleet.KindOf(err) {
	case fleet.Unauthorized, fleet.NotFound, fleet.Invalid, fleet.Exhausted:
		return true
	}
	return false
}

// normal returns a text as forges that keep lines in their own way have it.
func normal(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }

// same compares texts, but for what forges trim.
func same(a, b string) bool { return strings.TrimSpace(normal(a)) == strings.TrimSpace(normal(b)) }

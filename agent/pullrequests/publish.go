package pullrequests

import (
	"context"
	"strings"

	"fairlead.dev/agent/forge"
	"fairlead.dev/fleet"
	"fairlead.dev/sources/status"
)

// publish says what was planned: on the status branch first, which knows it after a restart,
// then as a status, then as a comment.
func (q *PullRequests) publish(ctx context.Context, t *turn, k *known, p proposal) error {
	if err := q.record(ctx, t, k); err != nil || p.ref != "" {
		return err
	}
	if err := q.setStatus(ctx, k, p, forge.Status{
		Name: StatusName, Verdict: forge.Verdict(k.plan.Verdict), Text: short(fleet.PlainText(k.plan.Summary), forge.MaxText),
	}); err != nil {
		return err
	}
	now := q.p.Fleet.Now()
	return q.comment(ctx, k, p.Number, comment(now.ID(), now.Config().StatusBranch, k.plan))
}

// record writes the plan to the status branch, where it is another one.
func (q *PullRequests) record(ctx context.Context, t *turn, k *known) error {
	if k.recorded {
		return nil
	}
	if err := q.p.Plans.Write(ctx, t.owner, []status.Plan{k.plan}, nil); err != nil {
		return err
	}
	k.recorded = true
	return nil
}

// setStatus sets the status of the head of p, unless it was the last one that was set.
func (q *PullRequests) setStatus(ctx context.Context, k *known, p proposal, s forge.Status) error {
	if p.ref != "" {
		return nil // it has none
	}
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

// comment has the agent's comment on a pull request say text. It is the first one that
// begins with the mark and is the agent's own: with anybody else's the mark is a forgery.
func (q *PullRequests) comment(ctx context.Context, k *known, number int, text string) error {
	if k.comment == text && !k.doubtful || !q.owns() {
		return nil
	}
	list, err := q.p.Forge.Comments(ctx, number)
	if err != nil {
		return err
	}
	begin := mark(q.p.Fleet.Now().ID())
	var own []forge.Comment
	for _, c := range list {
		if c.Author == q.me && strings.HasPrefix(normal(c.Text), begin) {
			own = append(own, c)
		}
	}
	if !q.owns() {
		return nil
	}
	if len(own) == 0 {
		if k.doubtful && k.comment == text {
			return nil // a list that does not show it yet
		}
		k.comment, k.doubtful = "", true
		if _, err := q.p.Forge.Write(ctx, number, text); err != nil {
			return err
		}
		k.comment = text
		return nil
	}
	for i, c := range own {
		want := text
		if i > 0 {
			want = begin + doubled
		}
		if same(c.Text, want) {
			continue
		}
		k.comment = ""
		if err := q.p.Forge.Edit(ctx, number, c.ID, want); err != nil {
			return err
		}
	}
	k.comment, k.doubtful = text, false
	return nil
}

// normal returns a text as forges that keep lines in their own way have it.
func normal(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }

// same compares texts, but for what forges trim.
func same(a, b string) bool { return strings.TrimSpace(normal(a)) == strings.TrimSpace(normal(b)) }

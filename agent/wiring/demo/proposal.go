package demo

import (
	"context"
	"fmt"
	"strings"
	"time"

	"fairlead.dev/agent/console/output"
	"fairlead.dev/sources/status"
)

// proposalRefs are the refs that the agent plans, as if somebody had opened a pull request
// on a forge.
const proposalRefs = "refs/heads/proposals/*"

// patience is how long the agent may take to plan a proposal, and to say what became of it.
const patience = 30 * time.Second

// propose pushes what is in the clone to a branch for review, shows what the agent says that
// its merge would do, and merges it. It returns the revision that is pushed.
func (d *demo) propose(ctx context.Context, s step) (string, error) {
	head, err := d.repository.propose(ctx, s.proposal, s.commit)
	if err != nil {
		return "", err
	}
	d.screen.line("    %s", d.screen.faint("git push origin HEAD:"+s.proposal))
	p, err := d.planned(ctx, s.proposal, func(p status.Plan) bool { return p.Head == head && p.Verdict == "success" })
	if err != nil {
		return "", err
	}
	d.screen.line("    %s", d.screen.faint("git show "+statusBranch+":"+p.Path()))
	t := output.Table{Header: []string{"CHANGE", "CLUSTER", "POOL", "MACHINE", "REASON"}}
	for _, c := range p.Changes {
		t.Add(c.Change, c.Cluster, c.Pool, c.Machine, c.Reason)
	}
	var text strings.Builder
	if err := t.Text(&text); err != nil {
		return "", err
	}
	d.screen.indented(text.String() + "\n" + p.Summary)
	d.screen.line("    %s", d.screen.faint("git merge "+s.proposal))
	return d.repository.merge(ctx, s.proposal)
}

// planned waits for what the agent says of the branch, until it is so.
func (d *demo) planned(ctx context.Context, branch string, so func(status.Plan) bool) (status.Plan, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tick := time.NewTicker(150 * time.Millisecond)
	defer tick.Stop()
	said := "nothing"
	for {
		all, err := status.NewPlans(d.observer.branch).List(ctx)
		if err != nil {
			return status.Plan{}, err
		}
		for _, p := range all {
			if p.Ref == "refs/heads/"+branch {
				if so(p) {
					return p, nil
				}
				said = fmt.Sprintf("%s: %s", p.Verdict, p.Summary)
			}
		}
		select {
		case <-tick.C:
		case err := <-d.ended:
			return status.Plan{}, fmt.Errorf("the agent ended: %w", err)
		case <-ctx.Done():
			return status.Plan{}, fmt.Errorf("of the branch %s the status branch says %s", branch, said)
		}
	}
}

// became waits until the agent says that all of the proposal is done, and shows that.
func (d *demo) became(ctx context.Context, s step) error {
	p, err := d.planned(ctx, s.proposal, func(p status.Plan) bool { return p.Verdict == "done" })
	if err != nil {
		return err
	}
	d.screen.line("    %s %s", d.screen.colour(green, "✓"), d.screen.faint("and of the proposal the status branch says: "+p.Verdict+", "+p.Summary))
	return nil
}

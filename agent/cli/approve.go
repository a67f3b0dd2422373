package cli

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"fairlead.dev/agent/wiring"
	"fairlead.dev/fleet"
	"fairlead.dev/sources/git"
	"fairlead.dev/sources/status"
)

func newApprove(built wiring.Built) *cobra.Command {
	w := &requestCommand{}
	var head string
	var plan, changes bool
	cmd := &cobra.Command{
		Use: "approve NUMBER", GroupID: groupAsk, Short: "Approve a pull request's plan, or that it is planned",
		Long: `Approve something of one commit of a pull request.

With --changes its plan does not fail, whatever spec.pullRequests.fail in fleet.yaml
says. With --plan it is planned though it comes from another repository: what it
says is rendered, and what is known of the clusters is shown where it is reviewed.
Another head needs another approval.

It is a small file that your own Git identity commits to the status branch. The
right to push there is the right to approve.`,
		Example: `  fairlead approve 12 --changes --head 59b20b8d5c6c0f1d0bc0b3c6b0d8b1ea3a4f7c11 --reason "eu-1 moves to eu-2"`,
		Args:    args(cobra.ExactArgs(1)),
	}
	w.f = addSource(cmd, built)
	w.f.addStatus(cmd)
	w.f.addSigning(cmd)
	cmd.Flags().StringVar(&w.reason, "reason", "", "why, for those who read it later")
	cmd.Flags().StringVar(&head, "head", "", "commit of the pull request that is approved, its whole hash")
	cmd.Flags().BoolVar(&plan, "plan", false, "approve that it is planned, though it comes from another repository")
	cmd.Flags().BoolVar(&changes, "changes", false, "approve what its plan says that it changes")
	confirms(cmd, "plan", "changes")
	cmd.RunE = func(cmd *cobra.Command, argv []string) error {
		w.cmd = cmd
		n, err := strconv.Atoi(argv[0])
		switch {
		case err != nil:
			return &usageError{fmt.Errorf("%q is no number of a pull request", argv[0])}
		case plan == changes:
			return &usageError{errors.New("say what is approved: --changes, or --plan")}
		}
		a := fleet.Approval{PullRequest: n, Kind: fleet.ApproveChanges, Head: head, Reason: w.reason, At: time.Now().UTC().Truncate(time.Second)}
		if plan {
			a.Kind = fleet.ApprovePlan
		}
		return w.approve(a)
	}
	return cmd
}

// approve writes a to the status branch.
func (w *requestCommand) approve(a fleet.Approval) error {
	ctx := w.cmd.Context()
	p, branch, err := w.selection()
	if err != nil {
		return err
	}
	if err := p.checkFollowed(ctx, branch); err != nil {
		return fmt.Errorf("%s would be heard by nobody: %w", w.cmd.CommandPath(), err)
	}
	if p.settings.Author, err = git.ByHand(ctx); err != nil {
		return err
	}
	a.By = fmt.Sprintf("%s <%s>", p.settings.Author.Name, p.settings.Author.Email)
	b, err := p.settings.OpenBranch(branch)
	if err != nil {
		return err
	}
	q := status.NewApprovals(b)
	if q.Sign, err = p.settings.Signer(); err != nil {
		return err
	}
	if err := q.Approve(ctx, a); err != nil {
		return err
	}
	fmt.Fprintf(w.cmd.OutOrStdout(), "approved the %s of pull request %d at %.12s\n", a.Kind, a.PullRequest, a.Head)
	return nil
}

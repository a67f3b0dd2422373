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
		Use: "approve NUMBER", GroupID: groupAsk, Short: "Approve a pull request, or its plan",
		Long: `Approve one commit of a pull request. After another push, approve again.

With --changes the plan passes even if it violates spec.pullRequests.fail in fleet.yaml.
With --plan the agent plans a commit of a fork: it renders the content, and readers of the
pull request see facts about the clusters.

The command commits a file to the status branch with your Git identity. Anyone with push
access to the status branch can approve.`,
		Example: `  fairlead approve 12 --changes --head 59b20b8d5c6c0f1d0bc0b3c6b0d8b1ea3a4f7c11 --reason "eu-1 moves"`,
		Args:    args(cobra.ExactArgs(1)),
	}
	w.f = addSource(cmd, built)
	w.f.addStatus(cmd)
	w.f.addSigning(cmd)
	cmd.Flags().StringVar(&w.reason, "reason", "", "reason, recorded with the request")
	cmd.Flags().StringVar(&head, "head", "", "full hash of the approved commit of the pull request")
	cmd.Flags().BoolVar(&plan, "plan", false, "approve planning it, although it comes from another repository")
	cmd.Flags().BoolVar(&changes, "changes", false, "approve the changes in its plan")
	confirms(cmd, "plan", "changes")
	cmd.RunE = func(cmd *cobra.Command, argv []string) error {
		w.cmd = cmd
		n, err := strconv.Atoi(argv[0])
		switch {
		case err != nil:
			return &usageError{fmt.Errorf("invalid NUMBER %q: must be the number of a pull request", argv[0])}
		case !plan && !changes:
			return &usageError{errors.New("missing --changes or --plan")}
		case plan && changes:
			return &usageError{errors.New("--changes and --plan are exclusive: use one of them")}
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
		return fmt.Errorf("cannot approve: %w", err)
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

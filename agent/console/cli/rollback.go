package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"fairlead.dev/agent/console/output"
	"fairlead.dev/agent/plans/scope"
	"fairlead.dev/agent/wiring"
	"fairlead.dev/fleet"
	"fairlead.dev/sources/git"
)

func newRollback(built wiring.Built) *cobra.Command {
	var push bool
	cmd := &cobra.Command{
		Use: "rollback [REVISION]", GroupID: groupWrite, Short: "Commit an earlier revision as the newest, and show its plan",
		Long: `Commit the content of an earlier revision to the clone in the current folder, and show
its plan. REVISION defaults to the one before the newest commit. No commit is removed.

Nothing is pushed without --push. Until then, 'git reset --hard HEAD~1' removes the
commit. The plan uses the status branch, as plan --last-seen does.`,
		Example: `  fairlead rollback
  fairlead rollback 59b20b8d5c6c --push`,
		Args: args(cobra.MaximumNArgs(1)),
	}
	f := addSource(cmd, built)
	f.addRender(cmd)
	f.addStatus(cmd)
	v := addValues(cmd)
	cmd.Flags().BoolVar(&push, "push", false, "push the commit to origin after showing the plan")
	confirms(cmd, "push")
	cmd.RunE = func(cmd *cobra.Command, argv []string) error {
		ctx, w := cmd.Context(), cmd.OutOrStdout()
		folder, err := os.Getwd()
		if err != nil {
			return err
		}
		clone := cloneOf(folder)
		if clone == "" {
			return &usageError{errors.New("this folder is not in a clone: change to a clone of the fleet")}
		}
		origin := originOf(ctx, clone)
		if origin == "" {
			return errors.New("this clone has no origin: run git remote add origin URL")
		}
		rev := "HEAD~1"
		if len(argv) == 1 {
			rev = argv[0]
		}
		root := rootOf(folder)
		if err := goBack(cmd, git.WorkingTree(clone), root, rev); err != nil {
			return err
		}
		f.lastSeen = true
		s := f.from([]string{root}, quiet(cmd.ErrOrStderr()))
		s.Credentials.Personal = true
		if s.StatusRepository == "" {
			s.StatusRepository = origin
		}
		plan, err := makePlan(ctx, selection{settings: s, scope: scope.All}, f, v)
		if err != nil {
			return err
		}
		if err := plan.Write(w, output.FormatTable); err != nil {
			return err
		}
		switch {
		case len(plan.Problems) > 0 || len(plan.Errors) > 0:
			return &exitError{exitFailure} // the commit stays in the clone, and may be pushed by hand
		case !push:
			fmt.Fprintln(w, "\nnot pushed: review the commit, then run git push")
			return nil
		}
		to, err := git.WorkingTree(clone).PushedTo(ctx)
		if err != nil {
			return err
		}
		for _, one := range to {
			if err := oneRepository(one, s.StatusRepository); err != nil {
				return err
			}
		}
		if err := pushFollowed(ctx, git.WorkingTree(clone), plan.Followed()); err != nil {
			return err
		}
		fmt.Fprintln(w, "\npushed")
		return nil
	}
	return cmd
}

// oneRepository refuses a push to origin if the status is of an agent that may follow another repository, as if origin
// is a fork. Hosts are not compared: a Git provider has several names.
func oneRepository(origin, status string) error {
	pathOf := func(address string) string {
		name, err := git.NormaliseURL(address)
		if err != nil {
			return address
		}
		_, name, _ = strings.Cut(name, "://")
		return strings.ToLower(name[strings.Index(name, "/"):])
	}
	if pathOf(origin) == pathOf(status) {
		return nil
	}
	return fleet.Errorf(fleet.Invalid, "push the commit", "origin is pushed to another repository than the one with the status of the fleet, so the agent may not follow origin. Nothing was pushed. Fix: review the commit, and push it to the repository that the agent follows with 'git push'")
}

// pushFollowed pushes the current branch, which has to be the one that the agent follows.
func pushFollowed(ctx context.Context, clone git.WorkingTree, followed string) error {
	branch, err := clone.Branch(ctx)
	if err != nil {
		return err
	}
	if followed == "" {
		return fleet.Errorf(fleet.Invalid, "push the commit", "no agent has recorded which branch it follows. Nothing was pushed. Fix: start an agent and run 'fairlead rollback' again, or review the commit and run 'git push'")
	}
	if name := strings.TrimPrefix(followed, "refs/heads/"); name != branch {
		return fleet.Errorf(fleet.Invalid, "push the commit", "the current branch is %q, and the agent follows %q. Nothing was pushed. Fix: run 'git reset --hard HEAD~1', then 'git checkout %s', then 'fairlead rollback' again", branch, name, name)
	}
	return clone.Push(ctx, branch)
}

// goBack commits to the clone that the fleet at root is as it was at rev.
func goBack(cmd *cobra.Command, clone git.WorkingTree, root, rev string) error {
	ctx := cmd.Context()
	if err := clone.Clean(ctx); err != nil {
		return err
	}
	to, err := clone.Commit(ctx, rev)
	if err != nil {
		return err
	}
	subject, err := clone.Subject(ctx, to)
	if err != nil {
		return err
	}
	path, err := filepath.Rel(string(clone), root)
	if err != nil {
		return err
	}
	made, err := clone.GoBack(ctx, to, filepath.ToSlash(path), fmt.Sprintf("Roll back to %.12s: %s\n\nThe fleet is as it was at %s.", to, subject, to))
	if err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "created commit %.12s with the content of %.12s, %s\n\n", made, to, subject)
	return nil
}

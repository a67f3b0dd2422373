package cli

import (
	"context"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"fairlead.dev/agent/console/output"
	"fairlead.dev/agent/plans/document"
	"fairlead.dev/agent/plans/forge"
	"fairlead.dev/fleet"
	"fairlead.dev/sources/status"
)

// showPullRequest shows what the agent planned for a pull request, by its number, or for a
// ref, by the status branch. The exit codes are those of plan.
func showPullRequest(ctx context.Context, w io.Writer, p selection, branch, proposal string, form output.Format) error {
	b, err := p.settings.OpenBranch(branch)
	if err != nil {
		return err
	}
	list, err := status.NewPlans(b).List(ctx)
	i := planOf(list, proposal)
	switch {
	case i < 0 && err != nil:
		return err
	case i < 0:
		return fleet.Errorf(fleet.NotFound, "show the plan of "+proposal, "no plan found on the status branch: no open pull request has that number, it is not planned yet, or spec.pullRequests in fleet.yaml excludes it")
	}
	plan := list[i]
	if form == output.FormatJSON || form == output.FormatYAML {
		err = (&output.Table{}).Write(w, form, plan)
	} else {
		_, err = io.WriteString(w, document.Markdown(plan))
	}
	switch {
	case err != nil:
		return err
	case plan.Verdict == "merged", plan.Verdict == "done":
		return nil
	case plan.Verdict != "success":
		return &exitError{exitFailure}
	case len(plan.Changes) > 0:
		return &exitError{exitChanges}
	}
	return nil
}

// planOf returns the index in list of the plan of the pull request, or else of the ref, or else of the branch, of that
// name: a branch may be called as a pull request is; -1: there is none.
func planOf(list []status.Plan, proposal string) int {
	for _, is := range []func(status.Plan) bool{
		func(p status.Plan) bool { return p.Ref == "" && strconv.Itoa(p.Number) == proposal },
		func(p status.Plan) bool { return p.Ref == proposal && p.Ref != "" },
		func(p status.Plan) bool { return p.Ref == "refs/heads/"+proposal },
	} {
		if i := slices.IndexFunc(list, is); i >= 0 {
			return i
		}
	}
	return -1
}

// forgeFlags say where an agent plans pull requests.
func (f *sourceFlags) addForge(cmd *cobra.Command) {
	fs, o := cmd.Flags(), &f.settings.Forge
	fs.StringVar(&o.Kind, "forge", "", "kind of the Git provider, if fleet.yaml plans pull requests: "+strings.Join(forge.Kinds(), ", ")+"; gitea for Forgejo (default: by the host)")
	fs.StringVar(&o.URL, "forge-url", "", "URL of the Git provider in a browser (default: https and the host of the source)")
	fs.StringVar(&o.Credentials, "forge-credentials", "", "folder like --credentials, for the API of the Git provider (default: the credentials of the source)")
}

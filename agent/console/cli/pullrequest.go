package cli

import (
	"context"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"fairlead.dev/agent/console/output"
	"fairlead.dev/agent/plans/forge"
	"fairlead.dev/fleet"
	"fairlead.dev/sources/status"
)

// pullRequestView is the plan of a pull request as JSON and YAML.
type pullRequestView struct {
	PullRequest int                    `json:"pullRequest,omitempty"`
	Ref         string                 `json:"ref,omitempty"`
	Head        string                 `json:"head"`
	Base        string                 `json:"base"`
	Tree        string                 `json:"tree,omitempty"`
	Look        string                 `json:"look,omitempty"`
	Verdict     string                 `json:"verdict"`
	Summary     string                 `json:"summary"`
	Changes     []status.PlannedChange `json:"changes"`
	status.PlanWords
}

// showPullRequest shows what the agent planned for a pull request, by its number, or for a
// ref, by the status branch. The exit codes are those of plan.
func showPullRequest(ctx context.Context, w io.Writer, p selection, branch, proposal string, form output.Format) error {
	b, err := p.settings.OpenBranch(branch)
	if err != nil {
		return err
	}
	list, err := status.NewPlans(b).List(ctx)
	i := slices.IndexFunc(list, func(p status.Plan) bool {
		if p.Ref != "" {
			return p.Ref == proposal || p.Ref == "refs/heads/"+proposal
		}
		return strconv.Itoa(p.Number) == proposal
	})
	switch {
	case i < 0 && err != nil:
		return err
	case i < 0:
		return fleet.Errorf(fleet.NotFound, "show the plan of "+proposal, "no plan found on the status branch: no open pull request has that number, it is not planned yet, or spec.pullRequests in fleet.yaml excludes it")
	}
	plan := list[i]
	if form == output.FormatJSON || form == output.FormatYAML {
		v := pullRequestView{
			PullRequest: plan.Number, Ref: plan.Ref, Head: plan.Head, Base: plan.Base, Tree: plan.Tree, Look: plan.Look, Verdict: plan.Verdict, Summary: plan.Summary,
			Changes: append([]status.PlannedChange{}, plan.Changes...), PlanWords: plan.Said,
		}
		err = (&output.Table{}).Write(w, form, v)
	} else {
		_, err = io.WriteString(w, plan.Text)
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

// forgeFlags say where an agent plans pull requests.
func (f *sourceFlags) addForge(cmd *cobra.Command) {
	fs, o := cmd.Flags(), &f.settings.Forge
	fs.StringVar(&o.Kind, "forge", "", "kind of the Git provider, if fleet.yaml plans pull requests: "+strings.Join(forge.Kinds(), ", ")+"; gitea for Forgejo (default: by the host)")
	fs.StringVar(&o.URL, "forge-url", "", "URL of the Git provider in a browser (default: https and the host of the source)")
	fs.StringVar(&o.Credentials, "forge-credentials", "", "folder like --credentials, for the API of the Git provider (default: the credentials of the source)")
}

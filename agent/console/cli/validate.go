package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"fairlead.dev/agent/console/output"
	"fairlead.dev/agent/wiring"
	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/rollout"
)

func newValidate(built wiring.Built) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "validate [PATH|URL]",
		GroupID: groupWrite,
		Short:   "Validate manifests",
		Long: `Validate manifests: render every overlay as the agent does and check every field. Each
problem is one line: location, error, fix. A warning names something that is allowed but
may be a mistake. PATH is a fleet, a folder in it, or a base that clusters share
(default: the current folder).

--base compares Kubernetes versions with another revision: a control plane that skips a
minor version, or goes back, is a problem. The exit code is 1 if there are problems.`,
		Example: `  fairlead validate
  fairlead validate clusters/prod/eu-1
  fairlead validate https://git.example.com/fleet.git --ref feature --base main`,
		Args: args(cobra.MaximumNArgs(1)),
	}
	form := outputFlag(cmd, output.FormatTable, output.FormatJSON, output.FormatYAML, output.FormatMarkdown)
	f := addSource(cmd, built)
	f.addRender(cmd)
	f.addFolders(cmd)
	v := addValues(cmd)
	cmd.Flags().StringVar(&f.base, "base", "", "branch, tag or commit to compare Kubernetes versions with; for a folder, another folder or a repository URL")
	partOfFleet(cmd)
	cmd.RunE = func(cmd *cobra.Command, argv []string) error {
		p, err := f.located(cmd, argv)
		if err != nil {
			return err
		}
		loaded, err := p.load(cmd.Context(), v.options())
		if err != nil {
			return err
		}
		if len(loaded.Clusters)+len(loaded.Problems) == 0 {
			loaded, err = p.loadFolder(cmd.Context(), v.options())
			if fleet.KindOf(err) == fleet.NotFound {
				return p.empty()
			}
			if err != nil {
				return err
			}
		}
		if f.base != "" {
			b, err := p.base(cmd.Context(), f.base)
			if err != nil {
				return err
			}
			before, err := b.load(cmd.Context(), v.options())
			if err != nil {
				return fmt.Errorf("cannot read what to compare with: %w", err)
			}
			loaded.Problems = append(loaded.Problems, rollout.VersionProblems(before, loaded)...)
		}
		if err := showValidation(cmd, output.Format(*form), loaded); err != nil {
			return err
		}
		if len(loaded.Problems) > 0 {
			return &exitError{exitFailure}
		}
		return nil
	}
	return cmd
}

// validation is what validate shows as JSON and YAML.
type validation struct {
	Revision string           `json:"revision"`
	Clusters []string         `json:"clusters"`
	Problems []output.Problem `json:"problems"`
	Warnings []output.Problem `json:"warnings,omitempty"`
}

func showValidation(cmd *cobra.Command, form output.Format, f fleet.Fleet) error {
	out := cmd.OutOrStdout()
	if form == output.FormatTable {
		for _, p := range f.Problems {
			fmt.Fprintln(out, p)
		}
		for _, p := range f.Warnings {
			fmt.Fprintln(out, "warning:", p)
		}
		if len(f.Problems) == 0 {
			fmt.Fprintln(out, verdict(f))
		}
		return nil
	}
	v := validation{Revision: f.Revision.String(), Clusters: []string{}, Problems: output.Problems(f.Problems), Warnings: output.Problems(f.Warnings)}
	for _, c := range f.Clusters {
		v.Clusters = append(v.Clusters, c.Key.String())
	}
	t := output.Table{Header: []string{"PLACE", "OBJECT", "FIELD", "PROBLEM", "HINT"}}
	add := func(p fleet.Problem, before string) {
		t.Add(p.Place(), p.Object, p.Field, before+p.Message, p.Hint)
	}
	for _, p := range f.Problems {
		add(p, "")
	}
	for _, p := range f.Warnings {
		add(p, "warning: ")
	}
	return t.Write(out, form, v)
}

// verdict returns "2 clusters: good", and how many warnings there are.
func verdict(f fleet.Fleet) string {
	text := output.Count(len(f.Clusters), "cluster") + ": good"
	if n := len(f.Warnings); n > 0 {
		text += ", " + output.Count(n, "warning")
	}
	return text
}

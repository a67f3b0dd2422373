package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"charm.land/lipgloss/v2"
	"github.com/spf13/cobra"

	"fairlead.dev/agent/output"
	"fairlead.dev/agent/statusview"
	"fairlead.dev/agent/wiring"
	"fairlead.dev/render"
	"fairlead.dev/sources/status"
)

func newStatus(built wiring.Built) *cobra.Command {
	var wait time.Duration
	cmd := &cobra.Command{
		Use:     "status [PATH|URL]",
		GroupID: groupLook,
		Short:   "Say how the clusters of a fleet are",
		Long: `Say how the clusters of a fleet are, from the status branch: no cluster and no
cloud is asked.

With --wait it waits until the agent has applied the newest revision of the source
and a look has found every cluster as that revision says: provisioned, or deleted
where that is wanted, with nothing left to do. Afterwards it shows the status. The
exit code is 4 as soon as the revision is refused, as a whole or for some cluster,
which waiting does not mend, and 5 if it takes longer.`,
		Example: `  fairlead status --source https://git.example.com/fleet.git
  git push && fairlead status --source https://git.example.com/fleet.git --wait 10m
  fairlead status ./fleet -o json | jq '.clusters[] | select(.phase != "Provisioned")'`,
		Args: args(cobra.MaximumNArgs(1)),
	}
	form := outputFlag(cmd, output.FormatTable, output.FormatJSON, output.FormatYAML, output.FormatMarkdown)
	f := addSource(cmd, built)
	f.addStatus(cmd)
	cmd.Flags().DurationVar(&wait, "wait", 0, "wait so long for every cluster to be as the newest revision says")
	cmd.RunE = func(cmd *cobra.Command, argv []string) error {
		p, err := locate(cmd.Context(), f.from(argv, quiet(cmd.ErrOrStderr())))
		if err != nil {
			return err
		}
		branch, err := p.branch(cmd.Context(), f.branch)
		if err != nil {
			return err
		}
		s, outcome, err := p.await(cmd.Context(), branch, wait)
		if err != nil {
			return err
		}
		if err := showStatus(cmd.OutOrStdout(), output.Format(*form), s); err != nil {
			return err
		}
		if s.Owner.Agent == "" && output.Format(*form) == output.FormatTable && p.origin(cmd.Context()) != "" {
			fmt.Fprintf(cmd.OutOrStdout(), "this folder is a clone: name the repository with --source %s\n", p.origin(cmd.Context()))
		}
		return errors.Join(outcomeError(outcome, wait), s.Whole())
	}
	return cmd
}

// branch returns the name of the status branch: given, or the one in fleet.yaml, or, where
// that cannot be read, the default.
func (p selection) branch(ctx context.Context, given string) (string, error) {
	if given != "" || wiring.IsFolder(p.settings.Source) && p.settings.StatusRepository == "" {
		return given, nil // a folder has one status branch
	}
	_, tree, err := p.open(ctx)
	if err != nil {
		return "", err
	}
	renderer, err := p.settings.NewRenderer(wiring.RenderOptions{})
	if err != nil {
		return "", err
	}
	config, err := renderer.Config(tree)
	if _, ok := errors.AsType[*render.ConfigError](err); ok {
		// People look at the status to see why a revision is refused.
		return render.DefaultStatusBranch, nil
	}
	return config.StatusBranch, err
}

func showStatus(w io.Writer, form output.Format, s status.Status) error {
	v := statusview.Of(s)
	t := output.Table{Header: []string{"CLUSTER", "PHASE", "MACHINES", "VERSION", "REVISION", "MESSAGE"}, Style: phaseStyle}
	for i, c := range v.Clusters {
		t.Add(c.Name, c.Phase, fmt.Sprintf("%d/%d", c.Ready, c.Desired), c.Version, s.Clusters[i].Report.Revision.Short(), c.Message())
	}
	if form != output.FormatTable {
		return t.Write(w, form, v)
	}
	if v.Owner == "" {
		fmt.Fprintln(w, "there is no status here: no agent has worked on this fleet yet, or its status is on another branch (--status-branch)")
	} else if len(v.Clusters) == 0 {
		fmt.Fprintln(w, "the status branch tells of no cluster")
	} else if err := t.Text(w); err != nil {
		return err
	}
	if v.Owner != "" {
		fmt.Fprintf(w, "\nfleet %s at %s, owned by %s (epoch %d)\n", v.Fleet, v.Revision, v.Owner, v.Epoch)
	}
	switch v.Signed {
	case "", statusview.SignedYes:
	case statusview.SignedNotChecked:
		fmt.Fprintln(w, "the owner is signed, which was not checked: name the keys with --request-keys")
	default:
		fmt.Fprintln(w, "not to be believed: "+v.Signed)
	}
	if v.Applied != "" && v.Applied != v.Revision {
		fmt.Fprintf(w, "refused: everything stays at %s\n", v.Applied)
	}
	if v.Home != nil {
		fmt.Fprintln(w, "home: "+v.Home.String())
	}
	if v.Moving != nil {
		fmt.Fprintf(w, "moving: to %s, step %s\n", v.Moving.To, v.Moving.Step)
	}
	for _, p := range v.Problems {
		fmt.Fprintln(w, "problem: "+p.String())
	}
	for _, o := range v.Orphans {
		fmt.Fprintln(w, "orphan: "+o+" vanished from Git and stays as it is")
	}
	return nil
}

// phaseStyle colours a row by its phase.
func phaseStyle(row []string) lipgloss.Style {
	colours := map[string]string{"Provisioned": "2", "Deleting": "1", "Deleted": "1"}
	st := lipgloss.NewStyle()
	if c, ok := colours[row[1]]; ok {
		return st.Foreground(lipgloss.Color(c))
	}
	return st.Foreground(lipgloss.Color("4"))
}

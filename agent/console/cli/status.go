package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"charm.land/lipgloss/v2"
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"

	"fairlead.dev/agent/console/output"
	"fairlead.dev/agent/console/statusview"
	"fairlead.dev/agent/wiring"
	"fairlead.dev/fleet"
	"fairlead.dev/render"
	"fairlead.dev/sources/status"
)

func newStatus(built wiring.Built) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "status [PATH|URL] [NAMESPACE/NAME...]",
		GroupID: groupLook,
		Short:   "Show the status of clusters",
		Long: `Show the status of clusters, from the status branch. Select clusters by name, which may
contain *, and by flags. --sort waiting lists the clusters first that have waited or
failed for the longest time, --sort changes those with the most pending machines, and
--sort machines those with the most machines.

--wait waits until the agent has applied the newest revision and observed every cluster
up to date: provisioned, or deleted if requested. Then it shows the status. The exit
code is 4 if the revision is rejected, and 5 after a timeout.`,
		Example: `  fairlead status
  fairlead status 'prod/eu-*' -l ring=canary --problems
  git push && fairlead status --wait --timeout 10m
  fairlead status --watch
  fairlead status --sort waiting
  fairlead status -o jsonpath='{.clusters[?(@.phase!="Provisioned")].name}'`,
		Args: args(cobra.ArbitraryArgs),
	}
	form := outputFlag(cmd, output.FormatTable, output.FormatJSON, output.FormatYAML, output.FormatMarkdown, output.FormatWide, output.FormatName, output.FormatJSONPath)
	f := addSource(cmd, built)
	f.addStatus(cmd)
	f.complete(clusterNames)
	choose := addChoose(cmd)
	wait := addWait(cmd, "wait until every cluster is up to date with the newest revision")
	watch := addWatch(cmd)
	order := addSort(cmd, "name", "name")
	cmd.RunE = func(cmd *cobra.Command, argv []string) error {
		source, names := sourceAndNames(argv)
		chosen, err := choose.of(names)
		if err != nil {
			return err
		}
		if err := order.check(); err != nil {
			return err
		}
		p, branch, err := f.find(cmd, source)
		if err != nil {
			return err
		}
		if wait.time() == 0 {
			p.clusters = chosen.read(p.scope)
		}
		form := output.Format(*form)
		if *watch {
			return watchStatus(cmd, p, branch, form, chosen, wait, order)
		}
		s, outcome, err := p.await(cmd.Context(), branch, wait.time())
		if err != nil {
			return err
		}
		all := len(s.Clusters) + len(s.Damaged) + len(s.Unread)
		if s, err = chosen.from(s); err != nil {
			return err
		}
		if err := showStatus(cmd.OutOrStdout(), form, s, all, order); err != nil {
			return err
		}
		if s.Owner.Agent == "" && form == output.FormatTable && p.origin(cmd.Context()) != "" {
			fmt.Fprintf(cmd.OutOrStdout(), "this folder is a clone: set --source %s\n", p.origin(cmd.Context()))
		}
		return errors.Join(outcomeError(outcome, wait.time()), s.Whole())
	}
	return cmd
}

// watchStatus shows the status of the chosen clusters whenever it changes.
func watchStatus(cmd *cobra.Command, p selection, branch string, form output.Format, chosen choice, wait *waitFlags, order *sortFlag) error {
	if wait.time() != 0 {
		return &usageError{errors.New("--wait and --watch are both set: use one of them")}
	}
	return p.keepShowing(cmd, branch, form, func(w io.Writer, s status.Status) error {
		all := len(s.Clusters) + len(s.Damaged) + len(s.Unread)
		s, err := chosen.from(s)
		if err != nil {
			return err
		}
		return showStatus(w, form, s, all, order)
	})
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
		return fleet.DefaultStatusBranch, nil
	}
	return config.StatusBranch, err
}

// showStatus shows s, which may be of some of all clusters of a fleet.
func showStatus(w io.Writer, form output.Format, s status.Status, all int, order *sortFlag) error {
	loads := order.sort(&s)
	v := statusview.Of(s)
	t := output.Table{
		Header: []string{"CLUSTER", "PHASE", "MACHINES", "VERSION", "REVISION", "PROVIDER", "ENDPOINT", "LABELS", "MESSAGE"},
		Wide:   []string{"PROVIDER", "ENDPOINT", "LABELS"}, Style: phaseStyle, Fit: true,
	}
	if loads != nil {
		t.Header = []string{"CLUSTER", "PHASE", "MACHINES", "NOT-READY", "CHANGES", "WAITING-SINCE", "MESSAGE"}
	}
	for i, c := range v.Clusters {
		if loads != nil {
			l := loads[i]
			t.Add(c.Name, c.Phase, fmt.Sprintf("%d/%d", c.Ready, c.Desired), strconv.Itoa(l.NotReady), strconv.Itoa(l.Changes), ago(l.Since, time.Now()), l.Waiting)
			continue
		}
		t.Add(c.Name, c.Phase, fmt.Sprintf("%d/%d", c.Ready, c.Desired), c.Version, s.Clusters[i].Report.Revision.Short(),
			c.Provider, c.Endpoint, labels.FormatLabels(c.Labels), c.Message())
	}
	if form != output.FormatTable && form != output.FormatWide {
		return t.Write(w, form, v)
	}
	if v.Owner == "" {
		fmt.Fprintln(w, "no status found: no agent has run for this fleet yet, or its status is on another branch (--status-branch)")
	} else if all == 0 {
		fmt.Fprintln(w, "the status branch has no clusters")
	} else if err := t.Write(w, form, v); err != nil {
		return err
	}
	if v.Owner != "" {
		fmt.Fprintln(w)
		if len(v.Clusters) != all {
			fmt.Fprintf(w, "%d of %s\n", len(v.Clusters), output.Count(all, "cluster"))
		}
		fmt.Fprintf(w, "fleet %s at %s, owned by %s (epoch %d)\n", v.Fleet, shortRevision(s.Fleet.Revision), v.Owner, v.Epoch)
	}
	switch v.Signed {
	case "", statusview.SignedYes:
	case statusview.SignedNotChecked:
		fmt.Fprintln(w, "the signature of the owner was not checked: set --request-keys to check it")
	default:
		fmt.Fprintln(w, "signature of the owner: "+v.Signed)
	}
	if v.Applied != "" && v.Applied != v.Revision {
		fmt.Fprintf(w, "rejected: all clusters stay at %s\n", v.Applied)
	}
	if v.Home != nil {
		fmt.Fprintln(w, "home: "+v.Home.String())
	}
	if v.Moving != nil {
		fmt.Fprintf(w, "moving: to %s, step %s\n", v.Moving.To, v.Moving.Step)
	}
	if v.Rollout.Busy() {
		if err := showStages(w, v.Rollout); err != nil {
			return err
		}
	}
	for _, p := range v.Problems {
		fmt.Fprintln(w, "problem: "+p.String())
	}
	for _, o := range v.Orphans {
		fmt.Fprintln(w, "orphan: "+o+" was removed from Git and is not managed")
	}
	return nil
}

// shortRevision returns r as people compare it: main@944b4b35c0a8.
func shortRevision(r fleet.Revision) string {
	if r.IsZero() {
		return r.String()
	}
	return r.Ref + "@" + r.Short()
}

// showStages shows the stages of what comes in waves, and what people can do.
func showStages(w io.Writer, r *statusview.Rollout) error {
	fmt.Fprintln(w)
	t := output.Table{Header: []string{"STAGE", "STATE", "CLUSTERS", "CHANGING", "WAITING", "SINCE", "MESSAGE"}}
	for _, s := range r.Stages {
		message, since := s.Why, ""
		if s.Until != nil {
			message += " until " + s.Until.UTC().Format(time.RFC3339)
		}
		if s.Since != nil {
			since = s.Since.UTC().Format(time.RFC3339)
		}
		t.Add(s.Name, s.State, strconv.Itoa(s.Clusters), strconv.Itoa(s.Changing), strconv.Itoa(s.Waiting), since, strings.TrimSpace(message))
	}
	if err := t.Text(w); err != nil {
		return err
	}
	for _, s := range r.Stages {
		if what := s.What(); what != "" {
			fmt.Fprintf(w, "stage %s: %s\n", s.Name, what)
		}
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

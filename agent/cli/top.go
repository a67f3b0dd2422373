package cli

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/duration"

	"fairlead.dev/agent/output"
	"fairlead.dev/agent/statusview"
	"fairlead.dev/agent/wiring"
	"fairlead.dev/sources/status"
)

func newTop(built wiring.Built) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "top [PATH|URL] [NAMESPACE/NAME...]",
		GroupID: groupLook,
		Short:   "Show the clusters that have most to do",
		Long: `Show the clusters that have most to do, from the status branch: no cluster and no cloud
is asked. Names, which may have a *, and flags choose some of them.

By waiting, those come first where something has waited, or has not been as it should be,
for longest; by changes, those with most machines to make, replace or remove; by machines,
the largest. What the machines use of their processors is not known here.`,
		Example: `  fairlead top
  fairlead top -n prod --sort changes --limit 0
  fairlead top --watch`,
		Args: args(cobra.ArbitraryArgs),
	}
	form := outputFlag(cmd, output.FormatTable, output.FormatJSON, output.FormatYAML, output.FormatMarkdown, output.FormatName)
	f := addSource(cmd, built)
	f.addStatus(cmd)
	f.complete(clusterNames)
	choose := addChoose(cmd)
	watch := addWatch(cmd)
	orders := strings.Join(statusview.Orders(), ", ")
	order := cmd.Flags().String("sort", statusview.ByWaiting, "what comes first: "+orders)
	limit := cmd.Flags().Int("limit", 20, "clusters to show at most; 0 for all")
	declare(cmd, verbatim, []string{"sort"})
	// It fails only for a flag that does not exist.
	_ = cmd.RegisterFlagCompletionFunc("sort", cobra.FixedCompletions(statusview.Orders(), cobra.ShellCompDirectiveNoFileComp))
	cmd.RunE = func(cmd *cobra.Command, argv []string) error {
		if !slices.Contains(statusview.Orders(), *order) || *limit < 0 {
			return &usageError{fmt.Errorf("give --sort one of %s, and --limit no number below zero", orders)}
		}
		source, names := sourceAndNames(argv)
		chosen, err := choose.of(names)
		if err != nil {
			return err
		}
		p, branch, err := f.find(cmd, source)
		if err != nil {
			return err
		}
		return p.show(cmd, branch, output.Format(*form), *watch, func(w io.Writer, s status.Status) error {
			s, err := chosen.from(s)
			if err != nil {
				return err
			}
			return errors.Join(showTop(w, output.Format(*form), statusview.Loads(s, *order), *limit, time.Now()), s.Whole())
		})
	}
	return cmd
}

// showTop shows the first of all; limit 0 is no limit.
func showTop(w io.Writer, form output.Format, all []statusview.Load, limit int, now time.Time) error {
	shown := all
	if limit > 0 {
		shown = all[:min(limit, len(all))]
	}
	t := output.Table{Header: []string{"CLUSTER", "PHASE", "WAITED", "CHANGES", "NOT-READY", "MACHINES", "WAITING"}, Style: phaseStyle, Fit: true}
	for _, l := range shown {
		waited := ""
		if l.Since != nil {
			waited = duration.HumanDuration(max(0, now.Sub(*l.Since)))
		}
		t.Add(l.Cluster, l.Phase, waited, fmt.Sprint(l.Changes), fmt.Sprint(l.NotReady), fmt.Sprint(l.Machines), l.Waiting)
	}
	if err := t.Write(w, form, shown); err != nil {
		return err
	}
	if form == output.FormatTable {
		fmt.Fprintf(w, "\n%d of %s\n", len(shown), output.Count(len(all), "cluster"))
	}
	return nil
}

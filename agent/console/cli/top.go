package cli

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"fairlead.dev/agent/console/output"
	"fairlead.dev/agent/console/statusview"
	"fairlead.dev/agent/wiring"
	"fairlead.dev/sources/status"
)

func newTop(built wiring.Built) *cobra.Command {
	cmd := &cobra.Command{
		Use:    "top [PATH|URL] [NAMESPACE/NAME...]",
		Hidden: true, // deprecated
		Short:  "Show the clusters with the most pending work (deprecated: status --sort waiting)",
		Args:   args(cobra.ArbitraryArgs),
	}
	form := outputFlag(cmd, output.FormatTable, output.FormatJSON, output.FormatYAML, output.FormatMarkdown, output.FormatName)
	f := addSource(cmd, built)
	f.addStatus(cmd)
	f.complete(clusterNames)
	choose := addChoose(cmd)
	watch := addWatch(cmd)
	order := addSort(cmd, statusview.ByWaiting)
	limit := cmd.Flags().Int("limit", 20, "number of clusters to show at most; 0 for all")
	cmd.RunE = func(cmd *cobra.Command, argv []string) error {
		fmt.Fprintf(cmd.ErrOrStderr(), "fairlead top is deprecated: use 'fairlead status --sort %s'\n", order.order)
		if err := order.check(); err != nil {
			return err
		}
		if *limit < 0 {
			return &usageError{fmt.Errorf("invalid --limit %d: must not be negative", *limit)}
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
			return errors.Join(showTop(w, output.Format(*form), statusview.Loads(s, order.order), *limit, time.Now()), s.Whole())
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
	t := output.Table{Header: []string{"CLUSTER", "PHASE", "WAITING-SINCE", "CHANGES", "NOT-READY", "MACHINES", "WAITING"}, Style: phaseStyle, Fit: true}
	for _, l := range shown {
		t.Add(l.Cluster, l.Phase, ago(l.Since, now), fmt.Sprint(l.Changes), fmt.Sprint(l.NotReady), fmt.Sprint(l.Machines), l.Waiting)
	}
	if err := t.Write(w, form, shown); err != nil {
		return err
	}
	if form == output.FormatTable {
		fmt.Fprintf(w, "\n%d of %s\n", len(shown), output.Count(len(all), "cluster"))
	}
	return nil
}

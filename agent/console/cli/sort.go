package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/duration"

	"fairlead.dev/agent/console/statusview"
	"fairlead.dev/sources/status"
)

// A sortFlag is the flag --sort, for the order of clusters.
type sortFlag struct {
	order  string
	orders []string
}

// addSort adds --sort to cmd. Besides the orders of statusview it allows others.
func addSort(cmd *cobra.Command, initial string, others ...string) *sortFlag {
	f := &sortFlag{orders: slices.Concat(others, statusview.Orders())}
	cmd.Flags().StringVar(&f.order, "sort", initial, "order of clusters: "+strings.Join(f.orders, ", "))
	declare(cmd, verbatim, []string{"sort"})
	// It fails only for a flag that does not exist.
	_ = cmd.RegisterFlagCompletionFunc("sort", cobra.FixedCompletions(f.orders, cobra.ShellCompDirectiveNoFileComp))
	return f
}

// check refuses an order that does not exist.
func (f *sortFlag) check() error {
	if !slices.Contains(f.orders, f.order) {
		return &usageError{fmt.Errorf("invalid --sort %q: must be one of %s", f.order, strings.Join(f.orders, ", "))}
	}
	return nil
}

// sort sorts the clusters of s, and returns what each has to do, in the same order. By name it
// returns nil: they are sorted by name.
func (f *sortFlag) sort(s *status.Status) []statusview.Load {
	if !slices.Contains(statusview.Orders(), f.order) {
		return nil
	}
	loads := statusview.Loads(*s, f.order)
	byName := make(map[string]status.Cluster, len(loads))
	for _, c := range s.Clusters {
		byName[c.Report.Cluster.String()] = c
	}
	s.Clusters = make([]status.Cluster, 0, len(loads))
	for _, l := range loads {
		s.Clusters = append(s.Clusters, byName[l.Cluster])
	}
	return loads
}

// ago returns how long before now at is: "5m ago". It returns "" without a time.
func ago(at *time.Time, now time.Time) string {
	if at == nil {
		return ""
	}
	return duration.HumanDuration(max(0, now.Sub(*at))) + " ago"
}

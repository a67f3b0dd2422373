package cli

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"

	"fairlead.dev/agent/console/statusview"
	"fairlead.dev/agent/plans/scope"
	"fairlead.dev/agent/wiring"
	"fairlead.dev/fleet"
	"fairlead.dev/sources/status"
)

// chooseFlags are the flags that choose clusters of a fleet.
type chooseFlags struct {
	namespace, labels string
	problems          bool
}

// addChoose adds them to cmd.
func addChoose(cmd *cobra.Command) *chooseFlags {
	f := &chooseFlags{}
	cmd.Flags().StringVarP(&f.namespace, "namespace", "n", "", "namespace of the clusters")
	cmd.Flags().StringVarP(&f.labels, "selector", "l", "", "label selector for Clusters, as in kubectl")
	cmd.Flags().BoolVar(&f.problems, "problems", false, "only clusters that need attention: with a problem, a failure, a failed machine, pool or addon, a refused change, a stop that needs action, a deferred upgrade, unavailable, or removed from Git")
	settings(cmd, "problems")
	return f
}

// A choice is some clusters of a fleet.
type choice struct {
	names    []string // patterns of namespace/name, or of a name
	labels   labels.Selector
	flags    *chooseFlags
	anything bool // nothing is left out
}

// of returns what f and the names in argv choose. A name is NAMESPACE/NAME, or a NAME of
// whatever namespace, with * for anything but a slash.
func (f *chooseFlags) of(argv []string) (choice, error) {
	c := choice{names: argv, flags: f, anything: len(argv) == 0 && *f == chooseFlags{}}
	var err error
	if c.labels, err = labels.Parse(f.labels); err != nil {
		return c, &usageError{fmt.Errorf("--selector %q: %w", f.labels, err)}
	}
	for _, n := range argv {
		if _, err := path.Match(n, ""); err != nil || strings.Count(n, "/") > 1 || strings.Trim(n, "/") != n || n == "" {
			return c, &usageError{fmt.Errorf("invalid cluster name %q: must be like prod/eu-1, eu-1 or prod/eu-*", n)}
		}
	}
	return c, nil
}

// named reports whether k has the name.
func named(name string, k fleet.Key) bool {
	text := k.Name
	if strings.Contains(name, "/") {
		text = k.String()
	}
	ok, _ := path.Match(name, text)
	return ok
}

// has reports whether k is chosen by its name and namespace.
func (c choice) has(k fleet.Key) bool {
	return (c.flags.namespace == "" || c.flags.namespace == k.Namespace) &&
		(len(c.names) == 0 || slices.ContainsFunc(c.names, func(n string) bool { return named(n, k) }))
}

// read returns whose status has to be read for what is chosen in part; nil: that of all clusters.
// Only the status of a cluster says in which folder it is.
func (c choice) read(part scope.Scope) func(fleet.Key) bool {
	switch {
	case part != scope.All:
		return nil
	case len(c.names) > 0: // of whatever namespace: from says whether there is such a cluster
		return func(k fleet.Key) bool {
			return slices.ContainsFunc(c.names, func(n string) bool { return named(n, k) })
		}
	case c.flags.namespace != "":
		return c.has
	}
	return nil
}

// from returns what s says of the chosen clusters. The error names a cluster that s does not
// tell of, or cannot.
func (c choice) from(s status.Status) (status.Status, error) {
	if c.anything {
		return s, nil
	}
	for _, n := range c.names {
		if err := knows(s, n); err != nil {
			return s, err
		}
	}
	all := s.Clusters
	s.Clusters = nil
	for _, one := range all {
		r := one.Report
		if c.has(r.Cluster) && c.labels.Matches(labels.Set(r.Labels)) &&
			(!c.flags.problems || statusview.Troubled(r, slices.Contains(s.Fleet.Orphans, r.Cluster))) {
			s.Clusters = append(s.Clusters, one)
		}
	}
	s.Damaged = slices.DeleteFunc(slices.Clone(s.Damaged), func(d status.Damage) bool { return !c.has(d.Cluster) })
	s.Requests = slices.DeleteFunc(slices.Clone(s.Requests), func(r fleet.Request) bool { return !c.has(r.Cluster) })
	return s, nil
}

// knows returns an error where s tells of no cluster called name.
func knows(s status.Status, name string) error {
	for _, d := range s.Damaged {
		if named(name, d.Cluster) {
			return d.Err
		}
	}
	if slices.ContainsFunc(s.Clusters, func(c status.Cluster) bool { return named(name, c.Report.Cluster) }) {
		return nil
	}
	return notFound(name)
}

// notFound is the error for a name of no cluster on the status branch.
func notFound(name string) error {
	return &fleet.Error{Kind: fleet.NotFound, Err: fmt.Errorf("cluster %q not found. Run 'fairlead status' to list clusters", name)}
}

// find returns the cluster called name: NAMESPACE/NAME, or a NAME that one cluster has. The
// status has to tell of it.
func find(s status.Status, name string) (fleet.Key, error) {
	known := make([]fleet.Key, 0, len(s.Clusters))
	for _, c := range s.Clusters {
		known = append(known, c.Report.Cluster)
	}
	for _, d := range s.Damaged {
		known = append(known, d.Cluster)
	}
	for _, r := range s.Requests {
		known = append(known, r.Cluster)
	}
	for _, d := range s.Fleet.Rollout.Departed {
		known = append(known, d.Cluster)
	}
	return choose(known, name, notFound)
}

// choose returns the one of known that is called name: NAMESPACE/NAME, or a NAME that one of
// them has. missing returns the error if there is none.
func choose(known []fleet.Key, name string, missing func(name string) error) (fleet.Key, error) {
	if _, err := fleet.ParseKey(name); err != nil {
		return fleet.Key{}, &usageError{err}
	}
	slices.SortFunc(known, fleet.Key.Compare)
	found := slices.DeleteFunc(slices.Compact(known), func(k fleet.Key) bool { return name != k.Name && name != k.String() })
	switch len(found) {
	case 0:
		return fleet.Key{}, missing(name)
	case 1:
		return found[0], nil
	}
	names := make([]string, len(found))
	for i, k := range found {
		names[i] = k.String()
	}
	return fleet.Key{}, &usageError{fmt.Errorf("%d clusters have the name %s: use %s", len(found), name, strings.Join(names, " or "))}
}

// isSource reports whether arg names a source, and no cluster. In a clone a folder with the
// name of a cluster is that cluster.
func isSource(arg string) bool {
	if !wiring.IsFolder(arg) || strings.HasPrefix(arg, ".") || filepath.IsAbs(arg) || strings.Count(arg, "/") > 1 {
		return true
	}
	if _, err := os.Stat(arg); err != nil {
		return false
	}
	_, err := fleet.ParseKey(arg)
	return err != nil || !inFleet()
}

// sourceAndNames returns argv, whose first element may name a source, in two parts.
func sourceAndNames(argv []string) (source, names []string) {
	if len(argv) > 0 && isSource(argv[0]) {
		return argv[:1], argv[1:]
	}
	return nil, argv
}

package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"charm.land/lipgloss/v2"
	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/fleet"
	"fairlead.dev/sources/status"
)

func newTree() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:     "tree [NAMESPACE/NAME]",
		GroupID: groupLook,
		Short:   "Show a cluster, its machines and their conditions as a tree",
		Long: `Show a cluster, its machines and their conditions as a tree, from the status
branch. Without a name, all clusters.

Of the conditions, those are shown that are not as they should be; --all shows
the others too.`,
		Example: `  fairlead tree prod/eu-1 --source ./fleet
  fairlead tree --source https://git.example.com/fleet.git --all`,
		Args: args(cobra.MaximumNArgs(1)),
	}
	f := addSource(cmd)
	f.addStatus(cmd)
	cmd.Flags().BoolVar(&all, "all", false, "show the conditions that are as they should be as well")
	settings(cmd, "all")
	cmd.RunE = func(cmd *cobra.Command, argv []string) error {
		p, err := locate(cmd.Context(), f.from(nil, quiet(cmd.ErrOrStderr())))
		if err != nil {
			return err
		}
		branch, err := p.branch(cmd.Context(), f.branch)
		if err != nil {
			return err
		}
		s, err := p.status(cmd.Context(), branch)
		if err != nil {
			return err
		}
		if s.Owner.Agent == "" {
			if err := p.heard(cmd.Context(), branch); err != nil {
				return fmt.Errorf("there is no status here: %w", err)
			}
		}
		clusters := s.Clusters
		if len(argv) == 1 {
			k, err := fleet.ParseKey(argv[0])
			if err != nil {
				return &usageError{err}
			}
			if err := s.DamageOf(k); err != nil {
				return err
			}
			c, ok := s.Cluster(k)
			if !ok {
				return fmt.Errorf("the status branch does not tell of a cluster %s", k)
			}
			clusters = []status.Cluster{c}
		}
		if err := showTree(cmd.OutOrStdout(), clusters, all); err != nil || len(argv) == 1 {
			return err
		}
		return s.Whole()
	}
	return cmd
}

// A branch is a line of the tree with what hangs on it.
type branch struct {
	name       string
	conditions []metav1.Condition // as clusters have them; the first is shown beside the name
	note       string
	below      []branch
}

func showTree(w io.Writer, clusters []status.Cluster, all bool) error {
	t := table{header: []string{"NAME", "STATUS", "REASON", "SINCE", "MESSAGE"}, style: statusStyle}
	for _, c := range clusters {
		t.grow(treeOf(c), "", "", all)
	}
	return t.plain(w)
}

// treeOf puts a cluster, its pools and their machines in a tree.
func treeOf(c status.Cluster) branch {
	r := c.Report
	root := branch{name: "Cluster " + r.Cluster.String(), conditions: c.Cluster.Status.Conditions, note: string(r.Phase) + legs(r.Milestones)}
	for _, p := range r.Pools {
		if p.Kind == fleet.LoneMachine && p.Current > 0 {
			continue // below, it stands for itself
		}
		b := branch{
			name: fleet.ObjectKind(p.Role, p.Kind) + " " + string(p.Name),
			note: fmt.Sprintf("%d of %d ready, %d up to date, %s", p.Ready, p.Desired, p.UpToDate, p.Version),
		}
		for i, m := range r.Machines {
			if m.Machine.Pool == p.Name {
				b.below = append(b.below, machineBranch(m, c.Machines[i]))
			}
		}
		root.below = append(root.below, b)
	}
	for i, m := range r.Machines {
		if !slices.ContainsFunc(r.Pools, func(p fleet.PoolReport) bool { return p.Name == m.Machine.Pool && p.Kind != fleet.LoneMachine }) {
			root.below = append(root.below, machineBranch(m, c.Machines[i]))
		}
	}
	return root
}

// legs says how long a cluster took to come as far as it is.
func legs(m fleet.Milestones) string {
	var parts []string
	for _, l := range m.Legs() {
		if l.Phase == fleet.PhaseProvisioned {
			return fmt.Sprintf(" after %s (%s)", l.Took, strings.Join(parts, ", "))
		}
		parts = append(parts, string(l.Phase)+" "+l.Took.String())
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

func machineBranch(m fleet.MachineReport, o clusterv1.Machine) branch {
	note := string(m.Phase)
	if !m.UpToDate {
		note += ", outdated"
	}
	if took := m.Joined.Sub(m.Machine.Created); !m.Joined.IsZero() && !m.Machine.Created.IsZero() && took > 0 {
		note += ", joined after " + took.Round(time.Second).String()
	}
	if m.Machine.Message != "" {
		note += ": " + m.Machine.Message
	}
	return branch{name: "Machine " + string(m.Machine.Name), conditions: o.Status.Conditions, note: note}
}

// headline is the condition that stands for its object.
func (b branch) headline() (metav1.Condition, bool) {
	for _, name := range []string{"Available", "Ready"} {
		for _, c := range b.conditions {
			if c.Type == name {
				return c, true
			}
		}
	}
	return metav1.Condition{}, false
}

// grow adds b and what is below it. first and rest are the lines to draw before
// its name and before what is below.
func (t *table) grow(b branch, first, rest string, all bool) {
	head, ok := b.headline()
	if ok {
		t.add(first+b.name, string(head.Status), head.Reason, since(head), b.note)
	} else {
		t.add(first+b.name, "", "", "", b.note)
	}
	var shown []metav1.Condition
	for _, c := range b.conditions {
		if all || !good(c) {
			shown = append(shown, c)
		}
	}
	total := len(shown) + len(b.below)
	for i, c := range shown {
		fork, _ := forks(i == total-1)
		t.add(rest+fork+c.Type, string(c.Status), c.Reason, since(c), strings.ReplaceAll(c.Message, "\n", "; "))
	}
	for i, below := range b.below {
		fork, line := forks(len(shown)+i == total-1)
		t.grow(below, rest+fork, rest+line, all)
	}
}

func forks(last bool) (fork, line string) {
	if last {
		return "└─", "  "
	}
	return "├─", "│ "
}

// negative are the conditions that are as they should be when False.
func negative(name string) bool {
	switch name {
	case "Paused", "RollingOut", "ScalingUp", "ScalingDown", "Remediating", "Deleting", "Updating":
		return true
	}
	return false
}

func good(c metav1.Condition) bool {
	if negative(c.Type) {
		return c.Status == metav1.ConditionFalse
	}
	return c.Status == metav1.ConditionTrue
}

func since(c metav1.Condition) string {
	if c.LastTransitionTime.IsZero() {
		return ""
	}
	return c.LastTransitionTime.UTC().Format("2006-01-02 15:04:05Z")
}

// statusStyle colours a row by the status of its condition.
func statusStyle(row []string) lipgloss.Style {
	name := strings.TrimLeft(row[0], "├└─│ ")
	kind, _, object := strings.Cut(name, " ")
	st := lipgloss.NewStyle()
	switch {
	case row[1] == "" || row[1] == "Unknown":
		return st
	case object || !negative(kind):
		return st.Foreground(lipgloss.Color(map[string]string{"True": "2", "False": "1"}[row[1]]))
	case row[1] == "True":
		return st.Foreground(lipgloss.Color("3"))
	}
	return st
}

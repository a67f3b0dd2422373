package cli

import (
	"fmt"
	"io"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/agent/output"
	"fairlead.dev/agent/statusview"
	"fairlead.dev/agent/wiring"
	"fairlead.dev/fleet"
	"fairlead.dev/sources/status"
)

func newTree(built wiring.Built) *cobra.Command {
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
	f := addSource(cmd, built)
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
			if err := p.checkFollowed(cmd.Context(), branch); err != nil {
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

func showTree(w io.Writer, clusters []status.Cluster, all bool) error {
	t := output.Table{Header: []string{"NAME", "STATUS", "REASON", "SINCE", "MESSAGE"}, Style: statusStyle}
	for _, c := range clusters {
		addNode(&t, statusview.TreeOf(c), "", "", all)
	}
	return t.Text(w)
}

// addNode adds n and what is below it to t. first and rest are the lines to draw before its
// name, and before what is below. Each node is a row of a table, which lipgloss/tree cannot
// draw.
func addNode(t *output.Table, n statusview.Node, first, rest string, all bool) {
	head, ok := n.Headline()
	if ok {
		t.Add(first+n.Name, string(head.Status), head.Reason, since(head), n.Note)
	} else {
		t.Add(first+n.Name, "", "", "", n.Note)
	}
	var shown []metav1.Condition
	for _, c := range n.Conditions {
		if all || !statusview.Good(c) {
			shown = append(shown, c)
		}
	}
	total := len(shown) + len(n.Below)
	for i, c := range shown {
		fork, _ := forks(i == total-1)
		t.Add(rest+fork+c.Type, string(c.Status), c.Reason, since(c), strings.ReplaceAll(c.Message, "\n", "; "))
	}
	for i, below := range n.Below {
		fork, line := forks(len(shown)+i == total-1)
		addNode(t, below, rest+fork, rest+line, all)
	}
}

func forks(last bool) (fork, line string) {
	if last {
		return "└─", "  "
	}
	return "├─", "│ "
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
	case object || !statusview.Negative(kind):
		return st.Foreground(lipgloss.Color(map[string]string{"True": "2", "False": "1"}[row[1]]))
	case row[1] == "True":
		return st.Foreground(lipgloss.Color("3"))
	}
	return st
}

package cli

import (
	"errors"
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
		Use:     "tree [NAMESPACE/NAME...]",
		GroupID: groupLook,
		Short:   "Show clusters, their machines and conditions as a tree",
		Long: `Show clusters, their machines and conditions as a tree, from the status branch. Names,
which may have a *, and flags choose some of them; without any, all are shown.

Of the conditions, those are shown that are not as they should be; --all shows
the others too.`,
		Example: `  fairlead tree prod/eu-1
  fairlead tree -n prod --problems
  fairlead tree --source https://git.example.com/fleet.git --all`,
		Args: args(cobra.ArbitraryArgs),
	}
	form := outputFlag(cmd, output.FormatTable, output.FormatJSON, output.FormatYAML, output.FormatMarkdown, output.FormatWide, output.FormatName, output.FormatJSONPath)
	f := addSource(cmd, built)
	f.addStatus(cmd)
	f.complete(clusterNames)
	choose := addChoose(cmd)
	watch := addWatch(cmd)
	cmd.Flags().BoolVar(&all, "all", false, "show the conditions that are as they should be as well")
	settings(cmd, "all")
	cmd.RunE = func(cmd *cobra.Command, argv []string) error {
		chosen, err := choose.of(argv)
		if err != nil {
			return err
		}
		p, branch, err := f.find(cmd, nil)
		if err != nil {
			return err
		}
		return p.show(cmd, branch, output.Format(*form), *watch, func(w io.Writer, s status.Status) error {
			s, err := chosen.from(s)
			if err != nil {
				return err
			}
			return errors.Join(showTree(w, output.Format(*form), s.Clusters, s.Fleet.Rollout, all), s.Whole())
		})
	}
	return cmd
}

// treeView is the tree as JSON and YAML.
type treeView struct {
	Clusters []statusview.Node `json:"clusters"`
}

func showTree(w io.Writer, form output.Format, clusters []status.Cluster, r fleet.RolloutStatus, all bool) error {
	t := output.Table{Header: []string{"NAME", "STATUS", "REASON", "SINCE", "MESSAGE"}, Style: statusStyle, Fit: true}
	v := treeView{Clusters: []statusview.Node{}}
	for _, c := range clusters {
		n := statusview.TreeOf(c, r)
		v.Clusters = append(v.Clusters, n)
		if form == output.FormatName {
			addNames(&t, n)
			continue
		}
		addNode(&t, n, "", "", all)
	}
	return t.Write(w, form, v)
}

// addNames adds the names of n and of what is below it to t.
func addNames(t *output.Table, n statusview.Node) {
	t.Add(n.Name, "", "", "", "")
	for _, below := range n.Below {
		addNames(t, below)
	}
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

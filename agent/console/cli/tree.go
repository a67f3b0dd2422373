package cli

import (
	"errors"
	"io"
	"slices"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/agent/console/output"
	"fairlead.dev/agent/console/statusview"
	"fairlead.dev/agent/wiring"
	"fairlead.dev/fleet"
	"fairlead.dev/sources/status"
)

func newTree(built wiring.Built) *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:     "tree [NAMESPACE/NAME...]",
		GroupID: groupLook,
		Short:   "Show clusters, machines and conditions as a tree",
		Long: `Show clusters, machines and conditions as a tree, from the status branch. Select clusters
by name, which may contain *, and by flags. The default is all clusters.

Conditions are shown if they report a problem. Available machines of a pool are
counted if there are many. --all shows all conditions and machines.`,
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
	cmd.Flags().BoolVar(&all, "all", false, "show all conditions and machines, not only those with problems")
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
	for i := 0; i < len(n.Below); i++ {
		if good := well(n.Below[i:]); !all && good >= mostWell {
			i += good - 1
			fork, _ := forks(len(shown)+i == total-1)
			t.Add(rest+fork+output.Count(good, "machine"), "True", "Available", "", "--all shows them")
			continue
		}
		fork, line := forks(len(shown)+i == total-1)
		addNode(t, n.Below[i], rest+fork, rest+line, all)
	}
}

// mostWell is how many available machines in a row the tree shows as one line.
const mostWell = 5

// well returns how many of the first nodes are available machines, with no condition to show.
func well(nodes []statusview.Node) int {
	for i, n := range nodes {
		head, ok := n.Headline()
		bad := slices.ContainsFunc(n.Conditions, func(c metav1.Condition) bool { return !statusview.Good(c) })
		if !ok || head.Status != metav1.ConditionTrue || head.Reason != "Available" || bad || len(n.Below) > 0 || !strings.HasPrefix(n.Name, "Machine ") {
			return i
		}
	}
	return len(nodes)
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

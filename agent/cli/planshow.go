package cli

import (
	"fmt"
	"io"
	"strings"

	"charm.land/lipgloss/v2"

	"fairlead.dev/reconcile/plan"
)

// show writes the plan.
func (out *planned) show(w io.Writer, form format) error {
	t := table{header: []string{"", "CHANGE", "CLUSTER", "POOL", "MACHINE", "REASON"}}
	for _, c := range out.Changes {
		machine := c.Machine
		if c.By != "" {
			machine += " → " + c.By
		}
		if c.Addon != "" {
			machine = c.Addon
		}
		t.add(sign(plan.ChangeKind(c.Change)), c.Change, c.Cluster, c.Pool, machine, c.Reason)
	}
	switch form {
	case formatJSON, formatYAML:
		return t.write(w, form, out)
	case formatMarkdown:
		return out.markdown(w, &t)
	}
	if len(out.Changes) > 0 {
		t.style = changeStyle
		if err := t.plain(w); err != nil {
			return err
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintf(w, "%s at %s: %s\n", count(out.Clusters, "cluster"), out.at, out.summary())
	for _, line := range out.remarks() {
		fmt.Fprintln(w, line)
	}
	return nil
}

func (out *planned) markdown(w io.Writer, t *table) error {
	fmt.Fprintf(w, "### Fairlead plan: %s\n\n%s at `%s`.\n", out.summary(), count(out.Clusters, "cluster"), out.at)
	if len(out.Changes) > 0 {
		fmt.Fprintln(w)
		if err := t.markdown(w); err != nil {
			return err
		}
	}
	if remarks := out.remarks(); len(remarks) > 0 {
		fmt.Fprintln(w)
		for _, line := range remarks {
			fmt.Fprintf(w, "- %s\n", line)
		}
	}
	return nil
}

// remarks are what is to be said beside the changes, a line each.
func (out *planned) remarks() []string {
	var lines []string
	for _, p := range out.Problems {
		lines = append(lines, "problem: "+p.String())
	}
	for _, e := range out.Errors {
		lines = append(lines, "error: "+strings.ReplaceAll(e, "\n", "; "))
	}
	for _, r := range out.Rolls {
		lines = append(lines, "rolls: "+r.String())
	}
	for _, o := range out.Orphans {
		lines = append(lines, "orphan: "+o+" vanished from Git and stays as it is")
	}
	for _, n := range out.Notes {
		lines = append(lines, "note: "+n)
	}
	return lines
}

// summary counts the changes: "create 3 machines, replace 2 machines".
func (out *planned) summary() string {
	counts := make(map[string]int)
	for _, c := range out.Changes {
		counts[c.Change]++
	}
	var parts []string
	for _, k := range []struct {
		kind       plan.ChangeKind
		verb, noun string
	}{
		{plan.CreateCluster, "create", "cluster"},
		{plan.DeleteCluster, "delete", "cluster"},
		{plan.CreateMachine, "create", "machine"},
		{plan.ReplaceMachine, "replace", "machine"},
		{plan.DeleteMachine, "delete", "machine"},
		{plan.UpdateNode, "update", "node"},
		{plan.UpdateShared, "update", "infrastructure"},
		{plan.ApplyResources, "apply", "addon"},
		{plan.PruneResources, "prune", "addon"},
		{plan.InstallRelease, "install", "release"},
		{plan.UpgradeRelease, "upgrade", "release"},
		{plan.UninstallRelease, "remove", "release"},
	} {
		if n := counts[string(k.kind)]; n > 0 {
			parts = append(parts, k.verb+" "+count(n, k.noun))
		}
	}
	if counts[moveFleet] > 0 {
		parts = append(parts, "move the fleet")
	}
	switch {
	case len(out.Errors) > 0:
		parts = append(parts, "not everything could be looked at")
	case len(parts) == 0:
		return "nothing to do"
	}
	return strings.Join(parts, ", ")
}

func sign(k plan.ChangeKind) string {
	switch k {
	case plan.CreateCluster, plan.CreateMachine, plan.InstallRelease:
		return "+"
	case plan.DeleteCluster, plan.DeleteMachine, plan.PruneResources, plan.UninstallRelease:
		return "-"
	}
	return "~"
}

// changeStyle colours a row of the plan.
func changeStyle(row []string) lipgloss.Style {
	colours := map[string]string{"+": "2", "-": "1", "~": "3"}
	return lipgloss.NewStyle().Foreground(lipgloss.Color(colours[row[0]]))
}

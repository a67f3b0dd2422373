package preview

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"charm.land/lipgloss/v2"

	"fairlead.dev/agent/console/output"
	"fairlead.dev/reconcile/forecast"
)

// Write writes the plan to w.
func (p *Plan) Write(w io.Writer, form output.Format) error {
	t := output.Table{Header: []string{"", "CHANGE", "CLUSTER", "POOL", "MACHINE", "REASON"}}
	for _, c := range p.Changes {
		machine := c.Machine
		if c.By != "" {
			machine += " → " + c.By
		}
		machine = cmp.Or(c.Addon, c.Host, machine)
		t.Add(sign(forecast.ChangeKind(c.Change)), c.Change, cmp.Or(c.Cluster, ConfigFile), c.Pool, machine, c.Reason)
	}
	switch form {
	case output.FormatJSON, output.FormatYAML:
		return t.Write(w, form, p)
	case output.FormatMarkdown:
		return p.markdown(w, &t)
	}
	if len(p.Changes) > 0 {
		t.Style = changeStyle
		if err := t.Text(w); err != nil {
			return err
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintf(w, "%s at %s: %s\n", output.Count(p.Clusters, "cluster"), p.at, p.summary())
	for _, line := range p.remarks() {
		fmt.Fprintln(w, line)
	}
	return nil
}

func (p *Plan) markdown(w io.Writer, t *output.Table) error {
	fmt.Fprintf(w, "### Fairlead plan: %s\n\n%s at `%s`.\n", p.summary(), output.Count(p.Clusters, "cluster"), p.at)
	if len(p.Changes) > 0 {
		fmt.Fprintln(w)
		if err := t.Markdown(w); err != nil {
			return err
		}
	}
	if remarks := p.remarks(); len(remarks) > 0 {
		fmt.Fprintln(w)
		for _, line := range remarks {
			fmt.Fprintf(w, "- %s\n", line)
		}
	}
	return nil
}

// remarks are what is to be said beside the changes, a line each.
func (p *Plan) remarks() []string {
	var lines []string
	for _, q := range p.Problems {
		lines = append(lines, "problem: "+q.String())
	}
	for _, e := range p.Errors {
		lines = append(lines, "error: "+oneLine(e))
	}
	for _, t := range p.Turns {
		lines = append(lines, "turn: "+t.String())
	}
	for _, r := range p.Rollouts {
		lines = append(lines, "rolls: "+r.String())
	}
	for _, o := range p.Orphans {
		lines = append(lines, "orphan: "+o+" was removed from Git and is not managed")
	}
	for _, n := range p.Notes {
		lines = append(lines, "note: "+n)
	}
	return lines
}

// summary counts the changes: "create 3 machines, replace 2 machines".
func (p *Plan) summary() string {
	counts := make(map[string]int)
	for _, c := range p.Changes {
		counts[c.Change]++
	}
	var parts []string
	for _, k := range []struct {
		kind       forecast.ChangeKind
		verb, noun string
	}{
		{forecast.CreateCluster, "create", "cluster"},
		{forecast.DeleteCluster, "delete", "cluster"},
		{forecast.CreateMachine, "create", "machine"},
		{forecast.ReplaceMachine, "replace", "machine"},
		{forecast.DeleteMachine, "delete", "machine"},
		{forecast.RebootMachine, "reboot", "machine"},
		{forecast.UpdateNode, "update", "node"},
		{forecast.UpdateShared, "update", "infrastructure"},
		{forecast.CreatePool, "create", "pool"},
		{forecast.UpdatePool, "update", "pool"},
		{forecast.DeletePool, "delete", "pool"},
		{forecast.PrepareHost, "prepare", "host"},
		{forecast.ApplyResources, "apply", "addon"},
		{forecast.PruneResources, "prune", "addon"},
		{forecast.InstallRelease, "install", "release"},
		{forecast.UpgradeRelease, "upgrade", "release"},
		{forecast.UninstallRelease, "remove", "release"},
	} {
		if n := counts[string(k.kind)]; n > 0 {
			parts = append(parts, k.verb+" "+output.Count(n, k.noun))
		}
	}
	if counts[moveFleet] > 0 {
		parts = append(parts, "move the fleet")
	}
	parts = Headline(counts, parts...)
	switch {
	case len(p.Errors) > 0:
		parts = append(parts, "not everything could be looked at")
	case len(parts) == 0:
		return "nothing to do"
	}
	return strings.Join(parts, ", ")
}

func sign(k forecast.ChangeKind) string {
	if EndsPromise(string(k)) {
		return "!"
	}
	switch k {
	case forecast.CreateCluster, forecast.CreateMachine, forecast.CreatePool, forecast.InstallRelease:
		return "+"
	case forecast.DeleteCluster, forecast.DeleteMachine, forecast.DeletePool, forecast.PruneResources, forecast.UninstallRelease:
		return "-"
	}
	return "~"
}

// changeStyle colours a row of the plan.
func changeStyle(row []string) lipgloss.Style {
	colours := map[string]string{"+": "2", "-": "1", "~": "3", "!": "1"}
	return lipgloss.NewStyle().Foreground(lipgloss.Color(colours[row[0]]))
}

func oneLine(text string) string { return strings.ReplaceAll(text, "\n", "; ") }

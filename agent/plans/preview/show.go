package preview

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"fairlead.dev/agent/console/output"
	"fairlead.dev/agent/plans/document"
)

// Write writes the plan to w.
func (p *Plan) Write(w io.Writer, form output.Format) error {
	t := document.Table(p.Changes)
	switch form {
	case output.FormatJSON, output.FormatYAML:
		return t.Write(w, form, p)
	case output.FormatMarkdown:
		return p.markdown(w, t)
	}
	if len(p.Changes) > 0 {
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
	fmt.Fprintf(w, "### Fairlead plan: %s\n\n%s at %s.\n", p.summary(), output.Count(p.Clusters, "cluster"), output.Inert(p.at))
	if len(p.Changes) > 0 {
		fmt.Fprintln(w)
		if err := t.Markdown(w); err != nil {
			return err
		}
	}
	if remarks := p.remarks(); len(remarks) > 0 {
		fmt.Fprintln(w)
		for _, line := range remarks {
			fmt.Fprintf(w, "- %s\n", output.Inert(line))
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

// summary counts the changes: "replace 2 machines, create 3 machines".
func (p *Plan) summary() string {
	text := document.Summary(p.Changes)
	switch {
	case len(p.Errors) > 0 && text != "":
		return text + ", not everything could be observed"
	case len(p.Errors) > 0:
		return "not everything could be observed"
	}
	return cmp.Or(text, "nothing to do")
}

func oneLine(text string) string { return strings.ReplaceAll(text, "\n", "; ") }

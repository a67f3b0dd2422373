package output

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"charm.land/lipgloss/v2"
	"sigs.k8s.io/yaml"

	"fairlead.dev/fleet"
)

// A Format is how something is shown.
type Format string

// The formats.
const (
	FormatTable    Format = "table"
	FormatJSON     Format = "json"
	FormatYAML     Format = "yaml"
	FormatMarkdown Format = "markdown"
)

// A Table is rows under a header.
type Table struct {
	Header []string
	Style  func(row []string) lipgloss.Style // of a row on a terminal; nil is none

	rows [][]string
}

// Add appends a row of as many cells as the header has. Cells may hold what others say.
func (t *Table) Add(cells ...string) {
	for i, c := range cells {
		cells[i] = fleet.PlainText(c)
	}
	t.rows = append(t.rows, cells)
}

// Empty reports whether t has no row.
func (t *Table) Empty() bool { return len(t.rows) == 0 }

// Write shows t in the given format; v is what JSON and YAML show.
func (t *Table) Write(w io.Writer, f Format, v any) error {
	switch f {
	case FormatJSON:
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		return e.Encode(v)
	case FormatYAML:
		b, err := yaml.Marshal(v)
		if err != nil {
			return err
		}
		_, err = w.Write(b)
		return err
	case FormatMarkdown:
		return t.Markdown(w)
	}
	return t.Text(w)
}

// Text writes t as lines, with colours on a terminal.
func (t *Table) Text(w io.Writer) error {
	var aligned bytes.Buffer
	columns := tabwriter.NewWriter(&aligned, 0, 0, 3, ' ', 0)
	for _, row := range append([][]string{t.Header}, t.rows...) {
		fmt.Fprintln(columns, strings.Join(row, "\t")) // to memory
	}
	if err := columns.Flush(); err != nil {
		return err
	}
	fancy := isTerminal(w)
	if s, ok := w.(*screen); ok {
		w = s.File // cells are plain, and what is around them is ours
	}
	n := 0
	for line := range strings.Lines(aligned.String()) {
		text := strings.TrimRight(line, " \n")
		switch {
		case !fancy:
		case n == 0:
			text = lipgloss.NewStyle().Faint(true).Render(text)
		case t.Style != nil:
			text = t.Style(t.rows[n-1]).Render(text)
		}
		n++
		if _, err := fmt.Fprintln(w, text); err != nil {
			return err
		}
	}
	return nil
}

// Markdown writes t as Markdown.
func (t *Table) Markdown(w io.Writer) error {
	line := func(cells []string) error {
		escaped := make([]string, len(cells))
		for i, c := range cells {
			escaped[i] = strings.NewReplacer("|", `\|`, "\n", " ", "<", "&lt;").Replace(c)
		}
		_, err := fmt.Fprintf(w, "| %s |\n", strings.Join(escaped, " | "))
		return err
	}
	if err := line(t.Header); err != nil {
		return err
	}
	rule := make([]string, len(t.Header))
	for i := range rule {
		rule[i] = "---"
	}
	if err := line(rule); err != nil {
		return err
	}
	for _, row := range t.rows {
		if err := line(row); err != nil {
			return err
		}
	}
	return nil
}

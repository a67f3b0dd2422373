package output

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"charm.land/lipgloss/v2"
	"k8s.io/client-go/util/jsonpath"
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
	FormatWide     Format = "wide" // a table with all columns, at full width
	FormatName     Format = "name" // the names of the rows, a line each
	// FormatJSONPath stands for all formats that begin with it and a =, with a template of
	// kubectl's behind that.
	FormatJSONPath Format = "jsonpath"
)

// Template returns what is behind the = of a format of FormatJSONPath, and whether f is one.
func (f Format) Template() (string, bool) {
	kind, template, given := strings.Cut(string(f), "=")
	return template, given && Format(kind) == FormatJSONPath
}

// Check returns why f cannot be used.
func (f Format) Check() error {
	template, ok := f.Template()
	if !ok {
		return nil
	}
	if err := jsonpath.New("output").Parse(template); err != nil {
		return fmt.Errorf("%q is no template of JSONPath, as {.clusters[*].name}: %w", template, err)
	}
	return nil
}

// A Table is rows under a header.
type Table struct {
	Header []string
	Style  func(row []string) lipgloss.Style // of a row on a terminal; nil is none
	Wide   []string                          // columns, by their headers, that FormatWide alone has
	Name   int                               // index of the column with the names of rows
	Fit    bool                              // on a terminal, long cells are cut so that a row fits a line

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

// Write shows t in the given format; v is what JSON, YAML and JSONPath show.
func (t *Table) Write(w io.Writer, f Format, v any) error {
	if template, ok := f.Template(); ok {
		return writePath(w, template, v)
	}
	switch f {
	case FormatName:
		for _, row := range t.rows {
			if _, err := fmt.Fprintln(w, row[t.Name]); err != nil {
				return err
			}
		}
		return nil
	case FormatWide:
		all := *t
		all.Wide, all.Fit = nil, false
		return all.Text(w)
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

// writePath writes what template selects of v, as kubectl does.
func writePath(w io.Writer, template string, v any) error {
	p := jsonpath.New("output")
	if err := p.Parse(template); err != nil {
		return err
	}
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	var plain any // with the names of fields that JSON has
	if err := json.Unmarshal(b, &plain); err != nil {
		return err
	}
	var out bytes.Buffer
	if err := p.Execute(&out, plain); err != nil {
		return err
	}
	if out.Len() > 0 && !bytes.HasSuffix(out.Bytes(), []byte("\n")) {
		out.WriteByte('\n')
	}
	_, err = w.Write(out.Bytes())
	return err
}

// Text writes t as lines, with colours on a terminal.
func (t *Table) Text(w io.Writer) error {
	var aligned bytes.Buffer
	columns := tabwriter.NewWriter(&aligned, 0, 0, 3, ' ', 0)
	shown := t.shown()
	if t.Fit {
		fit(shown, Width(w))
	}
	for _, row := range shown {
		fmt.Fprintln(columns, strings.Join(row, "\t")) // to memory
	}
	if err := columns.Flush(); err != nil {
		return err
	}
	fancy := isTerminal(w)
	switch s := w.(type) { // cells are plain, and what is around them is ours
	case *screen:
		w = s.File
	case *canvas:
		w = s.text
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

// shown returns the header and the rows, without the columns that FormatWide alone has.
func (t *Table) shown() [][]string {
	rows := make([][]string, 0, len(t.rows)+1)
	for _, row := range append([][]string{t.Header}, t.rows...) {
		var cells []string
		for i, c := range row {
			if !slices.Contains(t.Wide, t.Header[i]) {
				cells = append(cells, c)
			}
		}
		rows = append(rows, cells)
	}
	return rows
}

// gap is the space between columns, and narrowest what is left of one that is cut.
const (
	gap       = 3
	narrowest = 8
)

// fit cuts cells of rows, the first of which is the header, so that no row is wider than
// width. The widest columns are cut first. A width of 0 is no bound.
func fit(rows [][]string, width int) {
	if width <= 0 {
		return
	}
	widths := make([]int, len(rows[0]))
	total := gap * (len(widths) - 1)
	for i := range widths {
		for _, row := range rows {
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i]))
		}
		total += widths[i]
	}
	for ; total > width; total-- {
		widest := 0
		for i, n := range widths {
			if n >= widths[widest] {
				widest = i // of equal ones the last, which says least
			}
		}
		if widths[widest] <= narrowest {
			break
		}
		widths[widest]--
	}
	for _, row := range rows {
		for i, c := range row {
			if utf8.RuneCountInString(c) > widths[i] {
				row[i] = string([]rune(c)[:widths[i]-1]) + "…"
			}
		}
	}
}

// Markdown writes t as Markdown.
func (t *Table) Markdown(w io.Writer) error {
	line := func(cells []string) error {
		escaped := make([]string, len(cells))
		for i, c := range cells {
			escaped[i] = strings.ReplaceAll(Inert(c), "|", `\|`)
		}
		_, err := fmt.Fprintf(w, "| %s |\n", strings.Join(escaped, " | "))
		return err
	}
	shown := t.shown()
	if err := line(shown[0]); err != nil {
		return err
	}
	rule := make([]string, len(shown[0]))
	for i := range rule {
		rule[i] = "---"
	}
	if err := line(rule); err != nil {
		return err
	}
	for _, row := range shown[1:] {
		if err := line(row); err != nil {
			return err
		}
	}
	return nil
}

// Inert returns text of others for a line of Markdown: as code, if it has characters that Markdown
// reads, or that call people.
func Inert(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if !strings.ContainsAny(text, "`*_[]<>&@#~$\\") {
		return text
	}
	return "`" + strings.ReplaceAll(text, "`", "'") + "`"
}

package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"charm.land/lipgloss/v2"
	"github.com/spf13/cobra"
	"golang.org/x/term"
	"sigs.k8s.io/yaml"

	"fairlead.dev/fleet"
)

// A format is how a command shows what it found.
type format string

// The formats.
const (
	formatTable    format = "table"
	formatJSON     format = "json"
	formatYAML     format = "yaml"
	formatMarkdown format = "markdown"
)

// outputFlag adds -o to cmd and returns what it chooses.
func outputFlag(cmd *cobra.Command, allowed ...format) *string {
	names := make([]string, len(allowed))
	for i, f := range allowed {
		names[i] = string(f)
	}
	out := cmd.Flags().StringP("output", "o", names[0], "how to show it: "+strings.Join(names, ", "))
	cmd.PreRunE = func(*cobra.Command, []string) error {
		if !slices.Contains(names, *out) {
			return &usageError{fmt.Errorf("there is no output %q here: use one of %s", *out, strings.Join(names, ", "))}
		}
		return nil
	}
	// The only error is that of a flag that does not exist.
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp))
	return out
}

// A table is rows under a header.
type table struct {
	header []string
	rows   [][]string
	style  func(row []string) lipgloss.Style // of a row on a terminal; nil is none
}

// add appends a row. Cells may hold what others say.
func (t *table) add(cells ...string) {
	for i, c := range cells {
		cells[i] = fleet.PlainText(c)
	}
	t.rows = append(t.rows, cells)
}

// write shows t in the given format; v is what JSON and YAML show.
func (t *table) write(w io.Writer, f format, v any) error {
	switch f {
	case formatJSON:
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		return e.Encode(v)
	case formatYAML:
		b, err := yaml.Marshal(v)
		if err != nil {
			return err
		}
		_, err = w.Write(b)
		return err
	case formatMarkdown:
		return t.markdown(w)
	}
	return t.plain(w)
}

func (t *table) plain(w io.Writer) error {
	width := make([]int, len(t.header))
	all := append([][]string{t.header}, t.rows...)
	for _, row := range all {
		for i, cell := range row {
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	fancy := isTerminal(w)
	if s, ok := w.(*screen); ok {
		w = s.File // cells are plain, and what is around them is ours
	}
	for n, row := range all {
		var line strings.Builder
		for i, cell := range row {
			line.WriteString(cell)
			if i < len(row)-1 {
				line.WriteString(strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell)+3))
			}
		}
		text := strings.TrimRight(line.String(), " ")
		switch {
		case !fancy:
		case n == 0:
			text = lipgloss.NewStyle().Faint(true).Render(text)
		case t.style != nil:
			text = t.style(row).Render(text)
		}
		if _, err := fmt.Fprintln(w, text); err != nil {
			return err
		}
	}
	return nil
}

func (t *table) markdown(w io.Writer) error {
	line := func(cells []string) error {
		escaped := make([]string, len(cells))
		for i, c := range cells {
			escaped[i] = strings.NewReplacer("|", `\|`, "\n", " ", "<", "&lt;").Replace(c)
		}
		_, err := fmt.Fprintf(w, "| %s |\n", strings.Join(escaped, " | "))
		return err
	}
	if err := line(t.header); err != nil {
		return err
	}
	rule := make([]string, len(t.header))
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

// A screen is a terminal that commands write to. What is drawn on purpose is written to
// the File.
type screen struct {
	plain
	File *os.File // not embedded: its other methods would lead around plain
}

// A plain is where commands write texts to, be it a terminal, a pipe or a file: what
// steers a terminal does not get through, whoever it comes from, since what is in a file
// or a comment of a forge is looked at later. A text is written at once.
type plain struct{ to io.Writer }

// Write implements io.Writer.
func (p plain) Write(b []byte) (int, error) {
	if _, err := io.WriteString(p.to, unsteered(string(b))); err != nil {
		return 0, err
	}
	return len(b), nil
}

// exact returns what writes bytes to w as they are, for what another program is to read:
// manifests, a kubeconfig, the value of a secret. A terminal is not steered by them either.
func exact(w io.Writer) io.Writer {
	if p, ok := w.(plain); ok {
		return p.to
	}
	return w
}

// unsteered returns text without control characters but for ends of lines and tabs.
func unsteered(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, text)
}

// plainly returns what writes texts to w: a terminal is a screen.
func plainly(w io.Writer) io.Writer {
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return &screen{plain{f}, f}
	}
	return plain{w}
}

// file returns the file behind w, or nil.
func file(w io.Writer) *os.File {
	switch w := w.(type) {
	case *screen:
		return w.File
	case *os.File:
		return w
	}
	return nil
}

// isTerminal reports whether w is a terminal that colours and cursor moves may
// be written to. NO_COLOR and TERM=dumb say that they may not.
func isTerminal(w io.Writer) bool {
	f := file(w)
	return f != nil && term.IsTerminal(int(f.Fd())) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// drawable returns the width of w, where it is a terminal that may be drawn on,
// else 0.
func drawable(w io.Writer) int {
	if !isTerminal(w) {
		return 0
	}
	width, _, err := term.GetSize(int(file(w).Fd()))
	if err != nil {
		return 0
	}
	return width
}

package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"charm.land/lipgloss/v2"
	"github.com/spf13/cobra"
	"golang.org/x/term"
	"sigs.k8s.io/yaml"
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

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

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

// isTerminal reports whether w is a terminal that colours and cursor moves may
// be written to. NO_COLOR and TERM=dumb say that they may not.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd())) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// drawable returns the width of w, where it is a terminal that may be drawn on,
// else 0.
func drawable(w io.Writer) int {
	if !isTerminal(w) {
		return 0
	}
	width, _, err := term.GetSize(int(w.(*os.File).Fd()))
	if err != nil {
		return 0
	}
	return width
}

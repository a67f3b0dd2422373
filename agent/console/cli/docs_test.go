package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"fairlead.dev/agent/wiring"
	"fairlead.dev/providers/all"
)

// program is a build of fairlead.
func program(version string) Program {
	return Program{Version: version, Built: wiring.Built{Providers: all.Factories(), Distributions: all.Distributions, Kinds: all.Kinds(), ControlPlanes: all.ControlPlanes, Helm: all.Helm}}
}

// TestGeneratedCLI holds docs/reference/cli.md against the commands. UPDATE=1 writes it.
func TestGeneratedCLI(t *testing.T) {
	root := New(program("dev"), Streams{In: strings.NewReader(""), Out: &bytes.Buffer{}, Err: &bytes.Buffer{}})
	root.InitDefaultCompletionCmd()
	var b strings.Builder
	b.WriteString("# The command line\n\nWritten by `make generate` from the commands.\n\n" + paragraphs(root.Long) + "\n")
	for _, c := range root.Commands() {
		if c.Hidden || c.Name() == "help" {
			continue
		}
		documentAll(&b, c)
	}
	golden(t, "../../../docs/reference/cli.md", b.String())
}

// documentAll writes the documentation of c and of the commands below it.
func documentAll(b *strings.Builder, c *cobra.Command) {
	documented(b, c)
	if c.Name() == "completion" {
		return
	}
	for _, below := range c.Commands() {
		documentAll(b, below)
	}
}

func documented(b *strings.Builder, c *cobra.Command) {
	fmt.Fprintf(b, "\n## %s\n\n", c.CommandPath())
	long := c.Long
	if long == "" {
		long = c.Short + "."
	}
	fmt.Fprintf(b, "%s\n", paragraphs(long))
	if c.Runnable() {
		fmt.Fprintf(b, "\n    %s\n", c.UseLine())
	}
	if c.Example != "" {
		fmt.Fprintf(b, "\nExamples:\n\n```\n%s\n```\n", unindent(c.Example))
	}
	var flags [][3]string
	others := false
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if !own(c, f) && c.Name() != "options" {
			others = others || !f.Hidden
			return
		}
		name := "`--" + f.Name + "`"
		if f.Shorthand != "" {
			name = "`-" + f.Shorthand + "`, " + name
		}
		usage := f.Usage
		if declared(f, confirmation) {
			usage += ". Not from the environment"
		}
		flags = append(flags, [3]string{name, f.DefValue, usage})
	})
	if others {
		b.WriteString("\nFlags that commands share: [fairlead options](#fairlead-options).\n")
	}
	if len(flags) == 0 {
		return
	}
	b.WriteString("\n| flag | default | |\n|---|---|---|\n")
	for _, f := range flags {
		fmt.Fprintf(b, "| %s | %s | %s |\n", f[0], f[1], strings.ReplaceAll(f[2], "<", "&lt;"))
	}
}

func unindent(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimPrefix(lines[i], "  ")
	}
	return strings.Join(lines, "\n")
}

// golden compares text with a file, or writes it with UPDATE=1.
func golden(t *testing.T, file, text string) {
	t.Helper()
	path := filepath.FromSlash(file)
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), text); diff != "" {
		t.Errorf("%s is not what the code says: run `make generate` (-file +code):\n%s", file, diff)
	}
}

// paragraphs returns a help text as Markdown. Indented lines become code.
func paragraphs(text string) string {
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, "  ") {
			lines[i] = "    " + strings.TrimPrefix(l, "  ")
		}
	}
	return strings.Join(lines, "\n")
}

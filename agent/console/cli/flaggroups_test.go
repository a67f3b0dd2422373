package cli

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Each flag of agent is under a heading, and a duration says so.
func TestFlagsOfAgentAreGrouped(t *testing.T) {
	var out bytes.Buffer
	root := New(program("dev"), Streams{Out: &out, Err: &out})
	cmd, _, err := root.Find([]string{"agent"})
	if err != nil {
		t.Fatal(err)
	}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if groupOf(f.Name) == "Other" && f.Name != "help" {
			t.Errorf("--%s is in no group of flagGroups", f.Name)
		}
		kind, _ := pflag.UnquoteUsage(f)
		for _, end := range []string{"-tick", "-settle", "-retry"} {
			if strings.HasSuffix(f.Name, end) && kind != "duration" {
				t.Errorf("--%s is shown as a %s", f.Name, kind)
			}
		}
	})
}

// A line that is cut says so, and ends in no open parenthesis.
func TestCutLines(t *testing.T) {
	for line, want := range map[string]string{
		"--a  one two":              "--a  one two",
		"--a  one two, three and":   "--a  one two …",
		"--a  one (by default two)": "--a  one …",
	} {
		if got := cut(line, 18); got != want {
			t.Errorf("%q is cut to %q, want %q", line, got, want)
		}
	}
}

// said returns what fairlead prints.
func said(t *testing.T, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	root := New(program("dev"), Streams{Out: &out, Err: &out})
	root.SetArgs(args)
	if err := root.Execute(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// everyCommand calls do with each command that has none below it.
func everyCommand(do func(cmd *cobra.Command, names []string)) {
	var walk func(cmd *cobra.Command, names []string)
	walk = func(cmd *cobra.Command, names []string) {
		if !cmd.HasSubCommands() {
			do(cmd, names)
		}
		for _, c := range cmd.Commands() {
			if !c.Hidden && c.Name() != "help" {
				walk(c, append(slices.Clone(names), c.Name()))
			}
		}
	}
	walk(New(program("dev"), Streams{}), nil)
}

// The help of each command fits on a screen, and names each flag or the group of the flag.
// `fairlead help` describes all flags, or names them and fairlead options, which describes them.
func TestHelpFitsOnAScreen(t *testing.T) {
	everyCommand(func(cmd *cobra.Command, names []string) {
		name := strings.Join(names, " ")
		help, all := said(t, append(slices.Clone(names), "--help")...), said(t, append([]string{"help"}, names...)...)
		if _, many := cmd.Annotations[grouped]; many {
			described := said(t, append([]string{"options"}, names...)...)
			source, credentials := strings.Index(described, "Source:\n"), strings.Index(described, "\nCredentials:\n")
			if source < 0 || credentials < source {
				t.Errorf("the flags of %s are not in the order of their groups:\n%s", name, described)
			}
			all += described
		}
		lines := strings.Split(strings.TrimSuffix(help, "\n"), "\n")
		if len(lines) > 24 {
			t.Errorf("the help of %s has %d lines:\n%s", name, len(lines), help)
		}
		for _, line := range lines {
			if len([]rune(line)) > 80 {
				t.Errorf("the help of %s has a line of %d characters:\n%s", name, len([]rune(line)), line)
			}
		}
		flags, _ := ownFlags(cmd)
		for _, f := range flags {
			flag := regexp.MustCompile(`--` + f.Name + `\b[^-]`)
			if !flag.MatchString(help+" ") && (groupOf(f.Name) == other || !strings.Contains(strings.ReplaceAll(help, "\n ", ""), groupOf(f.Name))) {
				t.Errorf("--%s of %s is missing in its help", f.Name, name)
			}
			if !flag.MatchString(all) {
				t.Errorf("--%s of %s is missing in fairlead help %s", f.Name, name, name)
			}
		}
		if regexp.MustCompile(`:\n\nUsage:`).MatchString(help) {
			t.Errorf("the help of %s introduces what is not there:\n%s", name, help)
		}
		if cmd.HasExample() && !strings.Contains(help, "\nExamples:\n  ") {
			t.Errorf("the help of %s has no example:\n%s", name, help)
		}
	})
}

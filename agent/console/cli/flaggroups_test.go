package cli

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

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

// The help of commands that run an agent fits on a screen, describes the main flags and names all
// others. `fairlead options` describes all.
func TestHelpFitsOnAScreen(t *testing.T) {
	for _, name := range []string{"agent", "bootstrap", "pivot"} {
		said := func(args ...string) string {
			t.Helper()
			var out bytes.Buffer
			root := New(program("dev"), Streams{Out: &out, Err: &out})
			root.SetArgs(args)
			if err := root.Execute(); err != nil {
				t.Fatal(err)
			}
			return out.String()
		}
		help, all := said(name, "--help"), said("options", name)
		if n := strings.Count(help, "\n"); n > 65 {
			t.Errorf("the help of %s has %d lines:\n%s", name, n, help)
		}
		if !strings.Contains(help, "--source string") || !strings.Contains(help, "fairlead options "+name) {
			t.Errorf("the help of %s describes no main flag, or does not name fairlead options:\n%s", name, help)
		}
		source, credentials := strings.Index(all, "Source:\n"), strings.Index(all, "\nCredentials:\n")
		if source < 0 || credentials < source {
			t.Errorf("the flags of %s are not in the order of their groups:\n%s", name, all)
		}
		cmd, _, err := New(program("dev"), Streams{}).Find([]string{name})
		if err != nil {
			t.Fatal(err)
		}
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			flag := regexp.MustCompile(`--` + f.Name + `\b[^-]`)
			if !f.Hidden && f.Name != "help" && (!flag.MatchString(help+" ") || !flag.MatchString(all)) {
				t.Errorf("--%s of %s is missing in its help, or in fairlead options", f.Name, name)
			}
		})
	}
}

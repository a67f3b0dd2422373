package cli

import (
	"bytes"
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
	root.SetArgs([]string{"agent", "--help"})
	if err := root.Execute(); err != nil {
		t.Fatal(err)
	}
	source, credentials := strings.Index(out.String(), "\nSource:\n"), strings.Index(out.String(), "\nCredentials:\n")
	if source < 0 || credentials < source || strings.Index(out.String(), "--source string") < source || strings.Contains(out.String(), "\nFlags:") {
		t.Errorf("the flags are not in the order of their groups:\n%s", out.String())
	}
}

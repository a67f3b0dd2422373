package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// eachFlag calls do with the flags of all commands.
func eachFlag(do func(path string, f *pflag.Flag)) {
	root := New(program("dev"), Streams{In: strings.NewReader(""), Out: &bytes.Buffer{}, Err: &bytes.Buffer{}})
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		c.Flags().VisitAll(func(f *pflag.Flag) { do(strings.TrimPrefix(c.CommandPath(), "fairlead "), f) })
		for _, below := range c.Commands() {
			walk(below)
		}
	}
	walk(root)
}

// Each switch is declared by confirms or by settings.
func TestEachSwitchIsDeclared(t *testing.T) {
	eachFlag(func(path string, f *pflag.Flag) {
		if f.Value.Type() == "bool" && declared(f, confirmation) == declared(f, setting) {
			t.Errorf("%s --%s: declare it with confirms where it agrees to something, or with settings", path, f.Name)
		}
	})
}

// No environment variable sets a flag that confirms something.
func TestConfirmationsAreNotFromTheEnvironment(t *testing.T) {
	var confirming []string
	eachFlag(func(path string, f *pflag.Flag) {
		if !declared(f, confirmation) {
			return
		}
		confirming = append(confirming, path+" "+f.Name)
		name := "FAIRLEAD_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
		t.Run(path+" "+f.Name, func(t *testing.T) {
			t.Setenv(name, "1")
			root := New(program("dev"), Streams{In: strings.NewReader(""), Out: &bytes.Buffer{}, Err: &bytes.Buffer{}})
			cmd, _, err := root.Find(strings.Fields(path))
			if err != nil {
				t.Fatal(err)
			}
			err = environment(cmd, nil)
			if exitCode(err) != 64 || !strings.Contains(err.Error(), name) {
				t.Errorf("%s=1: %v, exit code %d", name, err, exitCode(err))
			}
			if cmd.Flags().Changed(f.Name) {
				t.Errorf("%s=1 was taken", name)
			}
			if t.Setenv(name, ""); environment(cmd, nil) != nil {
				t.Errorf("an empty %s is refused", name)
			}
		})
	})
	want := []string{
		"adopt accept-drift", "adopt undo", "agent take-over", "approve changes", "approve plan",
		"bootstrap allow-changes", "bootstrap identity-file", "bootstrap take-over", "bootstrap undo",
		"orphans delete", "orphans yes", "pivot exit", "pivot here", "pivot undo",
		"release approve", "release now", "release skip", "render show-secrets", "rollback push", "secrets get show",
	}
	if diff := cmp.Diff(want, confirming); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// An environment variable sets each of the other flags.
func TestFlagsFromTheEnvironment(t *testing.T) {
	t.Setenv("FAIRLEAD_WAIT_FOR_OWNERSHIP", "true")
	t.Setenv("FAIRLEAD_NAME", "one")
	cmd := newAgent(program("dev"))
	if err := cmd.Flags().Set("name", "two"); err != nil {
		t.Fatal(err)
	}
	if err := environment(cmd, nil); err != nil {
		t.Fatal(err)
	}
	if got := cmd.Flags().Lookup("wait-for-ownership").Value.String(); got != "true" {
		t.Errorf("--wait-for-ownership is %s", got)
	}
	if got := cmd.Flags().Lookup("name").Value.String(); got != "two" {
		t.Errorf("--name is %s, though the command line comes first", got)
	}
}

package cli

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"fairlead.dev/agent/console/contexts"
	"fairlead.dev/agent/wiring"
)

// A clone of Flux is no fleet, though it has a folder clusters: the current context counts there.
func TestInFleet(t *testing.T) {
	for name, c := range map[string]struct {
		folders []string
		file    string
		want    bool
	}{
		"nothing":                 {nil, "", false},
		"clusters":                {[]string{"clusters/prod/eu-1"}, "", true},
		"of Flux":                 {[]string{"clusters/prod/flux-system"}, "", false},
		"of Flux and of Fairlead": {[]string{"clusters/prod/flux-system"}, "fleet.yaml", true},
		"fleet.yaml alone":        {nil, "fleet.yaml", true},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			for _, folder := range c.folders {
				if err := os.MkdirAll(filepath.Join(root, folder), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			if c.file != "" {
				if err := os.WriteFile(filepath.Join(root, c.file), nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			t.Chdir(root)
			if got := inFleet(); got != c.want {
				t.Errorf("inFleet() = %v", got)
			}
		})
	}
}

// TestFolderClusters: a folder clusters without fleet.yaml is used in the place of the current context, with a
// note, and a folder without clusters has an error that says what is missing.
func TestFolderClusters(t *testing.T) {
	config := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", config)
	t.Setenv("HOME", config)
	file, err := contexts.File(os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, content string) {
		t.Helper()
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte(content), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	root := t.TempDir()
	write(filepath.Join(root, "clusters", "README"), "")
	t.Chdir(root)
	run := func() (string, error) {
		cmd := &cobra.Command{Use: "x"}
		var out strings.Builder
		cmd.SetErr(&out)
		noteUnused(cmd)
		return out.String(), selection{settings: wiring.Settings{Source: root}}.empty()
	}
	if note, err := run(); note != "" || !strings.Contains(err.Error(), "It has no fleet.yaml: if it is no fleet, change to a clone of one") {
		t.Errorf("without a context: %q, %v", note, err)
	}
	known := contexts.Contexts{Current: "prod", List: []contexts.Context{{Name: "prod", Flags: contexts.Flags{"source": {"https://git.example.com/fleet.git"}}}}}
	if err := known.Write(file); err != nil {
		t.Fatal(err)
	}
	if note, _ := run(); !strings.Contains(note, "which has a folder clusters and no fleet.yaml. Set --context prod for the current context.") {
		t.Errorf("the note is %q", note)
	}
	write(filepath.Join(root, "fleet.yaml"), "")
	if note, err := run(); note != "" || strings.Contains(err.Error(), "It has no fleet.yaml") {
		t.Errorf("with fleet.yaml: %q, %v", note, err)
	}
}

package cli

import (
	"os"
	"path/filepath"
	"testing"
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

package images

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The list says the version under which a program is kept, its wrapper the one
// that is built.
func TestVersionsAreThoseOfTheWrappers(t *testing.T) {
	seen := make(map[string]string)
	for _, p := range programs(Versions()) {
		if !strings.HasPrefix(p.pkg, "k8s.io/kubernetes/") {
			continue
		}
		version, ok := seen[p.wrapper]
		if !ok {
			c := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Version}}", "k8s.io/kubernetes")
			c.Dir = filepath.Join("../../../..", p.wrapper)
			out, err := c.CombinedOutput()
			if err != nil {
				t.Fatalf("%s: %v: %s", p.wrapper, err, out)
			}
			version = strings.TrimSpace(string(out))
			seen[p.wrapper] = version
		}
		if version != p.version {
			t.Errorf("%s/go.mod requires Kubernetes %s, the list says %s", p.wrapper, version, p.version)
		}
	}
	if len(seen) != len(Versions()) {
		t.Errorf("%d wrappers for %d versions", len(seen), len(Versions()))
	}
}

// A cluster is upgraded by one minor at a time.
func TestVersionsAreOneMinorApart(t *testing.T) {
	newest, err := minor(Versions()[0])
	if err != nil || newest != "1.36" {
		t.Errorf("the minor of %s is %q, %v", Versions()[0], newest, err)
	}
	if older, err := minor(Versions()[1]); err != nil || older != "1.35" {
		t.Errorf("the minor of %s is %q, %v", Versions()[1], older, err)
	}
	if _, err := minor("v1.2.3"); err == nil || !strings.Contains(err.Error(), "v1.36.3") {
		t.Errorf("a version that there is not: %v, want those that there are", err)
	}
}

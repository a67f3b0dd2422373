package binaries

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The list says the version under which a binary is kept, its wrapper the one
// that is built.
func TestVersionsAreThoseOfTheWrappers(t *testing.T) {
	for _, b := range List() {
		if b.Wrapper == "" {
			continue // its own module is built, at this version
		}
		c := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Version}}", b.Module)
		c.Dir = b.Wrapper
		out, err := c.CombinedOutput()
		if got := strings.TrimSpace(string(out)); err != nil || got != b.Version {
			t.Errorf("%s/go.mod requires %s %s, the list says %s (%v)", b.Wrapper, b.Module, got, b.Version, err)
		}
	}
}

func TestPath(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("FAIRLEAD_KUBE", dir)
	b, err := Find("etcd")
	if err != nil {
		t.Fatal(err)
	}
	if path, err := b.Path(); err != nil || path != filepath.Join(dir, "etcd-"+b.Version) {
		t.Errorf("etcd lies at %s, %v", path, err)
	}
	if _, err := Path("etcd"); err == nil || !strings.Contains(err.Error(), "run make kube") {
		t.Errorf("one that is not built: %v, want what to run", err)
	}
	if _, err := Path("etcdd"); err == nil || !strings.Contains(err.Error(), "kube-apiserver") {
		t.Errorf("one that there is not: %v, want those that there are", err)
	}
}

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
	for _, v := range Versions() {
		from, err := wrapper(v)
		if err != nil {
			t.Fatal(err)
		}
		c := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Version}}", "k8s.io/kubernetes")
		c.Dir = filepath.Join("../../kube/binaries", from)
		out, err := c.CombinedOutput()
		if got := strings.TrimSpace(string(out)); err != nil || got != v {
			t.Errorf("%s/go.mod requires Kubernetes %s, the list says %s (%v)", from, got, v, err)
		}
	}
}

// A cluster is upgraded by one minor at a time.
func TestVersionsAreOneMinorApart(t *testing.T) {
	if v := Versions(); len(v) != 2 || !strings.HasPrefix(v[0], "v1.36.") || !strings.HasPrefix(v[1], "v1.35.") {
		t.Errorf("the versions are %v", v)
	}
	if _, err := programs([]string{"v1.2.3"}); err == nil || !strings.Contains(err.Error(), "v1.36.3") {
		t.Errorf("a version that there is not: %v, want those that there are", err)
	}
}

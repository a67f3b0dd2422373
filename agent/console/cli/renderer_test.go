package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/agent/plans/scope"
	"fairlead.dev/agent/wiring"
	"fairlead.dev/render"
)

// TestOneRenderer: what a plan compares with is rendered from what differs, of a repository.
func TestOneRenderer(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) {
		t.Helper()
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	git := func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	git("init", "--quiet", "--initial-branch=main")
	for _, name := range []string{"a", "b", "c"} {
		write("clusters/"+name+"/kustomization.yaml", "resources: [c.yaml]\n")
		write("clusters/"+name+"/c.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: first}\n")
	}
	git("add", "--all")
	git("commit", "--quiet", "--message=first")
	before := git("rev-parse", "HEAD")
	git("branch", "before")
	write("clusters/b/c.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: second}\n")
	git("commit", "--quiet", "--all", "--message=second")

	var mu sync.Mutex
	var built []int
	o := wiring.RenderOptions{Observe: func(s render.Stats) {
		mu.Lock()
		defer mu.Unlock()
		built = append(built, s.Built)
	}}
	p := selection{settings: wiring.Settings{Source: "file://" + filepath.ToSlash(dir), Built: program("test").Built}, scope: scope.All}
	p, err := p.withRenderer(o)
	if err != nil {
		t.Fatal(err)
	}
	now, err := p.loadAll(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	b, err := p.base(t.Context(), "before")
	if err != nil {
		t.Fatal(err)
	}
	then, err := b.loadAll(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if now.Revision.Digest == then.Revision.Digest || then.Revision.Hash() != before {
		t.Errorf("compares %s with %s", now.Revision, then.Revision)
	}
	if diff := cmp.Diff([]int{3, 1}, built); diff != "" {
		t.Errorf("overlays that were built, -want, +got:\n%s", diff)
	}
	elsewhere, err := p.base(t.Context(), "HEAD")
	if err != nil || elsewhere.renderer != p.renderer {
		t.Errorf("another revision of the repository has another renderer, or %v", err)
	}
	p.settings.Source = dir
	if elsewhere, err = p.base(t.Context(), dir); err != nil || elsewhere.renderer != nil {
		t.Errorf("another folder has the renderer of this one, or %v", err)
	}
}

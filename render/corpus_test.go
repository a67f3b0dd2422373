package render_test

import (
	"context"
	"io/fs"
	"os"
	"path"
	"strings"
	"testing"

	"fairlead.dev/render"
	"fairlead.dev/test/run/needs"
)

// dirTree is a sources.Tree of a folder that does not change.
type dirTree struct{ fs.FS }

// Digest implements sources.Tree.
func (t dirTree) Digest(name string) (string, error) {
	_, err := fs.Stat(t, name)
	return name, err
}

// corpus returns the manifests of public fleets.
func corpus(t *testing.T) dirTree {
	t.Helper()
	return dirTree{os.DirFS(needs.Corpus(t))}
}

// Every manifest and every kustomization of the corpus renders.
func TestCorpus(t *testing.T) {
	// One file is no YAML before substitution: a line of it is only a variable, which
	// stands for several keys. Three take a part of a value.
	refused := map[string]string{
		"capa/templates/cluster-template-rosa-role-config.yaml":       "use ${NAME}",
		"capa/templates/cluster-template-rosa-machinepool.yaml":       "use ${NAME}",
		"capa/templates/cluster-template-rosa.yaml":                   "use ${NAME}",
		"capm3/examples/clusterctl-templates/clusterctl-cluster.yaml": "a ${VARIABLE} cannot stand for whole lines",
	}
	tree := corpus(t)
	b := newBuilder(render.Options{AllowUnset: true})
	rendered := 0
	err := fs.WalkDir(tree, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		switch {
		case name == "crds":
			return fs.SkipDir
		case path.Base(name) == "kustomization.yaml":
			name = path.Dir(name)
		case !strings.HasSuffix(name, ".yaml") || e.IsDir():
			return nil
		}
		objects, problems, err := b.Objects(context.Background(), tree, name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			return nil
		}
		if want, ok := refused[name]; ok {
			if len(problems) != 1 || !strings.Contains(problems[0].Hint, want) {
				t.Errorf("%s: got problems %q, want one with %q", name, lines(problems), want)
			}
			return nil
		}
		for _, p := range problems {
			t.Errorf("%s: %s", name, p)
		}
		if len(objects) > 0 {
			rendered++
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if rendered < 50 {
		t.Errorf("%d files and folders rendered objects, want at least 50", rendered)
	}
}

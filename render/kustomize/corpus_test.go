package kustomize_test

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"fairlead.dev/render/kustomize"
	"fairlead.dev/test/run/needs"
)

// objectsOf decodes objects, by kind, namespace and name.
func objectsOf(t *testing.T, decode []func(any) error) map[string]any {
	t.Helper()
	out := map[string]any{}
	for _, d := range decode {
		var o map[string]any
		if err := d(&o); err != nil {
			t.Fatal(err)
		}
		meta, _ := o["metadata"].(map[string]any)
		out[fmt.Sprint(o["kind"], " ", meta["namespace"], " ", meta["name"])] = o
	}
	return out
}

// Each kustomization of public fleets gives what kubectl kustomize gives. Their patches of
// keyed lists name the items that are there.
func TestAsKubectlKustomize(t *testing.T) {
	root := needs.Corpus(t)
	k := kustomize.New(kustomize.DefaultLimits())
	tree := os.DirFS(root)
	var dirs []string
	same := 0
	err := fs.WalkDir(tree, ".", func(name string, _ fs.DirEntry, err error) error {
		if path.Base(name) == "kustomization.yaml" {
			dirs = append(dirs, path.Dir(name))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range dirs {
		s, problem := k.Scan(tree, dir)
		if problem != nil || s.Component {
			continue // TestCorpus in render has the problems
		}
		objects, problem := k.Build(s)
		out, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), filepath.Join(root, filepath.FromSlash(dir)))
		if err != nil && strings.Contains(err.Error(), "security; file") {
			continue // kubectl refuses files above the folder
		}
		if problem != nil || err != nil {
			t.Errorf("%s: got problem %v, kubectl kustomize %v", dir, problem, err)
			continue
		}
		var ours, theirs []func(any) error
		for _, o := range objects {
			ours = append(ours, o.Node.Decode)
		}
		for _, r := range out.Resources() {
			theirs = append(theirs, r.YNode().Decode)
		}
		if diff := cmp.Diff(objectsOf(t, theirs), objectsOf(t, ours)); diff != "" {
			t.Errorf("%s: -kubectl kustomize, +got:\n%s", dir, diff)
		}
		same++
	}
	if same < 8 {
		t.Errorf("compared %d kustomizations, want at least 8", same)
	}
}

package render_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/rogpeppe/go-internal/txtar"
	"sigs.k8s.io/yaml"

	"fairlead.dev/fleet"
	"fairlead.dev/render"
	"fairlead.dev/render/topology"
)

// A memTree is a sources.Tree of files.
type memTree struct {
	fstest.MapFS
	sums sync.Map // of files
	dirs map[string]string
}

// Digest implements sources.Tree.
func (t *memTree) Digest(name string) (string, error) {
	info, err := fs.Stat(t, name)
	if err != nil {
		return "", err
	}
	if !info.IsDir() {
		return t.sum(name), nil
	}
	if s, ok := t.dirs[name]; ok {
		return s, nil
	}
	h := sha256.New()
	prefix := name + "/"
	if name == "." {
		prefix = ""
	}
	for _, file := range slices.Sorted(maps.Keys(t.MapFS)) {
		if strings.HasPrefix(file, prefix) {
			fmt.Fprintf(h, "%q %s\n", file, t.sum(file))
		}
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// index computes the digests of folders, so that asking for them is as cheap as
// it is in Git.
func (t *memTree) index() {
	t.dirs = map[string]string{}
	hashes := map[string]hash.Hash{}
	for _, file := range slices.Sorted(maps.Keys(t.MapFS)) {
		for dir := path.Dir(file); ; dir = path.Dir(dir) {
			if hashes[dir] == nil {
				hashes[dir] = sha256.New()
			}
			fmt.Fprintf(hashes[dir], "%q %s\n", file, t.sum(file))
			if dir == "." {
				break
			}
		}
	}
	for dir, h := range hashes {
		t.dirs[dir] = hex.EncodeToString(h.Sum(nil))
	}
}

// sum returns the digest of a file, which it computes once.
func (t *memTree) sum(name string) string {
	f := t.MapFS[name]
	if s, ok := t.sums.Load(f); ok {
		return s.(string)
	}
	data := sha256.Sum256(f.Data)
	s := hex.EncodeToString(data[:])
	t.sums.Store(f, s)
	return s
}

// tree returns the files of a txtar archive.
func tree(archive string) *memTree {
	t := &memTree{MapFS: fstest.MapFS{}}
	for _, f := range txtar.Parse([]byte(archive)).Files {
		t.MapFS[f.Name] = &fstest.MapFile{Data: f.Data}
	}
	return t
}

// with returns a copy of t in which files are replaced; an empty content
// removes the file.
func (t *memTree) with(archive string) *memTree {
	out := &memTree{MapFS: maps.Clone(t.MapFS)}
	for _, f := range txtar.Parse([]byte(archive)).Files {
		if len(f.Data) == 0 {
			delete(out.MapFS, f.Name)
			continue
		}
		out.MapFS[f.Name] = &fstest.MapFile{Data: f.Data}
	}
	return out
}

// A fakeDecoder makes a cluster of each object of kind Cluster. Its digest is
// that of all objects of the overlay.
type fakeDecoder struct{}

func (fakeDecoder) Library(string, []render.Object) (topology.Library, []fleet.Problem) {
	return topology.Library{}, nil
}

func (fakeDecoder) Decode(overlay string, objects []render.Object, _ ...topology.Library) ([]fleet.Cluster, []fleet.Problem) {
	h := sha256.New()
	var clusters []fleet.Cluster
	var problems []fleet.Problem
	for _, o := range objects {
		h.Write(o.YAML)
		var c struct {
			Kind     string
			Metadata struct{ Name, Namespace string }
			Spec     struct{ Broken, Panic bool }
		}
		if err := yaml.Unmarshal(o.YAML, &c); err != nil {
			problems = append(problems, fleet.Problem{Overlay: overlay, File: o.File, Message: err.Error()})
			continue
		}
		if c.Kind != "Cluster" {
			continue
		}
		if c.Spec.Panic {
			panic("fake")
		}
		if c.Spec.Broken {
			problems = append(problems, fleet.Problem{Overlay: overlay, File: o.File, Message: "it is broken"})
			continue
		}
		clusters = append(clusters, fleet.Cluster{Key: fleet.Key{Namespace: c.Metadata.Namespace, Name: c.Metadata.Name}})
	}
	for i := range clusters {
		clusters[i].Digest = hex.EncodeToString(h.Sum(nil))
	}
	return clusters, problems
}

// clusterYAML is an object that fakeDecoder takes for a cluster.
func clusterYAML(namespace, name string) string {
	return "apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata:\n  name: " + name + "\n  namespace: " + namespace + "\n"
}

func kustomization(resources ...string) string {
	return "resources:\n- " + strings.Join(resources, "\n- ") + "\n"
}

// rendered is a Builder with what its last Render told.
type rendered struct {
	*render.Builder
	stats render.Stats
}

func newBuilder(o render.Options) *rendered {
	r := &rendered{}
	o.Decoder = fakeDecoder{}
	o.Observe = func(s render.Stats) { r.stats = s }
	r.Builder = render.New(o)
	return r
}

func (r *rendered) render(t *testing.T, digest string, tree *memTree) fleet.Fleet {
	t.Helper()
	f, err := r.Render(context.Background(), fleet.Revision{Ref: "main", Digest: digest}, tree)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// keys returns the keys of the clusters of f.
func keys(f fleet.Fleet) []string {
	var out []string
	for _, c := range f.Clusters {
		out = append(out, c.Key.String())
	}
	return out
}

// lines returns the problems of f as users read them, but for the numbers of lines.
func lines(problems []fleet.Problem) []string {
	var out []string
	for _, p := range problems {
		out = append(out, p.WithoutLine().String())
	}
	return out
}

// overlays returns n overlays over one base.
func overlays(n int) *memTree {
	t := &memTree{MapFS: fstest.MapFS{
		"base/kustomization.yaml": {Data: []byte(kustomization("cluster.yaml"))},
		"base/cluster.yaml":       {Data: []byte(clusterYAML("default", "base"))},
		"README.md":               {Data: []byte("read me\n")},
	}}
	for i := range n {
		dir := path.Join("clusters", fmt.Sprintf("group-%02d", i/50), fmt.Sprintf("c%04d", i))
		t.MapFS[dir+"/kustomization.yaml"] = &fstest.MapFile{Data: fmt.Appendf(nil, "namespace: team\nnamePrefix: c%04d-\nresources: [../../../base]\npatches: [{path: patch.yaml}]\n", i)}
		t.MapFS[dir+"/patch.yaml"] = &fstest.MapFile{Data: []byte(clusterYAML("default", "base") + "spec: {paused: false}\n")}
	}
	return t
}

// Package exampletest renders example fleets for their tests.
//
//	clusters := exampletest.Render(t, os.DirFS("."), inmemory.Kinds(), k3s.Kinds())
package exampletest

import (
	"io/fs"
	"slices"
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/render"
	"fairlead.dev/render/decode"
)

// folder is a sources.Tree of files that do not change.
type folder struct{ fs.FS }

// Digest implements sources.Tree.
func (f folder) Digest(name string) (string, error) {
	_, err := fs.Stat(f, name)
	return name, err
}

// Render returns the clusters of the fleet in files, of kinds beside Cluster API's own. A
// problem of it is an error of t.
func Render(t testing.TB, files fs.FS, kinds ...[]fleet.Kind) []fleet.Cluster {
	t.Helper()
	b := render.New(render.Options{Decoder: decode.New("example", slices.Concat(kinds...))})
	f, err := b.Render(t.Context(), fleet.Revision{Ref: "main", Digest: "sha1:0"}, folder{files})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range f.Problems {
		t.Error(p)
	}
	return f.Clusters
}

// One returns the cluster of a fleet of one.
func One(t testing.TB, files fs.FS, kinds ...[]fleet.Kind) fleet.Cluster {
	t.Helper()
	clusters := Render(t, files, kinds...)
	if len(clusters) != 1 {
		t.Fatalf("there are %d clusters, want 1", len(clusters))
	}
	return clusters[0]
}

package status_test

import (
	"context"
	"fmt"
	"io/fs"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
	"fairlead.dev/sources/status"
)

// A memoryBranch is a branch in memory.
type memoryBranch struct {
	files fstest.MapFS
	head  string
}

type plainTree struct{ fs.FS }

func (plainTree) Digest(p string) (string, error) { return p, nil }

func (m *memoryBranch) Read(context.Context) (fleet.Revision, sources.Tree, error) {
	return fleet.Revision{Digest: m.head}, plainTree{m.files}, nil
}

func (m *memoryBranch) Commit(_ context.Context, _ fleet.Revision, c sources.Commit) (fleet.Revision, error) {
	for name, content := range c.Edits {
		if content == nil {
			delete(m.files, name)
			continue
		}
		m.files[name] = &fstest.MapFile{Data: content}
	}
	m.head += "x"
	return fleet.Revision{Digest: m.head}, nil
}

// What an agent writes an agent reads: also while a mistake in a base breaks ten thousand clusters in
// several places each.
func TestFleetOfManyProblemsIsReadBack(t *testing.T) {
	b := &memoryBranch{files: fstest.MapFS{}}
	owner, err := status.NewArbiter(b).Claim(t.Context(), "me", "")
	if err != nil {
		t.Fatal(err)
	}
	s := sources.FleetStatus{Fleet: "edge", Revision: fleet.Revision{Ref: "main", Digest: "sha1:5b3c7e0a1f2d5b3c7e0a1f2d5b3c7e0a1f2d5b3c"}}
	for i := range 10_000 {
		k := fleet.Key{Namespace: "prod", Name: fmt.Sprintf("eu-%d", i)}
		s.Behind = append(s.Behind, k)
		for n := range 3 {
			s.Problems = append(s.Problems, fleet.Problem{
				Overlay: "clusters/prod/" + k.Name, Cluster: k, File: "base/cluster.yaml", Line: 10 + n, Object: "KubeadmControlPlane " + k.Name, Field: "spec.version",
				Message: "v1.33 is no version", Hint: "write it as v1.33.5",
			})
		}
	}
	w := status.NewWriter(b, status.Options{Owner: owner})
	w.PutFleet(s)
	if _, err := w.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	got, err := status.Read(plainTree{b.files})
	if err != nil {
		t.Fatalf("an agent that starts now does not get beyond this: %.200s", err.Error())
	}
	if len(got.Fleet.Problems) != len(s.Problems) {
		t.Errorf("%d problems are read back, want %d", len(got.Fleet.Problems), len(s.Problems))
	}
}

// TestFleetIsReadBack: each field of the fleet's status is read as it was written.
func TestFleetIsReadBack(t *testing.T) {
	k := fleet.Key{Namespace: "prod", Name: "eu-1"}
	rev := fleet.Revision{Ref: "main", Digest: "sha1:5b3c7e0a1f2d5b3c7e0a1f2d5b3c7e0a1f2d5b3c"}
	want := sources.FleetStatus{
		Fleet: "edge", Revision: rev, Applied: rev, AppliedMade: time.Date(2026, 3, 1, 12, 0, 7, 0, time.UTC), Broken: true, Behind: []fleet.Key{k}, Orphans: []fleet.Key{k},
		Problems: []fleet.Problem{{File: "a.yaml", Line: 2, Message: "is wrong", Hint: "mend it"}},
		Home:     sources.HomeStatus{Cluster: k, Step: "install", Message: "waits", Left: "home.ops.old", Undo: "ops/a ops/b@agents/one"},
		Sources:  []fleet.PinnedSource{{Name: "base", URL: "https://git.example.com/base", Commit: "5b3c7e0a1f2d5b3c7e0a1f2d5b3c7e0a1f2d5b3c", Path: "clusters"}},
	}
	b := &memoryBranch{files: fstest.MapFS{}}
	owner, err := status.NewArbiter(b).Claim(t.Context(), "me", "")
	if err != nil {
		t.Fatal(err)
	}
	w := status.NewWriter(b, status.Options{Owner: owner})
	w.PutFleet(want)
	if _, err := w.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	got, err := status.Read(plainTree{b.files})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got.Fleet); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	if l, err := status.Locate(plainTree{b.files}); err != nil || l.Applied != rev || l.AppliedMade != want.AppliedMade {
		t.Errorf("located: %+v, %v", l, err)
	}
}

// Package rke2_test tests the example of a fleet of RKE2.
package rke2_test

import (
	"context"
	"io/fs"
	"os"
	"slices"
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/distribution/rke2"
	"fairlead.dev/providers/infrastructure/inmemory"
	"fairlead.dev/reconcile/plan"
	"fairlead.dev/render"
	"fairlead.dev/render/decode"
)

// folder is a sources.Tree of the example, which does not change.
type folder struct{ fs.FS }

// Digest implements sources.Tree.
func (t folder) Digest(name string) (string, error) {
	_, err := fs.Stat(t, name)
	return name, err
}

// The example renders one cluster, whose infrastructure and secrets are what comes first.
func TestExample(t *testing.T) {
	b := render.New(render.Options{Decoder: decode.New("f", slices.Concat(inmemory.Kinds(), rke2.Kinds()))})
	f, err := b.Render(context.Background(), fleet.Revision{Digest: "sha1:1"}, folder{os.DirFS(".")})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range f.Problems {
		t.Error(p)
	}
	if len(f.Clusters) != 1 {
		t.Fatalf("there are %d clusters, want 1", len(f.Clusters))
	}
	c := f.Clusters[0]
	want := map[string]int{"eu-1-cp v1.34.1+rke2r1": 3, "eu-1-md-0 v1.34.1+rke2r1": 2}
	for _, p := range c.Pools() {
		if name := string(p.Name) + " " + p.Version; want[name] != p.Replicas {
			t.Errorf("%s has %d machines, want %d", name, p.Replicas, want[name])
		}
	}
	if fleet.ObjectKind(fleet.RoleControlPlane, c.ControlPlane.Kind) != rke2.ControlPlane {
		t.Errorf("the control plane is a %s", c.ControlPlane.Kind)
	}
	d := rke2.New(nil)
	out := plan.Compute(plan.Input{Desired: &c, Observed: fleet.Observed{Distribution: fleet.Distribution{Traits: d.Traits(&c), Needs: d.Needs(&c)}}})
	if !slices.ContainsFunc(out.Actions, func(a fleet.Action) bool { return a.Kind == fleet.EnsureInfrastructure }) {
		t.Errorf("a plan for nothing does %v", out.Actions)
	}
}

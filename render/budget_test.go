package render_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
	"fairlead.dev/render"
	"fairlead.dev/render/kustomize"
)

// fakeWorkers build in this process. Some overlays fail.
type fakeWorkers struct {
	here *kustomize.Kustomizer
	over map[string]bool // overlays that exceed the budget
	err  error           // error of all overlays

	mu        sync.Mutex
	built     []string
	decrypted map[string]bool // by overlay
	rests     int
}

func (w *fakeWorkers) Build(_ context.Context, in kustomize.Input) ([]kustomize.Object, *fleet.Problem, error) {
	w.mu.Lock()
	w.built = append(w.built, in.Overlay)
	if w.decrypted == nil {
		w.decrypted = map[string]bool{}
	}
	w.decrypted[in.Overlay] = in.Decrypted
	w.mu.Unlock()
	if w.over[in.Overlay] {
		return nil, nil, &kustomize.OverBudget{Problem: fleet.Problem{Overlay: in.Overlay, File: in.File, Message: "too much"}}
	}
	if w.err != nil {
		return nil, nil, w.err
	}
	objects, problem := w.here.BuildInput(in)
	return objects, problem, nil
}

func (w *fakeWorkers) Processes() int { return 2 }

func (w *fakeWorkers) Rest() { w.rests++ }

func (w *fakeWorkers) take() []string {
	out := w.built
	slices.Sort(out)
	w.built = nil
	return out
}

// An overlay that exceeds the budget is one problem, and the others are rendered. It is
// tried again with the next revision, even if nothing of it changed.
func TestRenderOverBudget(t *testing.T) {
	w := &fakeWorkers{here: kustomize.New(kustomize.DefaultLimits()), over: map[string]bool{"clusters/a": true}}
	b := newBuilder(render.Options{Workers: w})
	f := b.render(t, "sha1:1", tree(twoClusters))
	if diff := cmp.Diff([]string{"clusters/a/kustomization.yaml: too much"}, lines(f.Problems)); diff != "" || len(f.Clusters) != 2 {
		t.Errorf("got clusters %q, problems -want, +got:\n%s", keys(f), diff)
	}
	all := w.take()
	w.over = nil
	f = b.render(t, "sha1:2", tree(twoClusters))
	if len(f.Problems) > 0 || len(f.Clusters) != 3 {
		t.Errorf("got clusters %q, problems %q", keys(f), lines(f.Problems))
	}
	if diff := cmp.Diff([]string{"clusters/a"}, w.take()); diff != "" || len(all) != 3 || w.rests != 2 {
		t.Errorf("built %q first and let workers rest %d times, then -want, +got:\n%s", all, w.rests, diff)
	}
}

// Where nothing can be built, nothing is known of any cluster.
func TestRenderWithoutWorkers(t *testing.T) {
	w := &fakeWorkers{err: fleet.Errorf(fleet.Unavailable, "start a process", "no memory")}
	b := newBuilder(render.Options{Workers: w})
	_, err := b.Render(t.Context(), fleet.Revision{}, tree(twoClusters))
	if fleet.KindOf(err) != fleet.Unavailable {
		t.Errorf("got %v", err)
	}
	w.here, w.err = kustomize.New(kustomize.DefaultLimits()), nil
	if f := b.render(t, "sha1:1", tree(twoClusters)); len(f.Clusters) != 3 || len(f.Problems) > 0 {
		t.Errorf("got clusters %q, problems %q", keys(f), lines(f.Problems))
	}
	if _, _, err := render.New(render.Options{Workers: &fakeWorkers{err: errors.New("no memory")}}).Objects(t.Context(), tree(twoClusters), "."); err == nil {
		t.Error("objects were rendered without anything that builds")
	}
}

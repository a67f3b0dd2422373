package revisions_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/agent/inputs/revisions"
	"fairlead.dev/fleet"
	"fairlead.dev/sources"
)

func rev(n string) fleet.Revision { return fleet.Revision{Ref: "main", Digest: "sha1:" + n} }

// world is a source with its renderer, and the metrics of both.
type world struct {
	signed   bool
	strayed  error // why a revision must not be followed
	notified error
	missing  error // why a revision cannot be fetched
	asked    []string
}

func (w *world) ask(what string) { w.asked = append(w.asked, what) }

func (w *world) Resolve(context.Context) (fleet.Revision, error) { return rev("9"), nil }

func (w *world) Fetch(_ context.Context, r fleet.Revision) (sources.Tree, error) {
	w.ask("fetch " + r.Hash())
	return nil, w.missing
}

func (w *world) Signed() bool { return w.signed }

func (w *world) Continues(_ context.Context, from, to fleet.Revision) error {
	w.ask(to.Hash() + " continues " + from.Hash())
	return w.strayed
}

func (w *world) Includes(_ context.Context, head, r fleet.Revision) error {
	w.ask(head.Hash() + " includes " + r.Hash())
	return w.strayed
}

func (w *world) Render(_ context.Context, r fleet.Revision, _ sources.Tree) (fleet.Fleet, error) {
	w.ask("render " + r.Hash())
	return fleet.Fleet{ID: "f", Revision: r}, nil
}

func (w *world) Stale() bool { return false }
func (w *world) Close()      {}

func (w *world) Fetched(_ context.Context, operation string, _ error, _ time.Duration) {
	w.ask("count " + operation)
}

func (w *world) Rendered(context.Context, error, time.Duration) { w.ask("count render") }

// notifier is a world that can tell when it changed.
type notifier struct{ *world }

func (n notifier) Notify(_ context.Context, changed func()) error {
	changed()
	return n.notified
}

func of(w *world) *revisions.Revisions {
	return revisions.New(revisions.Parts{Source: w, Renderer: w, Metrics: w})
}

func TestRender(t *testing.T) {
	strayed := fleet.Errorf(fleet.Invalid, "follow", "it continues nothing")
	got := []string{"fetch 2", "count fetch", "render 2", "count render"}
	for name, c := range map[string]struct {
		reason string
		w      world
		do     func(context.Context, *revisions.Revisions) (fleet.Fleet, error)
		asked  []string
		err    error
	}{
		"next": {
			reason: "nobody signs: whatever comes is followed",
			do: func(ctx context.Context, r *revisions.Revisions) (fleet.Fleet, error) {
				return r.Next(ctx, rev("1"), rev("2"))
			},
			asked: got,
		},
		"next, signed": {
			reason: "it continues what was followed", w: world{signed: true},
			do: func(ctx context.Context, r *revisions.Revisions) (fleet.Fleet, error) {
				return r.Next(ctx, rev("1"), rev("2"))
			},
			asked: append([]string{"2 continues 1"}, got...),
		},
		"first, signed": {
			reason: "the first one has nothing to continue", w: world{signed: true, strayed: strayed},
			do: func(ctx context.Context, r *revisions.Revisions) (fleet.Fleet, error) {
				return r.Next(ctx, fleet.Revision{}, rev("2"))
			},
			asked: got,
		},
		"next, astray": {
			reason: "what continues nothing is not even fetched", w: world{signed: true, strayed: strayed},
			do: func(ctx context.Context, r *revisions.Revisions) (fleet.Fleet, error) {
				return r.Next(ctx, rev("1"), rev("2"))
			},
			asked: []string{"2 continues 1"}, err: strayed,
		},
		"older, astray": {
			reason: "what was never followed is not even fetched", w: world{signed: true, strayed: strayed},
			do: func(ctx context.Context, r *revisions.Revisions) (fleet.Fleet, error) {
				return r.Older(ctx, rev("3"), rev("2"))
			},
			asked: []string{"3 includes 2"}, err: strayed,
		},
		"newest": {
			reason: "the newest one is rendered whatever was followed", w: world{signed: true, strayed: strayed},
			do:    func(ctx context.Context, r *revisions.Revisions) (fleet.Fleet, error) { return r.Newest(ctx) },
			asked: []string{"fetch 9", "count fetch", "render 9", "count render"},
		},
		"cannot be got": {
			reason: "what cannot be got is not rendered", w: world{missing: context.DeadlineExceeded},
			do: func(ctx context.Context, r *revisions.Revisions) (fleet.Fleet, error) {
				return r.Next(ctx, rev("1"), rev("2"))
			},
			asked: []string{"fetch 2", "count fetch"}, err: context.DeadlineExceeded,
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := c.do(t.Context(), of(&c.w))
			if !errors.Is(err, c.err) {
				t.Errorf("the error is %v, want %v", err, c.err)
			}
			if diff := cmp.Diff(c.asked, c.w.asked); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

// A source that cannot tell of changes is no error, and one that can is listened to.
func TestNotify(t *testing.T) {
	w := &world{notified: errors.New("no more watches")}
	changed := 0
	if err := of(w).Notify(t.Context(), func() { changed++ }); err != nil || changed != 0 {
		t.Errorf("a source that cannot tell: %v, %d changes", err, changed)
	}
	n := notifier{w}
	err := revisions.New(revisions.Parts{Source: n, Renderer: w, Metrics: w}).Notify(t.Context(), func() { changed++ })
	if !errors.Is(err, w.notified) || changed != 1 {
		t.Errorf("a source that can: %v, %d changes", err, changed)
	}
}

// A call that an ending agent cuts short is none that failed.
func TestResolveCounts(t *testing.T) {
	w := &world{}
	ctx, cancel := context.WithCancel(t.Context())
	_, _ = of(w).Resolve(ctx)
	cancel()
	_, _ = of(w).Resolve(ctx)
	if diff := cmp.Diff([]string{"count resolve"}, w.asked); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

package requests_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/agent/inputs/requests"
	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/rollout"
)

var (
	key   = fleet.Key{Namespace: "prod", Name: "a"}
	owner = fleet.Owner{Agent: "me", Epoch: 1}
)

// world is a branch with requests, and the fleet that they are about.
type world struct {
	list      []fleet.Request
	unread    error // of List
	refusing  bool  // nothing can be written
	unwritten error // of what was decided
	answered  []fleet.Owner
	state     rollout.State
	changed   []fleet.Key
	notified  int
}

func (w *world) List(context.Context) ([]fleet.Request, error) {
	return slices.Clone(w.list), w.unread
}

func (w *world) Answer(_ context.Context, of fleet.Owner, list, gone []fleet.Request) error {
	if w.refusing {
		return errors.New("refused")
	}
	w.answered = append(w.answered, of)
	for i, r := range w.list {
		if j := slices.IndexFunc(list, r.Identical); j >= 0 {
			w.list[i] = list[j]
		}
	}
	w.list = slices.DeleteFunc(w.list, func(r fleet.Request) bool { return slices.ContainsFunc(gone, r.Identical) })
	return nil
}

func (w *world) Now() rollout.State { return w.state }

func (w *world) Decide(in rollout.Input) rollout.Decision {
	in.Before, in.Now = w.state, time.Now()
	d := rollout.Decide(in)
	w.state, w.changed = d.State, append(w.changed, d.Changed...)
	return d
}

func (w *world) Report(fleet.Key) (fleet.Report, bool) { return fleet.Report{}, false }

// requests returns those of w, which has one cluster.
func (w *world) requests() *requests.Requests {
	f := fleet.Fleet{ID: "f", Revision: fleet.Revision{Digest: "sha1:1"}, Clusters: []fleet.Cluster{{Key: key}}}
	w.Decide(rollout.Input{Newest: &rollout.Revision{Revision: f.Revision, Fleet: &f}})
	w.changed = nil
	return requests.New(requests.Parts{
		Branch: w, Fleet: w, Publish: func(context.Context) error { return w.unwritten }, Notify: func() { w.notified++ }, Log: slog.New(slog.DiscardHandler),
		Recorded: func(context.Context, fleet.Key) (fleet.Report, error) { return fleet.Report{Cluster: key}, nil },
	})
}

func (w *world) suspended() bool {
	t, _ := w.state.Target(key)
	return t.Cluster.Suspension != nil
}

// A request takes effect once its answer is written, and not before.
func TestInEffectOnceAnswered(t *testing.T) {
	w := &world{list: []fleet.Request{{Kind: fleet.RequestSuspend, Cluster: key, By: "Ada", At: time.Now()}}, refusing: true}
	q := w.requests()
	q.Poll(t.Context(), owner)
	if w.suspended() || len(w.changed) > 0 {
		t.Error("it is in effect, and nobody knows")
	}
	w.refusing = false
	q.Poll(t.Context(), owner)
	if !w.suspended() {
		t.Error("it is not in effect")
	}
	if diff := cmp.Diff([]fleet.Owner{owner}, w.answered); diff != "" {
		t.Errorf("answers (-want +got)\n%s", diff)
	}
	q.Poll(t.Context(), owner)
	if diff := cmp.Diff([]fleet.Key{key}, w.changed); diff != "" {
		t.Errorf("clusters to look at (-want +got)\n%s", diff)
	}
}

// A request is not called done before the branch has what came of it.
func TestDoneIsOnTheBranch(t *testing.T) {
	over := fleet.Request{
		Kind: fleet.RequestSuspend, Cluster: key, By: "Ada", At: time.Now().Add(-time.Hour), Until: time.Now().Add(-time.Minute),
		Answer: fleet.Answer{State: fleet.RequestAccepted},
	}
	w := &world{list: []fleet.Request{over}, unwritten: errors.New("refused")}
	q := w.requests()
	q.Poll(t.Context(), owner)
	if got := w.list[0].Answer.State; got != fleet.RequestAccepted {
		t.Errorf("it is %s, and the branch does not have what came of it", got)
	}
	w.unwritten = nil
	q.Poll(t.Context(), owner)
	if got := w.list[0].Answer.State; got != fleet.RequestDone {
		t.Errorf("it is %s", got)
	}
}

// What cannot be read changes nothing, and is told once.
func TestUnread(t *testing.T) {
	w := &world{list: []fleet.Request{{Kind: fleet.RequestSuspend, Cluster: key, Answer: fleet.Answer{State: fleet.RequestAccepted}}}}
	q := w.requests()
	q.Poll(t.Context(), owner)
	w.list, w.unread = nil, fleet.Errorf(fleet.Unavailable, "read", "no answer")
	q.Poll(t.Context(), owner)
	q.Poll(t.Context(), owner)
	if !w.suspended() {
		t.Error("a suspension ends where nobody can read whether it stands")
	}
	if p, ok := q.Problem(); !ok || w.notified != 1 {
		t.Errorf("it is told %d times: %s", w.notified, p)
	}
	w.unread = nil
	q.Poll(t.Context(), owner)
	if _, ok := q.Problem(); ok || w.notified != 2 || w.suspended() {
		t.Errorf("once it can be read: told %d times, suspended %v", w.notified, w.suspended())
	}
}

// What was accepted before is read, though single files cannot be.
func TestRead(t *testing.T) {
	w := &world{list: []fleet.Request{{Kind: fleet.RequestSuspend, Cluster: key}}, unread: fleet.Errorf(fleet.Invalid, "read", "rubbish")}
	q := w.requests()
	if got, err := q.Read(t.Context()); err != nil || len(got.List) != 1 {
		t.Errorf("there are %v, %v", got.List, err)
	}
	w.unread = fleet.Errorf(fleet.Unavailable, "read", "no answer")
	if _, err := q.Read(t.Context()); err == nil {
		t.Error("a branch that cannot be read is one without requests")
	}
}

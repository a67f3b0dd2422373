package pivot_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"fairlead.dev/agent"
	"fairlead.dev/agent/ownership"
	"fairlead.dev/agent/ownership/pivot"
	"fairlead.dev/agent/wiring"
	"fairlead.dev/fleet"
	"fairlead.dev/sources/status"
)

// limit bounds each wait of these tests, on a machine that does much else.
const limit = 3 * time.Minute

// await waits until what is so.
func (w *world) await(what string, so func() bool) {
	w.t.Helper()
	for end := time.Now().Add(limit); !so(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			w.t.Fatalf("%s did not come; the agent in the home said:\n%s", what, w.kubelet.log.String())
		}
	}
}

func (w *world) status() status.Status {
	w.t.Helper()
	_, tree, err := w.branch.Read(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	s, err := status.Read(tree)
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

func (w *world) provisioned() bool {
	s := w.status()
	return len(s.Clusters) == 2 && !slices.ContainsFunc(s.Clusters, func(c status.Cluster) bool { return c.Report.Phase != fleet.PhaseProvisioned })
}

// machines returns the machines of the cloud, by name and id.
func (w *world) machines() []string {
	w.t.Helper()
	vms, err := w.cloud.VMs(w.t.Context(), nil)
	if err != nil {
		w.t.Fatal(err)
	}
	var out []string
	for _, vm := range vms {
		out = append(out, vm.Name+" "+vm.ID)
	}
	slices.Sort(out)
	return out
}

// errKilled is how a process ends in the middle.
var errKilled = errors.New("killed")

// parts returns what a move is made with, which is killed at the call kill; "" for
// never. It notes the calls that are made.
func (w *world) parts(calls *[]string, kill string) pivot.Parts {
	return pivot.Parts{
		Arbiter: status.NewArbiter(w.branch), PollInterval: 50 * time.Millisecond,
		Status:   func(context.Context) (status.Status, error) { return w.status(), nil },
		Clusters: func(context.Context) ([]fleet.Key, error) { return clusters(), nil },
		ID:       func() string { return fmt.Sprint(time.Now().UnixNano()) },
		Hook: func(call string) {
			*calls = append(*calls, call)
			if call == kill {
				panic(errKilled)
			}
		},
	}
}

// move moves the fleet, and is killed at the call kill; "" for never. It returns
// the calls that were made.
func (w *world) move(toHome bool, kill string) (calls []string, err error) {
	w.t.Helper()
	ctx := w.t.Context()
	store, err := w.settings().OpenSecrets(ctx, wiring.ReadWrite)
	if err != nil {
		w.t.Fatal(err)
	}
	there, err := w.home(ctx)
	if err != nil {
		w.t.Fatal(err)
	}
	p := w.parts(&calls, kill)
	want := pivot.Destination{To: laptop}
	o := agent.Options{WaitForOwnership: true}
	if toHome {
		want = pivot.Destination{To: ownership.AgentOf(away()), Home: away()}
		p.From, p.Home = store, w.home
		o = agent.Options{}
	} else {
		p.From, p.To = there.Secrets(), store
	}
	err = w.beside(o, pivot.New(want, p))
	return calls, err
}

// beside makes a move beside an agent of the laptop, which ends with it.
func (w *world) beside(o agent.Options, p *pivot.Pivot) (err error) {
	w.t.Helper()
	stop := w.local(o)
	defer stop()
	ctx, cancel := context.WithTimeout(w.t.Context(), limit)
	defer cancel()
	defer func() {
		if r := recover(); r != nil {
			if r != errKilled { //nolint:errorlint // what parts panics with
				panic(r)
			}
			err = errKilled
		}
	}()
	return p.Run(ctx)
}

// TestPivot moves a fleet into its home and back, killed at every call that
// changes something, and goes on with the same command each time.
func TestPivot(t *testing.T) {
	w := newWorld(t)
	stop := w.local(agent.Options{})
	w.await("two clusters", w.provisioned)
	stop()
	before := w.machines()
	w.kubelet.start()

	check := func(owner string) {
		t.Helper()
		s := w.status()
		if s.Owner.Agent != owner || s.Next != (fleet.Succession{}) {
			t.Fatalf("the owner is %+v, the succession %+v; want %s", s.Owner, s.Next, owner)
		}
		w.await("a calm fleet", w.provisioned)
		if got := w.machines(); !slices.Equal(got, before) {
			t.Fatalf("the machines became %v, they were %v", got, before)
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		if len(w.foreign) > 0 {
			t.Fatalf("somebody acted who did not own the fleet: %v", w.foreign)
		}
	}
	trial := func(toHome bool, kill string) []string {
		t.Helper()
		calls, err := w.move(toHome, kill)
		if kill != "" {
			if !errors.Is(err, errKilled) {
				t.Fatalf("it was to be killed at %q, and came to %v after %v", kill, err, calls)
			}
			if s := w.status(); s.Owner.Agent == "" {
				t.Fatal("nobody owns the fleet")
			}
			_, err = w.move(toHome, "")
		}
		if err != nil {
			t.Fatalf("killed at %q, then: %v", kill, err)
		}
		return calls
	}
	into := trial(true, "")
	t.Logf("into the home: %v", into)
	check(ownership.AgentOf(away()))
	w.empty()
	back := trial(false, "")
	t.Logf("back: %v", back)
	check(laptop)
	w.undo()
	for _, call := range chosen(into) {
		t.Logf("killed at %q", call)
		trial(true, call)
		check(ownership.AgentOf(away()))
		w.empty()
		trial(false, "")
		check(laptop)
		w.undo() // so that the next one installs again
	}
}

// sweeps reports whether to kill at every call; it takes many minutes.
func sweeps() bool { return os.Getenv("FAIRLEAD_SWEEP") != "" }

// chosen returns all calls of a sweep, else only the one after which the owner
// hands over.
func chosen(calls []string) []string {
	if sweeps() {
		return calls
	}
	return []string{"after say that the secrets are moved"}
}

// empty checks that the laptop has no secret left.
func (w *world) empty() {
	w.t.Helper()
	s, err := w.settings().OpenSecrets(w.t.Context(), wiring.ReadWrite)
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err := s.Get(w.t.Context(), away(), fleet.ClusterCA); fleet.KindOf(err) != fleet.NotFound {
		w.t.Fatalf("the laptop still has secrets: %v", err)
	}
}

// undo takes the agent and the copies of secrets out of the home.
func (w *world) undo() {
	w.t.Helper()
	ctx := w.t.Context()
	store, err := w.settings().OpenSecrets(ctx, wiring.ReadWrite)
	if err != nil {
		w.t.Fatal(err)
	}
	p := pivot.New(pivot.Destination{To: ownership.AgentOf(away()), Home: away()}, pivot.Parts{
		Arbiter: status.NewArbiter(w.branch), From: store, Home: w.home,
		Clusters: func(context.Context) ([]fleet.Key, error) { return clusters(), nil },
	})
	if err := p.Undo(ctx); err != nil {
		w.t.Fatal(err)
	}
	there, err := w.home(ctx)
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err := there.Secrets().Get(ctx, away(), fleet.ClusterCA); fleet.KindOf(err) != fleet.NotFound {
		w.t.Fatalf("the home still has secrets: %v", err)
	}
	if ok, err := there.Installed(ctx); ok || err != nil {
		w.t.Fatalf("the home still has the agent: %v, %v", ok, err)
	}
}

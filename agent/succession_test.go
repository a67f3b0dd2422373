package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/agent/ownership"
	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/reconcile"
	"fairlead.dev/sources"
	"fairlead.dev/sources/status"
)

// freezer remembers whether secrets are frozen.
type freezer struct {
	mu  sync.Mutex
	why string
}

func (g *freezer) Freeze(why string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.why = why
}
func (g *freezer) Unfreeze() { g.Freeze("") }

func (g *freezer) held() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.why != ""
}

// handoverWorld is a world with a freezer, whose reconciler can look, and whose branch can
// be cut off.
type handoverWorld struct {
	*world
	place string // of the agent
	freezer
	seen    map[fleet.Key]fleet.Observed
	lookErr error
	paused  []fleet.PoolName // of the pools of the last pass

	reads     int
	cutFrom   int  // reads after which the branch cannot be read; 0: none
	cut       bool // the branch cannot be read
	lost      bool // the answer to the next Yield is lost, and the branch is cut
	withdrawn bool // the succession is withdrawn just before Yield
	during    func()
	yielding  bool
}

func (h *handoverWorld) Pass(ctx context.Context, c *fleet.Cluster, known fleet.Memory) reconcile.Result {
	h.mu().Lock()
	h.paused = nil
	for _, p := range c.Pools() {
		if p.Paused {
			h.paused = append(h.paused, p.Name)
		}
	}
	during := h.during
	h.mu().Unlock()
	if during != nil {
		during()
	}
	return h.world.Pass(ctx, c, known)
}

func (h *handoverWorld) mu() *sync.Mutex { return &h.world.mu }

func (h *handoverWorld) Look(_ context.Context, c *fleet.Cluster) (fleet.Observed, error) {
	return h.seen[c.Key], h.lookErr
}

func (h *handoverWorld) Succession(ctx context.Context) (fleet.Owner, fleet.Succession, error) {
	h.mu().Lock()
	h.reads++
	cut := h.cut || h.cutFrom > 0 && h.reads > h.cutFrom
	h.mu().Unlock()
	if cut {
		return fleet.Owner{}, fleet.Succession{}, errors.New("cut off")
	}
	return h.world.Succession(ctx)
}

func (h *handoverWorld) Yield(ctx context.Context, of fleet.Owner, s fleet.Succession) (fleet.Owner, error) {
	h.mu().Lock()
	h.yielding = true
	h.cut = h.cut || h.lost
	lost := h.lost
	if h.withdrawn {
		h.next = fleet.Succession{}
	}
	h.mu().Unlock()
	o, err := h.world.Yield(ctx, of, s)
	if lost {
		return fleet.Owner{}, fleet.Errorf(fleet.Unanswered, "push", "connection reset")
	}
	return o, err
}

func newHandoverWorld(owner string, fleets ...fleet.Fleet) *handoverWorld {
	h := &handoverWorld{world: newWorld(fleets...), seen: map[fleet.Key]fleet.Observed{}}
	h.owner = fleet.Owner{Agent: owner, Epoch: 1}
	return h
}

func (h *handoverWorld) agent(o Options) *Agent {
	p := h.world.parts()
	p.SecretFreezer = &h.freezer
	p.Place = func(context.Context) (string, error) { return h.place, nil }
	p.StatusBranch = func(string) (StatusBranch, error) {
		return StatusBranch{
			Arbiter: h,
			Read:    func(context.Context) (status.Status, error) { return h.record, nil },
			Writer:  func(fleet.Owner) sources.StatusWriter { return h.world },
		}, nil
	}
	p.Reconciler = func(may func(fleet.Key) error, _ func(fleet.Key)) reconcile.Passes {
		h.may = may
		return h
	}
	p.Looker = func() ownership.Looker { return h }
	p.Infrastructure = func(string) (providers.Infrastructure, error) { return infrastructure{world: h.world}, nil }
	return New(h.options(o), p)
}

// live runs an agent in a bubble while do plays the world, and returns how it
// ended.
func (h *handoverWorld) live(t *testing.T, o Options, do func()) (err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- h.agent(o).Run(ctx) }()
		synctest.Wait()
		do()
		synctest.Wait()
		cancel()
		err = <-done
	})
	return err
}

// set puts the succession there, and lets polls pass.
func (h *handoverWorld) set(s fleet.Succession) {
	h.mu().Lock()
	h.next = s
	h.mu().Unlock()
	poll()
}

func (h *handoverWorld) now() (fleet.Owner, fleet.Succession) {
	h.mu().Lock()
	defer h.mu().Unlock()
	return h.owner, h.next
}

func poll() {
	time.Sleep(time.Minute)
	synctest.Wait()
}

func to(agent string, step fleet.SuccessionStep) fleet.Succession {
	return fleet.Succession{ID: "1", To: agent, Step: step}
}

func oneCluster() fleet.Fleet { return fleetOf("1", fleet.Prune{}, clusterOf(keyA, "1", "x")) }

// Safety: from the moment at which the owner agreed until the end no secret
// changes, and it goes on with everything else.
func TestOwnerHoldsSecretsWhileTheyMove(t *testing.T) {
	h := newHandoverWorld("me", oneCluster())
	err := h.live(t, Options{}, func() {
		if h.held() {
			t.Error("secrets are held while the fleet stays")
		}
		h.set(to("home", fleet.StepAsked))
		if _, s := h.now(); s != to("home", fleet.StepGranted) || !h.held() {
			t.Errorf("the owner did not agree: %v, held %v", s, h.held())
		}
		h.took()
		h.set(to("home", fleet.StepMoved))
		time.Sleep(time.Hour)
		if _, s := h.now(); s.Step != fleet.StepMoved || !h.held() || len(h.took()) == 0 {
			t.Errorf("the owner must go on until another is ready: %v, held %v", s, h.held())
		}
		h.set(fleet.Succession{})
		if h.held() {
			t.Error("secrets are held after the succession was withdrawn")
		}
	})
	if err != nil {
		t.Error(err)
	}
}

// Safety: an agent that starts in the middle of a move holds secrets before its
// first pass.
func TestOwnerThatStartsInTheMiddleHolds(t *testing.T) {
	h := newHandoverWorld("me", oneCluster())
	h.next, h.cutFrom = to("home", fleet.StepGranted), 1 // the claim alone can see it
	var open bool
	h.during = func() { open = open || !h.held() }
	if err := h.live(t, Options{}, func() {}); err != nil || len(h.took()) == 0 {
		t.Fatalf("it made no pass: %v", err)
	}
	if open {
		t.Error("a pass could change secrets that are being moved")
	}
}

// Safety: the owner stops before it hands over, ends with the name of the new
// one, and does nothing afterwards.
func TestYield(t *testing.T) {
	h := newHandoverWorld("me", oneCluster())
	var acted bool
	h.during = func() {
		h.mu().Lock()
		defer h.mu().Unlock()
		acted = acted || h.owner.Agent != "me"
	}
	err := h.live(t, Options{}, func() {
		h.set(to("home", fleet.StepReady))
		time.Sleep(time.Hour)
	})
	var refusal *ownership.NotOwnerError
	if !errors.As(err, &refusal) || refusal.Owner != (fleet.Owner{Agent: "home", Epoch: 2}) {
		t.Errorf("it ended with %v", err)
	}
	if o, s := h.now(); o.Agent != "home" || s != to("home", fleet.StepHandedOver) {
		t.Errorf("owner %v, succession %v", o, s)
	}
	if acted || h.may(keyA) == nil {
		t.Error("it acted after it handed over")
	}
}

// Safety: a hand-over waits for the pass that is under way.
func TestYieldWaitsForPasses(t *testing.T) {
	h := newHandoverWorld("me", oneCluster())
	var early bool
	h.during = func() {
		time.Sleep(5 * time.Minute)
		h.mu().Lock()
		defer h.mu().Unlock()
		early = early || h.yielding
	}
	_ = h.live(t, Options{}, func() {
		h.set(to("home", fleet.StepReady))
		time.Sleep(time.Hour)
	})
	if o, _ := h.now(); early || o.Agent != "home" {
		t.Errorf("the fleet went to %s, during a pass: %v", o.Agent, early)
	}
}

// Safety: while nobody knows whether the hand-over landed, nothing is done.
func TestYieldUnanswered(t *testing.T) {
	h := newHandoverWorld("me", oneCluster())
	h.lost = true
	err := h.live(t, Options{}, func() {
		h.took()
		h.set(to("home", fleet.StepReady))
		h.took()
		time.Sleep(2 * time.Hour) // resync is 10 min
		if took := h.took(); len(took) > 0 {
			t.Errorf("it acted while it could not know whether it owns the fleet: %v", took)
		}
		h.mu().Lock()
		h.cut = false
		h.mu().Unlock()
		poll()
	})
	if _, ok := errors.AsType[*ownership.NotOwnerError](err); !ok {
		t.Errorf("it ended with %v", err)
	}
}

// An owner whose push lost, as the succession was withdrawn, goes on.
func TestYieldWithdrawn(t *testing.T) {
	h := newHandoverWorld("me", oneCluster())
	err := h.live(t, Options{}, func() {
		h.withdrawn = true
		h.set(to("home", fleet.StepReady))
		h.took()
		time.Sleep(time.Hour)
		if len(h.took()) == 0 {
			t.Error("it does not go on")
		}
	})
	if err != nil {
		t.Error(err)
	}
}

// The last status lands before the fleet is handed over: the next owner has from
// it what is left to be cleared.
func TestYieldWaitsForTheStatus(t *testing.T) {
	h := newHandoverWorld("me", oneCluster())
	h.unwritten = errors.New("cut off")
	_ = h.live(t, Options{}, func() {
		h.set(to("home", fleet.StepReady))
		time.Sleep(time.Hour)
		if o, _ := h.now(); o.Agent != "me" {
			t.Errorf("the owner is %s, and the last status was not written", o.Agent)
		}
		h.mu().Lock()
		h.unwritten = nil
		h.mu().Unlock()
		poll()
		if o, _ := h.now(); o.Agent != "home" {
			t.Errorf("the owner is %s, though the last status was written", o.Agent)
		}
	})
}

func TestSuccessor(t *testing.T) {
	machine := fleet.Machine{Name: "m", ProviderID: "p://1", State: fleet.MachineRunning}
	provisioned := status.Status{Clusters: []status.Cluster{{Report: fleet.Report{
		Cluster: keyA, Phase: fleet.PhaseProvisioned, Machines: []fleet.MachineReport{{Machine: machine}},
	}}}}
	for name, c := range map[string]struct {
		reason string
		seen   fleet.Observed
		err    error
		want   string // message; empty: it is ready
	}{
		"Ready": {
			reason: "what sees all that the owner sees is ready",
			seen:   fleet.Observed{Infrastructure: fleet.Infrastructure{Machines: []fleet.Machine{machine}}, Workload: fleet.Workload{Reachable: true}},
		},
		"NoSecrets": {
			reason: "without the authorities of a cluster that has machines nobody can act on it",
			seen: fleet.Observed{
				Infrastructure: fleet.Infrastructure{Machines: []fleet.Machine{machine}},
				Secrets:        fleet.SecretState{Missing: []fleet.SecretName{fleet.ClusterCA}}, Workload: fleet.Workload{Reachable: true},
			},
			want: "cluster prod/a has machines, and its secrets are not here: [ca]",
		},
		"NoRoute": {
			reason: "an API server that answers the owner must answer the successor",
			seen:   fleet.Observed{Infrastructure: fleet.Infrastructure{Machines: []fleet.Machine{machine}}, Workload: fleet.Workload{Message: "no route"}},
			want:   "the API server of cluster prod/a does not answer here: no route",
		},
		"OtherProject": {
			reason: "credentials for another project see an empty world, which would be filled again",
			seen:   fleet.Observed{Workload: fleet.Workload{Reachable: true}},
			want:   "machine m of cluster prod/a is not seen here: are these the same credentials?",
		},
		"NoCloud": {reason: "an error is told in its own words, on one line", err: errors.New("no\n  cloud"), want: "no cloud"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHandoverWorld("other", oneCluster())
			h.record, h.lookErr, h.place = provisioned, c.err, "here"
			h.seen[keyA] = c.seen
			err := h.live(t, Options{WaitForOwnership: true}, func() {
				h.set(to("me", fleet.StepGranted))
				if _, s := h.now(); s.Step != fleet.StepGranted {
					t.Errorf("before the secrets are here it must wait, it is %v", s)
				}
				h.set(to("me", fleet.StepMoved))
			})
			if err != nil {
				t.Fatal(err)
			}
			want := to("me", fleet.StepReady)
			want.Place = "here" // the fleet is handed to this agent, not to one of its name
			if c.want != "" {
				want = to("me", fleet.StepMoved)
				want.Message, want.Place = c.want, ""
			}
			if _, s := h.now(); s != want {
				t.Errorf("%s: got %+v, want %+v", c.reason, s, want)
			}
			if took := h.took(); len(took) > 0 {
				t.Errorf("it made passes: %v", took)
			}
		})
	}
}

// The new owner says that it acts once it has, and not before.
func TestNewOwnerActs(t *testing.T) {
	h := newHandoverWorld("me", oneCluster())
	h.next = to("me", fleet.StepHandedOver)
	h.phases[keyA] = "" // nothing can be seen
	err := h.live(t, Options{}, func() {
		if _, s := h.now(); s.Step != fleet.StepHandedOver {
			t.Errorf("before it could see anything it says %v", s)
		}
		if h.held() {
			t.Error("the new owner cannot store secrets")
		}
		h.mu().Lock()
		h.phases[keyA] = fleet.PhaseProvisioned
		h.mu().Unlock()
		time.Sleep(time.Hour)
		synctest.Wait()
		if _, s := h.now(); s != (fleet.Succession{}) {
			t.Errorf("after its first pass it says %v", s)
		}
	})
	if err != nil {
		t.Error(err)
	}
}

// Only the control plane of one cluster is worked on where that is asked for.
func TestOnly(t *testing.T) {
	a, b := clusterOf(keyA, "1", "x"), clusterOf(keyB, "1", "x")
	b.ControlPlane = fleet.Pool{Name: "cp"}
	b.Workers = []fleet.Pool{{Name: "md-0"}, {Name: "md-1"}}
	h := newHandoverWorld("me", fleetOf("1", fleet.Prune{}, a, b))
	if err := h.live(t, Options{Only: keyB}, func() {}); err != nil {
		t.Fatal(err)
	}
	expect(t, "the passes", h.took(), []string{"prod/b 1"})
	if !slices.Equal(h.paused, []fleet.PoolName{"md-0", "md-1"}) {
		t.Errorf("the pools left as they are are %v", h.paused)
	}
}

// TestDistrustedOwner: an agent that owns the fleet goes on where nobody who counts signed
// the owner that is there, and puts itself back; one that starts does not act, and says
// what to do.
func TestDistrustedOwner(t *testing.T) {
	doubt := fmt.Errorf("%w: it is not signed", status.ErrDistrusted)
	t.Run("running", func(t *testing.T) {
		w := newWorld(fleetWithPool())
		bubble(t, w, Options{Name: "me"}, func(t *testing.T, _ *Agent) {
			w.took()
			w.mu.Lock()
			w.doubt = doubt
			w.mu.Unlock()
			time.Sleep(15 * time.Minute)
			synctest.Wait()
			w.mu.Lock()
			expect(t, "it is put back", w.restored, []fleet.Owner{{Agent: "me", Epoch: 1}})
			w.mu.Unlock()
			if len(w.took()) == 0 {
				t.Error("the agent does nothing any more")
			}
		})
	})
	t.Run("unreadable", func(t *testing.T) {
		w := newWorld(fleetWithPool())
		bubble(t, w, Options{Name: "me"}, func(t *testing.T, _ *Agent) {
			w.mu.Lock()
			w.doubt = errors.New("no answer")
			w.mu.Unlock()
			time.Sleep(15 * time.Minute)
			w.mu.Lock()
			defer w.mu.Unlock()
			expect(t, "what cannot be read is not replaced", w.restored, []fleet.Owner(nil))
		})
	})
	t.Run("starting", func(t *testing.T) {
		w := newWorld(fleetWithPool())
		w.owner, w.doubt = fleet.Owner{Agent: "mallory", Epoch: 9, Place: "there"}, doubt
		err := w.agent(Options{Name: "me"}).Run(t.Context())
		want := `the fleet is owned by agent "mallory" (epoch 9, place there), as no key that counts says: start that agent with the same --request-keys, so that it signs, or, where there is none, this one with --take-over mallory@9`
		if err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
		expect(t, "nothing is done", w.took(), []string(nil))
	})
}

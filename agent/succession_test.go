package agent

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/agent/ownership"
	"fairlead.dev/fleet"
	"fairlead.dev/sources/status"
)

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

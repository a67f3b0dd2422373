package metal3_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/metal3"
	"fairlead.dev/providers/infrastructure/metal3/api"
	"fairlead.dev/providers/infrastructure/metal3/ironic"
	"fairlead.dev/providers/infrastructure/metal3/metal3test"
)

// TestClaimedMeanwhile: a host that somebody claims between a look and what follows from it is neither
// erased nor inspected.
func TestClaimedMeanwhile(t *testing.T) {
	t.Parallel()
	w := doubled(t, "m1")
	var managed, once atomic.Bool
	w.Watch(func(c metal3test.Call) {
		if c.Contains(`"manage"`) {
			managed.Store(true)
		}
		if strings.HasPrefix(c.Method, "GET /v1/nodes/") && managed.Load() && once.CompareAndSwap(false, true) {
			w.set("m1", "instance_uuid", uuid.NewString())
		}
	})
	w.until(&w.c, "claimed", func(i fleet.Infrastructure) bool { return once.Load() && hostOf(i, "m1").Held != "" })
	for _, c := range w.Calls() {
		if c.Contains(`"provide"`) {
			t.Error("it was made available, which erases it")
		}
	}
}

// TestRememberedElsewhere: after Ironic lost its database a host is held on which another cluster remembers
// a machine, whichever agent has that cluster and whatever Git says of the host: the one that has this
// cluster knows it from the status branch alone.
func TestRememberedElsewhere(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(w *world){
		"kept off": func(w *world) {
			w.rewrite(&w.c, "m1", func(s *api.BareMetalHostSpec) { s.AutomatedCleaningMode, s.Online = api.CleaningMetadata, false })
			w.hosts["m1"].Press(false)
		},
		"to be erased": func(w *world) {
			w.rewrite(&w.c, "m1", func(s *api.BareMetalHostSpec) { s.AutomatedCleaningMode = api.CleaningMetadata })
			w.annotate(&w.c, "m1", "fairlead.dev/erase", time.Now().UTC().Format(time.RFC3339))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := doubled(t, "m1")
			c := &w.c
			w.create(c, worker)
			prepare(w)
			w.observe(c) // what runs is remembered
			disk := w.hosts["m1"].State().Disk
			other := w.c
			other.Key.Name, other.Residence = "eu-2", fleet.Residence{}
			other.NeighborPlaces = c.Residence.Extras()
			mine := w.p
			w.p = w.provider() // of another replica
			if err := w.LoseDatabase(t.Context()); err != nil {
				t.Fatal(err)
			}
			w.pause()
			const held = "machine " + string(worker) + " of cluster "
			w.until(&other, "held", func(i fleet.Infrastructure) bool {
				return hostOf(i, "m1").Held == held+w.namespace+"/eu-1 ran on it, and is to be adopted"
			})
			other.NeighborPlaces = []fleet.Place{{ID: other.NeighborPlaces[0].ID, Access: "{"}}
			if h := hostOf(w.observe(&other), "m1"); !strings.Contains(h.Held, "whose machines the status branch does not list any more") {
				t.Errorf("the host is %+v", h)
			}
			w.p = mine
			w.until(c, "adopted", func(i fleet.Infrastructure) bool {
				return machineOf(i, worker).State == fleet.MachineRunning && !machineOf(i, worker).Silent
			})
			if s := w.hosts["m1"].State(); s.Disk == nil || s.Disk.ID != disk.ID {
				t.Errorf("the host is %+v", s)
			}
		})
	}
}

// TestEraseIsSpent: a wish to erase is about the enrolment before it, and about no later one: of what runs
// on the host then nobody asked people. A wish of a time to come, and one without a time, are about none.
func TestEraseIsSpent(t *testing.T) {
	t.Parallel()
	w := doubled(t, "m1")
	c, h := &w.c, w.hosts["m1"]
	h.Install(metal3test.Disk{ID: "old"})
	before := h.State()
	held := func(wish string) {
		t.Helper()
		w.annotate(c, "m1", "fairlead.dev/erase", wish)
		w.until(c, "held", func(i fleet.Infrastructure) bool { return strings.HasPrefix(hostOf(i, "m1").Held, "it is switched on") })
		w.tendHeld(c, "m1", "set the annotation fairlead.dev/erase to the present time")
	}
	held("true")
	held(time.Now().Add(time.Hour).UTC().Format(time.RFC3339))
	w.annotate(c, "m1", "fairlead.dev/erase", time.Now().UTC().Format(time.RFC3339Nano))
	w.until(c, "erased", allFree)
	if err := w.LoseDatabase(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.pause()
	held(c.Companions[0].Annotations["fairlead.dev/erase"])
	if now := h.State(); now.Boots != before.Boots || !now.On {
		t.Errorf("the host was %+v and is %+v", before, now)
	}
}

// TestNewAndKeptOff: a host that is new to Ironic and that people keep off is not erased, though nobody
// remembers a machine on it: it may be in service.
func TestNewAndKeptOff(t *testing.T) {
	t.Parallel()
	w := doubled(t, "m1")
	c := &w.c
	w.rewrite(c, "m1", func(s *api.BareMetalHostSpec) { s.AutomatedCleaningMode, s.Online = api.CleaningMetadata, false })
	w.until(c, "held", func(i fleet.Infrastructure) bool { return strings.HasPrefix(hostOf(i, "m1").Held, "Git keeps it off") })
	w.tendHeld(c, "m1", "Git keeps it off, and something may be on its disk")
	w.rewrite(c, "m1", func(s *api.BareMetalHostSpec) { s.Online = true })
	w.until(c, "available", allFree)
}

// TestSettlesByOneClock: a host that is new to Ironic waits for the settle time, in which its owner may
// claim it, by the agent's clock: that of Ironic may be minutes behind. Other tests see it free afterwards.
func TestSettlesByOneClock(t *testing.T) {
	t.Parallel()
	w := doubled(t, "m1")
	w.p = metal3.New(metal3.Options{Ironic: ironic.Options{Rate: 10_000}, Tick: tick, Settle: time.Hour, Retry: retry})
	t.Cleanup(w.p.Close)
	waits := func(i fleet.Infrastructure) bool {
		return hostOf(i, "m1").Waits == "a cluster that remembers a machine on it, which Ironic does not know yet"
	}
	w.until(&w.c, "waits", waits)
	w.set("m1", "provision_updated_at", time.Now().Add(-2*time.Hour).UTC().Format(time.RFC3339))
	w.pause()
	if got := w.observe(&w.c); !waits(got) || len(got.Upkeep) > 0 {
		t.Errorf("the host is %+v, upkeep %q", hostOf(got, "m1"), got.Upkeep)
	}
}

package metal3_test

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"fairlead.dev/fleet"
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

// TestRememberedElsewhere: an Ironic that lost its database is told of a host by another cluster than the
// one whose machine is on it, switched off: it is held.
func TestRememberedElsewhere(t *testing.T) {
	t.Parallel()
	w := doubled(t, "m1")
	c := &w.c
	w.create(c, worker)
	w.observe(c) // what runs is remembered
	w.observe(c)
	w.hosts["m1"].Press(false)
	if err := w.LoseDatabase(t.Context()); err != nil {
		t.Fatal(err)
	}
	other := w.c
	other.Key.Name, other.Residence = "eu-2", fleet.Residence{}
	w.pause()
	w.until(&other, "held", func(i fleet.Infrastructure) bool {
		return hostOf(i, "m1").Held == "machine "+string(worker)+" of cluster "+w.namespace+"/eu-1 ran on it, and is to be adopted"
	})
	w.until(c, "adopted", func(i fleet.Infrastructure) bool {
		return machineOf(i, worker).State == fleet.MachineRunning && !machineOf(i, worker).Silent
	})
	if s := w.hosts["m1"].State(); s.Disk == nil {
		t.Errorf("the host is %+v", s)
	}
}

// TestNewHostSettles: a host that is new to Ironic is nobody's when there was time to claim it.
func TestNewHostSettles(t *testing.T) {
	t.Parallel()
	w := doubled(t, "m1")
	w.until(&w.c, "waits", func(i fleet.Infrastructure) bool {
		return hostOf(i, "m1").Waits == "whoever remembers a machine on it, which Ironic does not know yet"
	})
	w.until(&w.c, "available", allFree)
}

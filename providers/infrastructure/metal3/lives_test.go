package metal3_test

import (
	"net/http"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/metal3/metal3test"
)

// askedInVain makes a worker and asks for its deletion while its BMC does not answer. It returns when
// the worker was made.
func (w *world) askedInVain(c *fleet.Cluster) time.Time {
	w.Helper()
	made := w.create(c, worker).Created
	silent := w.FailHosts(metal3test.HostFault{Host: w.hosts["m1"].Name(), At: metal3test.AtRequest})
	w.until(c, "silent", func(i fleet.Infrastructure) bool { return machineOf(i, worker).Silent })
	if err := w.p.DeleteMachine(w.Context(), "op-2", c, worker, ""); err != nil {
		w.Fatal(err)
	}
	silent.End()
	w.until(c, "heard again", func(i fleet.Infrastructure) bool { return !machineOf(i, worker).Silent })
	w.ask(http.MethodPut, "m1", "/states/provision", map[string]any{"target": "deleted"}) // people release the host
	return made
}

// madeAt has the tags of the machine on m1 say when it was made: tests are quicker than their seconds.
func (w *world) madeAt(at time.Time) {
	w.Helper()
	n := w.node("m1")
	extra, info := n["extra"].(map[string]any), n["instance_info"].(map[string]any)
	text := at.UTC().Format(time.RFC3339)
	extra["fairlead"].(map[string]any)["tags"].(map[string]any)["fairlead.dev/created"] = text
	info["fairlead"].(map[string]any)["fairlead.dev/created"] = text
	w.set("m1", "extra", extra)
	w.set("m1", "instance_info", info)
	w.pause()
}

// stays fails unless the worker is shown as one that nobody asked to delete.
func (w *world) stays(c *fleet.Cluster) {
	w.Helper()
	got := w.until(c, "provisioned", func(i fleet.Infrastructure) bool {
		return machineOf(i, worker).Name != "" && hostOf(i, "m1").State == fleet.HostProvisioned
	})
	if m := machineOf(got, worker); m.State != fleet.MachineRunning || m.Interrupted {
		w.Errorf("the new machine, which nobody asked to delete, is %s, interrupted %v", m.State, m.Interrupted)
	}
}

// TestNextMachineOfANameStays: a deletion that waited for a silent BMC ends with the machine that it was
// asked for.
func TestNextMachineOfANameStays(t *testing.T) {
	t.Parallel()
	w := doubled(t, "m1")
	c := &w.c
	made := w.askedInVain(c)
	w.until(c, "free", func(i fleet.Infrastructure) bool { return machineOf(i, worker).Name == "" && allFree(i) })
	w.create(c, worker)
	w.madeAt(made)
	w.stays(c)
}

// TestNextMachineOfANameUnseen: the same, where another process made the next machine before this one
// looked again.
func TestNextMachineOfANameUnseen(t *testing.T) {
	t.Parallel()
	w := doubled(t, "m1")
	c := &w.c
	w.askedInVain(c)
	first := w.p
	w.p = w.provider()
	w.until(c, "free", func(i fleet.Infrastructure) bool { return machineOf(i, worker).Name == "" && allFree(i) })
	w.create(c, worker)
	w.madeAt(time.Now().Add(time.Hour))
	w.p = first
	w.stays(c)
}

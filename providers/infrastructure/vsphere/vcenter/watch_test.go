package vcenter

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/snapshot"
)

// watching runs a Watch until the test ends, and returns what it tells.
func (w *world) watching(c *Client) <-chan snapshot.Owner {
	w.t.Helper()
	told := make(chan snapshot.Owner, 100)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- c.Watch(ctx, func(token string) (snapshot.Owner, bool) {
			name, ok := strings.CutPrefix(token, "make ")
			return prod.Part(fleet.MachineName(name)), ok
		}, func(o snapshot.Owner) { told <- o })
	}()
	w.t.Cleanup(func() {
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			w.t.Errorf("the watch ended with %v", err)
		}
	})
	return told
}

// awaitFilter waits until the client knows how what it follows looks.
func (w *world) awaitFilter() {
	w.t.Helper()
	for {
		w.mu.Lock()
		for _, c := range w.calls {
			if c.Method == "WaitForUpdatesEx" { // the first one ended: what follows is waited for
				w.mu.Unlock()
				return
			}
		}
		w.mu.Unlock()
		select {
		case <-w.t.Context().Done():
			w.t.Fatal("nobody waits for updates")
		default:
		}
	}
}

func TestWatch(t *testing.T) {
	w := newWorld(t, Options{})
	c := w.client()
	w.tag("DC0_H0_VM0", tagsOf("a"), "")
	w.tag("DC0_H0_VM1", tagsOf("b"), "")
	w.look(c)
	told := w.watching(c)
	w.awaitFilter()
	if len(told) != 0 {
		t.Fatalf("nothing changed, and %v was told", <-told)
	}
	w.update(w.vm("DC0_C0_RP0_VM0"), types.PropertyChange{Name: "guest.ipAddress", Val: "10.0.0.8"}) // another's
	w.update(w.vm("DC0_H0_VM0"), types.PropertyChange{Name: "guest.ipAddress", Val: "10.0.0.7"})
	if got := <-told; got != prod.Part("a") {
		t.Errorf("told was %v", got)
	}
	w.wait(object.NewVirtualMachine(w.admin(), w.vm("DC0_H0_VM1").Self).PowerOff(t.Context()))
	if got := <-told; got != prod.Part("b") {
		t.Errorf("told was %v", got)
	}
	w.wait(object.NewVirtualMachine(w.admin(), w.vm("DC0_H0_VM1").Self).Destroy(t.Context()))
	if got := <-told; got != prod.Part("b") {
		t.Errorf("told was %v", got)
	}
	// What a look adds is followed, too, and what changed between the two is told.
	w.tag("DC0_C0_RP0_VM1", tagsOf("c"), "")
	w.look(c)
	w.update(w.vm("DC0_C0_RP0_VM1"), types.PropertyChange{Name: "guest.ipAddress", Val: "10.0.0.9"})
	if got := <-told; got != prod.Part("c") {
		t.Errorf("told was %v", got)
	}
}

// TestWatchTask: a task that ends is told, whose VM nobody saw yet.
func TestWatchTask(t *testing.T) {
	w := newWorld(t, Options{})
	c := w.client()
	sim := w.vm("DC0_H0_VM0")
	task, err := c.Clone(t.Context(), sim.Self, *sim.Parent, "new", types.VirtualMachineCloneSpec{Location: types.VirtualMachineRelocateSpec{Pool: sim.ResourcePool}}, "make n")
	w.done(c, task, err)
	o := w.model.Map().Get(task).(*simulator.Task)
	w.update(o, types.PropertyChange{Name: "info.state", Val: types.TaskInfoStateRunning})
	w.look(c)
	told := w.watching(c)
	w.awaitFilter()
	w.update(o, types.PropertyChange{Name: "info.state", Val: types.TaskInfoStateSuccess})
	if got := <-told; got != prod.Part("n") {
		t.Errorf("told was %v", got)
	}
}

// TestWatchSessionEnds: the watch goes on with another session.
func TestWatchSessionEnds(t *testing.T) {
	w := newWorld(t, Options{})
	c := w.client()
	c.poll = time.Second // vcsim goes on with what the old session waits for
	w.tag("DC0_H0_VM0", tagsOf("a"), "")
	w.look(c)
	told := w.watching(c)
	w.awaitFilter()
	w.called()
	w.endSessions()
	w.tag("DC0_H0_VM1", tagsOf("b"), "")
	w.look(c) // ends the wait of the old session, as there is another VM
	w.awaitFilter()
	w.update(w.vm("DC0_H0_VM1"), types.PropertyChange{Name: "guest.ipAddress", Val: "10.0.0.7"})
	if got := <-told; got != prod.Part("b") {
		t.Errorf("told was %v", got)
	}
}

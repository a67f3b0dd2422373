package vsphere_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/vsphere"
	"fairlead.dev/providers/infrastructure/vsphere/vspheretest"
)

// watching watches until the test ends, and returns what is told.
func (b *bench) watching() <-chan fleet.Key {
	b.t.Helper()
	told := make(chan fleet.Key, 1000)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- b.p.Watch(ctx, func(k fleet.Key) { told <- k }) }()
	b.t.Cleanup(func() {
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			b.t.Errorf("Watch = %v, want that its context ended", err)
		}
	})
	return told
}

// awaitCalls waits until method was called n times since the calls were forgotten.
func (b *bench) awaitCalls(method string, n int) {
	b.t.Helper()
	for range 500 {
		if calls, _, _ := b.w.Count(method); calls >= n {
			return
		}
		wait := time.NewTimer(tick)
		select {
		case <-wait.C:
		case <-b.t.Context().Done():
			b.t.Fatal(b.t.Context().Err())
		}
	}
	b.t.Fatalf("%s is not called %d times: %v", method, n, b.w.Calls())
}

// seldom has a provider whose looks are too seldom to tell anything.
func (b *bench) seldom() {
	b.t.Helper()
	b.p.Close()
	b.p = newProvider(b.t, func(o *vsphere.Options) { o.VCenter.Tick = time.Hour })
}

// TestWatch: vCenter tells what changed, whose cluster alone is told, and that one's next look
// shows it.
func TestWatch(t *testing.T) {
	b := newBench(t, nil)
	b.make("m-0")
	first := b.c
	other := b.w.cluster(t, nil)
	other.Key.Name = "eu-2"
	b.c = &other
	b.restart() // the inventory that is known lacks the folder
	b.ensure()
	b.make("m-1")
	b.seldom()
	b.c = first
	b.observe()
	b.c = &other
	b.observe()
	b.w.ResetCalls()
	told := b.watching()
	b.awaitCalls("WaitForUpdatesEx", 2) // the first tells how everything looks
	b.w.Power(b.vms("m-1")[0].Ref, false)
	if got := <-told; got != other.Key {
		t.Errorf("told was %s, want prod/eu-2", got)
	}
	if i := b.observe(); len(i.Upkeep) != 1 {
		t.Errorf("upkeep %q, want that the machine is to be switched on", i.Upkeep)
	}
	b.w.Destroy(b.vms("m-0")[0].Ref)
	for got := range told {
		if got == first.Key {
			break
		}
	}
	for len(told) > 0 {
		<-told
	}
	b.c = first
	if i := b.observe(); len(i.Machines) > 0 {
		t.Errorf("machines %+v, want none", i.Machines)
	}
}

// TestWatchClone: the end of a clone is told to the cluster that its token names.
func TestWatchClone(t *testing.T) {
	b := newBench(t, nil)
	b.seldom()
	b.ensure()
	held := b.w.FailTasks(vspheretest.TaskFault{Task: "CloneVM_Task", Hold: true})
	if err := b.ask("m-0"); err != nil {
		t.Fatal(err)
	}
	if err := held.Await(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if i := b.observe(); len(i.Machines) != 1 {
		t.Fatalf("machines %+v, want the one that is being cloned", i.Machines)
	}
	b.w.ResetCalls()
	told := b.watching()
	b.awaitCalls("WaitForUpdatesEx", 2)
	held.Release()
	if got := <-told; got != b.c.Key {
		t.Errorf("told was %s, want prod/eu-1", got)
	}
}

// TestWatchIdle: while vCenter tells changes, nobody looks.
func TestWatchIdle(t *testing.T) {
	b := newBench(t, nil)
	b.make("m-0")
	b.w.ResetCalls()
	b.watching()
	b.awaitCalls("WaitForUpdatesEx", 2)
	time.Sleep(3 * tick) // a look that is under way ends
	b.w.ResetCalls()
	time.Sleep(20 * tick)
	if calls, _, _ := b.w.Count("*"); calls > 0 {
		t.Errorf("%d calls while nothing happened: %v", calls, b.w.Calls())
	}
}

// TestWatchSessionEnds: what the session waited for is waited for again, after a look.
func TestWatchSessionEnds(t *testing.T) {
	b := newBench(t, nil)
	b.make("m-0")
	b.w.ResetCalls()
	told := b.watching()
	b.awaitCalls("WaitForUpdatesEx", 2)
	b.w.ResetCalls()
	b.w.EndSessions("")
	b.awaitCalls("CreateFilter", 1)
	b.awaitCalls("RetrievePropertiesEx", 1)
	b.w.Edit(b.vms("m-0")[0].Ref, types.PropertyChange{Name: "guest.ipAddress", Val: "10.0.0.99"})
	if got := <-told; got != b.c.Key {
		t.Errorf("told was %s, want prod/eu-1", got)
	}
}

package vsphere_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
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
	b.await(method, func() bool { return b.called(method) >= n })
}

// awaitDone waits until a fault met n calls.
func (b *bench) awaitDone(f *vspheretest.Injected, n int) {
	b.t.Helper()
	b.await("the fault", func() bool { return f.Done() >= n })
}

// await waits until ok.
func (b *bench) await(what string, ok func() bool) {
	b.t.Helper()
	for range 500 {
		if ok() {
			return
		}
		wait := time.NewTimer(tick)
		select {
		case <-wait.C:
		case <-b.t.Context().Done():
			b.t.Fatal(b.t.Context().Err())
		}
	}
	b.t.Fatalf("%s does not come as often as it should: %v", what, b.w.Calls())
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
	t.Parallel()
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
	t.Parallel()
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

// next returns what is told next.
func (b *bench) next(told <-chan fleet.Key) fleet.Key {
	b.t.Helper()
	limit := time.NewTimer(time.Minute)
	defer limit.Stop()
	select {
	case k := <-told:
		return k
	case <-limit.C:
		b.t.Fatalf("nothing is told; calls: %v", b.w.Calls())
	}
	return fleet.Key{}
}

// neighbor makes a machine of another cluster on the same vCenter, for which p is asked.
func (b *bench) neighbor(p *vsphere.Provider, cluster string, name fleet.MachineName) *bench {
	b.t.Helper()
	c := b.w.cluster(b.t, nil)
	c.Key.Name = cluster
	other := &bench{b.t, b.w, p, &c}
	other.ensure()
	other.make(name)
	return other
}

// address gives the guest of a machine another address.
func (b *bench) address(name, ip string) {
	b.w.Edit(b.vms(name)[0].Ref, types.PropertyChange{Name: "guest.ipAddress", Val: ip})
}

// TestWatchIdle: while vCenter tells changes, nobody looks, and nobody waits for them twice,
// however many ticks pass.
func TestWatchIdle(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	b.make("m-0")
	b.p.Close()
	b.p = newProvider(t, func(o *vsphere.Options) { o.VCenter.Tick = time.Millisecond })
	b.observe()
	b.w.ResetCalls()
	b.watching()
	b.awaitCalls("WaitForUpdatesEx", 2)
	for round := range 10 { // a look that is under way ends in one of the first
		b.w.ResetCalls()
		for i := range 10 {
			b.address("m-0", fmt.Sprintf("10.0.%d.%d", round, i+1))
			b.awaitCalls("WaitForUpdatesEx", i+1) // the change was told, and the next is waited for
		}
		if !slices.ContainsFunc(b.w.Calls(), func(c vspheretest.Call) bool { return c.Method != "WaitForUpdatesEx" }) {
			return
		}
	}
	t.Errorf("%d looks and %d waits began while vCenter tells changes", b.called("RetrievePropertiesEx"), b.called("CreateFilter"))
}

// TestWatchOthers: what is of clusters that this process does not keep is not told.
func TestWatchOthers(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	b.make("m-0")
	last := b.neighbor(newProvider(t, nil), "eu-2", "m-1")
	others := b.neighbor(newProvider(t, nil), "eu-3", "m-2")
	held := b.w.FailTasks(vspheretest.TaskFault{Task: "CloneVM_Task", Hold: true})
	if err := others.ask("m-3"); err != nil { // a clone of theirs, too
		t.Fatal(err)
	}
	if err := held.Await(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	b.seldom()
	b.observe()
	last.p = b.p
	last.observe()
	b.w.ResetCalls()
	told := b.watching()
	b.awaitCalls("WaitForUpdatesEx", 2)
	held.End()
	others.until("it is cloned", func(i fleet.Infrastructure) bool { return len(i.Upkeep) == 1 })
	others.address("m-2", "10.0.0.77")
	last.address("m-1", "10.0.0.78")
	if got := b.next(told); got != last.c.Key {
		t.Errorf("told was %s, want %s alone", got, last.c.Key)
	}
}

// TestWatchRelook: what another agent made shows in the next whole look, which comes also while
// vCenter tells changes.
func TestWatchRelook(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	b.make("m-0")
	another := b.p
	b.p = newProvider(t, func(o *vsphere.Options) { o.Relook = 10 * tick })
	b.observe()
	b.w.ResetCalls()
	told := b.watching()
	b.awaitCalls("WaitForUpdatesEx", 2)
	b.p, another = another, b.p
	if err := b.ask("m-1"); err != nil {
		t.Fatal(err)
	}
	if got := b.next(told); got != b.c.Key {
		t.Errorf("told was %s, want %s", got, b.c.Key)
	}
	b.p, another = another, b.p
	b.until("it shows", func(i fleet.Infrastructure) bool { return len(i.Machines) == 2 })
	another.Close()
}

// TestWatchMoves: a vCenter that a cluster left and came back to is waited for again.
func TestWatchMoves(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	b.make("m-0")
	elsewhere := newWorld(t, vspheretest.Options{Datacenters: 1})
	there := elsewhere.cluster(t, nil)
	b.w.ResetCalls()
	told := b.watching()
	b.awaitCalls("WaitForUpdatesEx", 2)
	if _, err := b.p.Observe(t.Context(), &there); err != nil {
		t.Fatal(err)
	}
	b.awaitCalls("DestroyPropertyCollector", 1)
	b.w.ResetCalls()
	b.observe()
	b.awaitCalls("WaitForUpdatesEx", 2)
	b.address("m-0", "10.0.0.99")
	for b.next(told) != b.c.Key {
	}
}

// TestWatchRestart: while a vCenter is away nothing is told of it, what happened meanwhile is
// told when it is back, and changes are waited for again, of a session of their own.
func TestWatchRestart(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	b.make("m-0")
	b.w.ResetCalls()
	told := b.watching()
	b.awaitCalls("WaitForUpdatesEx", 2)
	away := b.w.FailCalls(vspheretest.CallFault{Cut: true})
	b.w.EndSessions("")
	b.awaitDone(away, 2)
	b.w.Power(b.vms("m-0")[0].Ref, false)
	b.w.ResetCalls()
	away.End()
	if got := b.next(told); got != b.c.Key {
		t.Errorf("told was %s, want %s", got, b.c.Key)
	}
	b.until("it is off", func(i fleet.Infrastructure) bool { return len(i.Upkeep) == 1 })
	b.awaitCalls("CreateFilter", 1)
	b.awaitCalls("WaitForUpdatesEx", 2)
	for len(told) > 0 {
		<-told
	}
	b.w.Power(b.vms("m-0")[0].Ref, true)
	if got := b.next(told); got != b.c.Key {
		t.Errorf("told was %s, want %s", got, b.c.Key)
	}
}

// TestWatchFails: where vCenter does not let changes be waited for, looks show them.
func TestWatchFails(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	b.make("m-0")
	b.w.ResetCalls()
	told := b.watching()
	b.awaitCalls("WaitForUpdatesEx", 2)
	refused := b.w.FailCalls(vspheretest.CallFault{Method: "CreatePropertyCollector", Fault: &types.NoPermission{PrivilegeId: "System.View"}})
	b.w.EndSessions("")
	b.awaitDone(refused, 1)
	for len(told) > 0 {
		<-told
	}
	b.w.Power(b.vms("m-0")[0].Ref, false)
	if got := b.next(told); got != b.c.Key {
		t.Errorf("told was %s, want %s", got, b.c.Key)
	}
}

// TestWatchSessionEnds: what the session waited for is waited for again, after a look.
func TestWatchSessionEnds(t *testing.T) {
	t.Parallel()
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

// TestClustersOfASilentVCenter: where one vCenter does not answer, the clusters of the others are listed
// with its error.
func TestClustersOfASilentVCenter(t *testing.T) {
	a, b := newBench(t, nil), newBench(t, nil)
	a.make("m-0")
	b.p, b.c.Key.Name = a.p, "eu-2"
	b.ensure()
	b.w.FailCalls(vspheretest.CallFault{Method: "RetrievePropertiesEx", Status: 503})
	time.Sleep(2 * tick) // no look is good enough
	got, err := a.p.Clusters(t.Context(), "acme")
	if !slices.Contains(got, a.c.Key) || err == nil || !strings.Contains(err.Error(), b.w.Server()) {
		t.Errorf("Clusters = %v, %v, want those of the vCenter that answers, and the error of the other", got, err)
	}
}

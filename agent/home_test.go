package agent

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/agent/ownership/home"
	"fairlead.dev/fleet"
	"fairlead.dev/sources"
)

// carrier is a Mover that does what a test says, and remembers.
type carrier struct {
	mu   sync.Mutex
	done []string
	undo []error // of the first times that a move is taken back
	run  func(ctx context.Context, m home.Move, show func(step, why string)) error
}

func (c *carrier) note(s string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.done = append(c.done, s)
}

// took returns what was done since it was asked last.
func (c *carrier) took() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer func() { c.done = nil }()
	return c.done
}

// carrying is a move that c makes.
type carrying struct {
	c *carrier
	m home.Move
}

func (c carrying) Run(ctx context.Context, show func(step, why string)) error {
	c.c.note("move to " + c.m.Home.Cluster.String())
	return c.c.run(ctx, c.m, show)
}

func (c carrying) Undo(context.Context) error {
	c.c.note("undo " + c.m.Home.Cluster.String())
	c.c.mu.Lock()
	defer c.c.mu.Unlock()
	if len(c.c.undo) == 0 {
		return nil
	}
	err := c.c.undo[0]
	c.c.undo = c.c.undo[1:]
	return err
}

// waits is a move that waits for something, for ever.
func waits(ctx context.Context, _ home.Move, show func(step, why string)) error {
	show("control plane", "1 of 3 machines are ready")
	<-ctx.Done()
	return ctx.Err()
}

// homed is a fleet whose revision rev names a home; the zero key: none.
func homed(rev string, at fleet.Key) fleet.Fleet {
	f := fleetOf(rev, fleet.Prune{}, clusterOf(keyA, rev, "x"), clusterOf(keyB, rev, "x"))
	f.Config.Home.Cluster = at
	return f
}

// runMover runs an agent called name whose moves c makes, and returns how it ended.
func runMover(t *testing.T, w *world, name string, c *carrier, do func()) (err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		o, p := w.options(Options{}), w.parts()
		o.Name = name
		if c != nil {
			p.Mover = func(m home.Move) (home.Mover, error) { return carrying{c, m}, nil }
		}
		a := New(o, p)
		done := make(chan error, 1)
		go func() { done <- a.Run(ctx) }()
		synctest.Wait()
		do()
		synctest.Wait()
		cancel()
		err = <-done
	})
	return err
}

// A home that fleet.yaml names is moved to; another one instead of it, and none
// at all, take back what was begun.
func TestDeclaredHome(t *testing.T) {
	w := newWorld(homed("1", keyA), homed("2", keyA), homed("3", keyB), homed("4", fleet.Key{}))
	c := &carrier{run: waits}
	err := runMover(t, w, "me", c, func() {
		expect(t, "it moves", c.took(), []string{"move to " + keyA.String()})
		poll()
		expect(t, "the step is told", w.whole().Home, sources.HomeStatus{Cluster: keyA, Step: "control plane", Message: "1 of 3 machines are ready"})
		w.push("2")
		expect(t, "the same home is the same move", c.took(), []string(nil))
		w.push("3")
		expect(t, "another home", c.took(), []string{"undo " + keyA.String(), "move to " + keyB.String()})
		w.push("4")
		expect(t, "no home", c.took(), []string{"undo " + keyB.String()})
		expect(t, "nothing is told of it", w.whole().Home, sources.HomeStatus{})
	})
	if err != nil {
		t.Error(err)
	}
}

// The agent that lives in the home has nothing to do, and says where it stays
// once fleet.yaml names none.
func TestAtHome(t *testing.T) {
	w := newWorld(homed("1", keyA), homed("2", fleet.Key{}))
	c := &carrier{run: waits}
	_ = runMover(t, w, "home."+keyA.Namespace+"."+keyA.Name, c, func() {
		poll()
		expect(t, "it is there", w.whole().Home, sources.HomeStatus{Cluster: keyA})
		w.push("2")
		expect(t, "it stays", w.whole().Home, sources.HomeStatus{Message: "fleet.yaml names no home: the agent stays in " + keyA.String()})
		expect(t, "nothing moved", c.took(), []string(nil))
	})
}

// An agent that moves nothing by itself says how to ask for it.
func TestHomeOfARescue(t *testing.T) {
	w := newWorld(homed("1", keyA))
	_ = runMover(t, w, "me", nil, func() {
		poll()
		expect(t, "it says so", w.whole().Home, sources.HomeStatus{Cluster: keyA, Message: "this agent stays until it is asked: fairlead pivot --to " + keyA.String()})
	})
}

// What goes wrong is a problem of fleet.yaml as long as it does, and tried again.
func TestHomeThatFails(t *testing.T) {
	w := newWorld(homed("1", keyA))
	var fails atomic.Bool
	fails.Store(true)
	c := &carrier{run: func(ctx context.Context, m home.Move, show func(step, why string)) error {
		if fails.Load() {
			show("install the agent", "it waits for the fleet")
			return errors.New("the chart refuses\nthe values")
		}
		return waits(ctx, m, show)
	}}
	_ = runMover(t, w, "me", c, func() {
		poll()
		problems := w.whole().Problems
		if len(problems) != 1 || problems[0].File != "fleet.yaml" || problems[0].Field != "spec.home" ||
			problems[0].Message != "the fleet does not get to its home "+keyA.String()+": the chart refuses the values" {
			t.Errorf("problems are %+v", problems)
		}
		expect(t, "the step", w.whole().Home, sources.HomeStatus{Cluster: keyA, Step: "install the agent"})
		tries := len(c.took())
		if tries < 2 || tries > 6 {
			t.Errorf("it was tried %d times in a minute", tries)
		}
		fails.Store(false)
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		expect(t, "no problem is left", w.whole().Problems, []fleet.Problem(nil))
		expect(t, "it goes on", w.whole().Home.Step, "control plane")
	})
}

// The owner that comes from another home clears that; what was left is on the
// status branch, so that one that was killed goes on.
func TestNewOwnerClearsTheOldHome(t *testing.T) {
	w := newWorld(homed("1", keyA))
	w.record.Fleet.Home = sources.HomeStatus{Cluster: keyA, Left: "home." + keyB.Namespace + "." + keyB.Name}
	var left []fleet.Key
	c := &carrier{run: func(_ context.Context, m home.Move, show func(step, why string)) error {
		left = append(left, m.Left)
		show("remove the secrets here", "they are with the new owner")
		return nil
	}}
	_ = runMover(t, w, "home."+keyA.Namespace+"."+keyA.Name, c, func() {
		poll()
		expect(t, "it is told what to clear", left, []fleet.Key{keyB})
		expect(t, "then all is done", w.whole().Home, sources.HomeStatus{Cluster: keyA})
	})
}

// An owner in a home names itself as what is left before it hands over, unless
// all is to be kept.
func TestOldHomeIsNamed(t *testing.T) {
	for _, keep := range []bool{false, true} {
		f := homed("1", keyA)
		f.Config.Home.Keep = keep
		w := newWorld(f)
		self := "home." + keyB.Namespace + "." + keyB.Name
		want := self
		if keep {
			want = ""
		}
		_ = runMover(t, w, self, &carrier{run: waits}, func() {
			poll()
			expect(t, "what is left", w.whole().Home.Left, want)
		})
	}
}

package agent

import (
	"context"
	"errors"
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
			Writer:  func(fleet.Owner, *status.Notifications) sources.StatusWriter { return h.world },
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

package replicas

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/agent/replicas/leasetest"
	"fairlead.dev/fleet"
	"fairlead.dev/reconcile"
)

const (
	shards   = 8
	clusters = 40
	tick     = 50 * time.Millisecond
)

// A world is replicas that share the clusters of a fleet.
type world struct {
	t   *testing.T
	ctx context.Context
	api *leasetest.API

	mu       sync.Mutex
	replicas map[string]*replica // by identity
	acts     map[fleet.Key]map[time.Time]string
	last     map[fleet.Key]time.Time
	lost     error // why the fleet is not the agent's any more
}

// A replica is one process.
type replica struct {
	*Replica
	client *leasetest.Client
	name   string
	end    context.CancelFunc
	done   sync.WaitGroup
	apart  bool // no other replica reaches it
}

// run runs test in a bubble, with so many replicas.
func run(t *testing.T, n int, test func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		w := &world{
			t: t, ctx: ctx, api: leasetest.New(), replicas: make(map[string]*replica),
			acts: make(map[fleet.Key]map[time.Time]string), last: make(map[fleet.Key]time.Time),
		}
		defer func() {
			cancel()
			for _, r := range w.replicas {
				r.done.Wait()
			}
		}()
		for i := range n {
			w.start(fmt.Sprintf("r%d", i))
		}
		time.Sleep(30 * time.Second)
		test(w)
	})
}

func (w *world) start(name string) *replica { return w.startWith(name, shards) }

// startWith starts a replica that divides the clusters into so many shards.
func (w *world) startWith(name string, shards int) *replica {
	w.t.Helper()
	ctx, cancel := context.WithCancel(w.ctx)
	r := &replica{client: w.api.Client(), name: name, end: cancel}
	r.Replica = New(Options{
		Leases: r.client, Namespace: "n", Agent: "fairlead", Identity: name, Shards: shards, Workers: 4,
		Reconciler: func(may func(fleet.Key) error, _ func(fleet.Key)) reconcile.Passes {
			return &acting{w: w, name: name, may: may}
		},
	})
	w.mu.Lock()
	w.replicas[name] = r
	w.mu.Unlock()
	e, err := NewElector(ElectionOptions{Leases: r.client, Namespace: "n", Name: "fairlead", Labels: Labels("fairlead"), Identity: name})
	if err != nil {
		w.t.Fatal(err)
	}
	r.done.Go(func() { _ = r.Run(ctx) })
	r.done.Go(func() {
		_ = e.Run(ctx, func(ctx context.Context, t *Term) error { w.lead(ctx, r, t); return nil })
	})
	return r
}

// lead asks for a pass over each cluster, again and again.
func (w *world) lead(ctx context.Context, r *replica, t *Term) {
	var wg sync.WaitGroup
	defer wg.Wait()
	router := NewRouter(r.Replica, func(identity string) (Peer, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		return line{w, r, w.replicas[identity]}, nil
	}, func(fleet.Key) error {
		w.mu.Lock()
		defer w.mu.Unlock()
		return errors.Join(w.lost, t.Leading())
	}, func(fleet.Key) {}, func() string { return "" })
	wg.Go(func() { _ = router.Attend(ctx) })
	for _, k := range keys() {
		wg.Go(func() {
			for ctx.Err() == nil {
				res := router.Pass(ctx, &fleet.Cluster{Key: k}, fleet.Memory{})
				if res.Err == nil {
					w.mu.Lock()
					w.last[k] = time.Now()
					w.mu.Unlock()
				}
				pause(ctx, 700*time.Millisecond)
			}
		})
	}
}

// A line is how one replica reaches another.
type line struct {
	w        *world
	from, to *replica
}

var errApart = errors.New("no route to host")

func (l line) broken() bool {
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	return l.from.apart || l.to.apart
}

func (l line) Heartbeat(ctx context.Context, leader, answer string) (string, []fleet.Key, error) {
	if l.broken() {
		pause(ctx, time.Second)
		return "", nil, errApart
	}
	q, changed, err := l.to.Heartbeat(ctx, leader, answer)
	if l.broken() {
		return "", nil, errApart
	}
	return q, changed, err
}

// Pass goes on at the other end when the line breaks: nobody tells it.
func (l line) Pass(ctx context.Context, leader string, c *fleet.Cluster, known fleet.Memory, frozen string) reconcile.Result {
	if l.broken() {
		return reconcile.Result{Err: reconcile.ErrPostponed, After: time.Second}
	}
	return l.to.Pass(context.WithoutCancel(ctx), leader, c, known, frozen)
}

// acting is a reconciler whose passes act for a while.
type acting struct {
	reconcile.Unattended
	w    *world
	name string
	may  func(fleet.Key) error
}

func (a *acting) Pass(ctx context.Context, c *fleet.Cluster, known fleet.Memory) reconcile.Result {
	for range 20 {
		if ctx.Err() != nil || a.may(c.Key) != nil {
			return reconcile.Result{Err: errors.New("not allowed")}
		}
		a.w.act(c.Key, a.name)
		time.Sleep(tick)
	}
	return reconcile.Result{}
}

func (a *acting) Forget(fleet.Key) {}

func (w *world) act(k fleet.Key, name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	at := time.Now().Truncate(tick)
	if w.acts[k] == nil {
		w.acts[k] = make(map[time.Time]string)
	}
	if other := w.acts[k][at]; other != "" && other != name {
		w.t.Errorf("at %s %s and %s act on %s", at, other, name, k)
	}
	w.acts[k][at] = name
	w.acts[k][at.Add(tick)] = name // an act takes a moment
}

// actors returns who acted within the last so long.
func (w *world) actors(within time.Duration) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []string
	for _, acts := range w.acts {
		for at, name := range acts {
			if !at.After(time.Now()) && time.Since(at) < within {
				out = append(out, name)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// everyCluster fails where a cluster had no whole pass within the last so long.
func (w *world) everyCluster(within time.Duration) {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, k := range keys() {
		if d := time.Since(w.last[k]); d > within {
			w.t.Errorf("%s had no pass for %s", k, d)
		}
	}
}

// shares returns how many shards each live session holds, sorted.
func (w *world) shares() []int {
	w.t.Helper()
	v, err := listLeases(w.t.Context(), w.api.Client().Leases("n"), "fairlead")
	if err != nil {
		w.t.Fatal(err)
	}
	held := map[string]int{}
	for name := range v.sessions {
		held[name] = 0
	}
	for i := range shards {
		if s := v.holderOf(i); s != "" {
			held[s]++
		}
	}
	var out []int
	for _, n := range held {
		out = append(out, n)
	}
	slices.Sort(out)
	return out
}

func keys() []fleet.Key {
	out := make([]fleet.Key, clusters)
	for i := range out {
		out[i] = fleet.Key{Namespace: "prod", Name: fmt.Sprintf("c%d", i)}
	}
	return out
}

func (w *world) leader() *replica {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.replicas[w.api.Holder("fairlead")]
}

func (w *world) follower() *replica {
	w.mu.Lock()
	defer w.mu.Unlock()
	for name, r := range w.replicas {
		if name != w.api.Holder("fairlead") {
			return r
		}
	}
	return nil
}

func (w *world) cut(r *replica, fromAPI, fromReplicas bool) {
	w.mu.Lock()
	r.apart = fromReplicas
	w.mu.Unlock()
	r.client.Fail(leasetest.Faults{Away: fromAPI})
}

func expectShares(t *testing.T, reason string, got []int, want ...int) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: shards are shared %v, not %v", reason, got, want)
	}
}

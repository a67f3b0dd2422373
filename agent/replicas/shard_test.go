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
	}, func(fleet.Key) {})
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
func (l line) Pass(ctx context.Context, leader string, c *fleet.Cluster, known fleet.Memory) reconcile.Result {
	if l.broken() {
		return reconcile.Result{Err: reconcile.ErrPostponed, After: time.Second}
	}
	return l.to.Pass(context.WithoutCancel(ctx), leader, c, known)
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

func TestSharing(t *testing.T) {
	run(t, 3, func(w *world) {
		expectShares(t, "three replicas", w.shares(), 2, 3, 3)
		w.everyCluster(8 * time.Second)
		if got := w.actors(5 * time.Second); len(got) != 3 {
			t.Errorf("only %v act", got)
		}
		w.start("late")
		time.Sleep(30 * time.Second)
		expectShares(t, "a fourth gets its share", w.shares(), 2, 2, 2, 2)
		w.everyCluster(8 * time.Second)
		w.follower().end()
		time.Sleep(10 * time.Second)
		expectShares(t, "one that ends gives its shards back", w.shares(), 2, 3, 3)
		w.everyCluster(8 * time.Second)
	})
}

// TestAnotherNumberOfShards rolls out another number of shards while passes go
// on: that no two replicas act at once is looked at all the time. The new ones
// hold nothing until the last of the old ones is gone.
func TestAnotherNumberOfShards(t *testing.T) {
	run(t, 2, func(w *world) {
		old := []*replica{w.follower(), w.leader()}
		first, second := w.startWith("new0", shards+5), w.startWith("new1", shards+5)
		held := func(r *replica) int {
			r.mu.Lock()
			defer r.mu.Unlock()
			return len(r.shards)
		}
		time.Sleep(30 * time.Second)
		if held(first)+held(second) > 0 || held(old[0])+held(old[1]) != shards {
			t.Errorf("beside two old replicas with %d and %d shards the new ones hold %d and %d", held(old[0]), held(old[1]), held(first), held(second))
		}
		w.everyCluster(8 * time.Second)
		for _, r := range old {
			r.end()
			time.Sleep(30 * time.Second)
		}
		if a, b := held(first), held(second); a+b != shards+5 {
			t.Errorf("the new replicas hold %d and %d shards", a, b)
		}
		w.everyCluster(8 * time.Second)
	})
}

// TestMoreReplicasThanShards leaves some idle.
func TestMoreReplicasThanShards(t *testing.T) {
	run(t, 10, func(w *world) {
		expectShares(t, "ten replicas, eight shards", w.shares(), 0, 0, 1, 1, 1, 1, 1, 1, 1, 1)
		w.everyCluster(8 * time.Second)
	})
}

// TestCutOff cuts a replica off: it stops before others take its shards, and all
// clusters are looked after again. That no two act at once is looked at all the
// time.
func TestCutOff(t *testing.T) {
	for name, c := range map[string]struct {
		leader                bool
		fromAPI, fromReplicas bool
		stops                 bool // the replica acts no more
	}{
		"FollowerFromAll":      {false, true, true, true},
		"FollowerFromAPI":      {false, true, false, true},
		"FollowerFromReplicas": {false, false, true, true},
		"LeaderFromAll":        {true, true, true, true},
		"LeaderFromAPI":        {true, true, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, 3, func(w *world) {
				r := w.follower()
				if c.leader {
					r = w.leader()
				}
				w.cut(r, c.fromAPI, c.fromReplicas)
				time.Sleep(12 * time.Second)
				if got := w.actors(time.Second); slices.Contains(got, r.name) == c.stops {
					t.Errorf("after 12 s %v act, %s is cut off", got, r.name)
				}
				time.Sleep(28 * time.Second)
				if c.fromAPI {
					expectShares(t, "the others take over", w.shares(), 4, 4)
					w.everyCluster(8 * time.Second)
				}
				w.cut(r, false, false)
				time.Sleep(30 * time.Second)
				expectShares(t, "it comes back", w.shares(), 2, 3, 3)
				w.everyCluster(8 * time.Second)
			})
		})
	}
}

// TestHandedOver loses the fleet to another agent: all replicas stop, and begin
// again when it comes back.
func TestHandedOver(t *testing.T) {
	run(t, 3, func(w *world) {
		w.mu.Lock()
		w.lost = errors.New("another agent owns the fleet")
		w.mu.Unlock()
		time.Sleep(DefaultDeadline + tick)
		if got := w.actors(2 * tick); len(got) > 0 {
			t.Errorf("%v still act", got)
		}
		w.mu.Lock()
		w.lost = nil
		w.mu.Unlock()
		time.Sleep(10 * time.Second)
		w.everyCluster(8 * time.Second)
	})
}

// TestStaleAnswer: an answer proves only that the leader led after it was asked.
func TestStaleAnswer(t *testing.T) {
	run(t, 2, func(w *world) {
		r, leader := w.follower(), w.leader().name
		w.cut(r, false, true)
		time.Sleep(20 * time.Second)
		q, _, err := r.Heartbeat(t.Context(), leader, "")
		if err != nil || q == "" {
			t.Fatalf("question %q, error %v", q, err)
		}
		time.Sleep(DefaultDeadline)
		if r.accept(leader, q) {
			t.Error("an answer to a question of long ago permits to act")
		}
		q, _, _ = r.Heartbeat(t.Context(), leader, "")
		if r.accept("somebody", q) || !r.accept(leader, q) {
			t.Error("the answer of the leader counts, and no other")
		}
	})
}

// TestLostAnswersOfLeases keeps what was taken though nobody heard of it.
func TestLostAnswersOfLeases(t *testing.T) {
	run(t, 1, func(w *world) {
		r := w.start("late")
		r.client.Fail(leasetest.Faults{LoseAnswers: true})
		time.Sleep(time.Minute)
		r.client.Fail(leasetest.Faults{})
		time.Sleep(time.Minute)
		expectShares(t, "both have their share", w.shares(), 4, 4)
		w.everyCluster(8 * time.Second)
	})
}

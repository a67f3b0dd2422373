package agent

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/agent/secrets/escrow"
	"fairlead.dev/fleet"
)

// vault is an escrow in memory.
type vault struct {
	mu     sync.Mutex
	opened []fleet.Escrow
	kept   [][]fleet.Key
	named  []fleet.Key // the last time
	err    error
}

func (v *vault) open(_ fleet.ID, e fleet.Escrow) (escrow.Copy, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.opened = append(v.opened, e)
	return v, nil
}

func (v *vault) Keep(_ context.Context, clusters, named []fleet.Key) ([]fleet.Key, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.kept, v.named = append(v.kept, clusters), named
	if v.err != nil {
		return clusters, v.err
	}
	return nil, nil
}

func (v *vault) fail(err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.err = err
}

func (v *vault) looks() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return len(v.kept)
}

// inEscrow returns f with a fleet.yaml that asks for an escrow.
// escrowed is a fleet whose fleet.yaml asks for an escrow.
func inEscrow(f fleet.Fleet) fleet.Fleet {
	f.Config.Escrow = fleet.Escrow{Recipients: []string{"age1x"}, Branch: "safe"}
	return f
}

// naming returns c with objects that refer to Secrets in the store.
func naming(c fleet.Cluster, secrets ...string) fleet.Cluster {
	for _, name := range secrets {
		c.Infrastructure.Stored = append(c.Infrastructure.Stored, fleet.Key{Namespace: "prod", Name: name})
	}
	return c
}

// keeping runs an agent with that escrow.
func keeping(t *testing.T, w *world, v *vault, do func(t *testing.T, a *Agent)) {
	t.Helper()
	keepingAs(t, w, v, Options{}, do)
}

// keepingAs does so with options.
func keepingAs(t *testing.T, w *world, v *vault, o Options, do func(t *testing.T, a *Agent)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		p := w.parts()
		p.Escrow = v.open
		a := New(w.options(o), p)
		done := make(chan error, 1)
		go func() { done <- a.Run(ctx) }()
		synctest.Wait()
		do(t, a)
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the agent ended with an error: %v", err)
		}
	})
}

func TestEscrowIsKept(t *testing.T) {
	v := &vault{}
	w := newWorld(
		fleetOf("1", fleet.Prune{}, clusterOf(keyA, "1", "x")),
		inEscrow(fleetOf("2", fleet.Prune{}, clusterOf(keyA, "1", "x"))),
		inEscrow(fleetOf("3", fleet.Prune{}, naming(clusterOf(keyA, "1", "x"), "cloud"), naming(clusterOf(keyB, "1", "x"), "cloud", "bmc"))),
	)
	keeping(t, w, v, func(t *testing.T, a *Agent) {
		w.push("1")
		expect(t, "no escrow without recipients", v.looks(), 0)
		w.push("2")
		expect(t, "it begins with the revision that asks for it", len(v.opened), 1)
		if !a.Writes("safe") {
			t.Error("a push of the escrow's branch is our own")
		}
		before := v.looks()
		time.Sleep(time.Hour)
		synctest.Wait()
		if got := v.looks() - before; got < 10 || got > 14 {
			t.Errorf("%d looks in an hour of nothing, want about 12", got)
		}
		before = v.looks()
		w.push("3")
		expect(t, "a new revision is looked at at once", v.looks() > before, true)
		expect(t, "with all clusters", v.kept[len(v.kept)-1], []fleet.Key{keyA, keyB})
		expect(t, "and the Secrets that they name", v.named, []fleet.Key{{Namespace: "prod", Name: "bmc"}, {Namespace: "prod", Name: "cloud"}})
		expect(t, "the escrow is opened once", len(v.opened), 1)
	})
}

func TestEscrowThatIsBehindIsTold(t *testing.T) {
	v := &vault{}
	w := newWorld(inEscrow(fleetOf("1", fleet.Prune{}, clusterOf(keyA, "1", "x"))))
	behind := func(p fleet.Problem) bool {
		return strings.Contains(p.Message, "the escrow is behind: the place is full")
	}
	keeping(t, w, v, func(t *testing.T, a *Agent) {
		if slices.ContainsFunc(w.whole().Problems, behind) {
			t.Error("an escrow that is up to date is a problem")
		}
		v.fail(errors.New("the place is full"))
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if !slices.ContainsFunc(w.whole().Problems, behind) {
			t.Errorf("the status tells %v, and not that the escrow is behind", w.whole().Problems)
		}
		if _, body := get(a, "/metrics"); !strings.Contains(body, "fairlead_escrow_clusters_behind 1\n") {
			t.Error("no metric tells that a cluster is behind")
		}
		v.fail(nil)
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if slices.ContainsFunc(w.whole().Problems, behind) {
			t.Error("the problem stays when it is mended")
		}
	})
}

func TestEscrowIsTheOwnersAlone(t *testing.T) {
	v := &vault{}
	w := newWorld(inEscrow(fleetOf("1", fleet.Prune{}, clusterOf(keyA, "1", "x"))))
	var lost atomic.Bool
	o := Options{Guard: func() error {
		if lost.Load() {
			return errors.New("another replica leads")
		}
		return nil
	}}
	keepingAs(t, w, v, o, func(t *testing.T, a *Agent) {
		lost.Store(true)
		before := v.looks()
		a.session.Load().escrow.Check()
		time.Sleep(5 * time.Second)
		synctest.Wait()
		expect(t, "who does not own the fleet writes nothing", v.looks(), before)
	})
}

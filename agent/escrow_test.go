package agent

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

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

func (v *vault) open(_ fleet.ID, e fleet.Escrow) (Escrow, error) {
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
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		a := w.agent(Options{})
		a.p.Escrow = v.open
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
	keeping(t, w, v, func(t *testing.T, a *Agent) {
		a.owner.Store(nil)
		before := v.looks()
		a.escrow.poke()
		time.Sleep(5 * time.Second)
		synctest.Wait()
		expect(t, "who does not own the fleet writes nothing", v.looks(), before)
	})
}

func TestChangesSecrets(t *testing.T) {
	for kind, want := range map[fleet.ActionKind]bool{fleet.EnsureCertificates: true, fleet.EnsureKubeconfig: true, fleet.CreateMachine: false} {
		if got := changesSecrets([]fleet.Action{{Kind: kind}}); got != want {
			t.Errorf("%s: got %v, want %v", kind, got, want)
		}
	}
}

func TestTakeOver(t *testing.T) {
	for name, tc := range map[string]struct {
		gone string
		want string // owner afterwards
	}{
		"named":         {"dead@3", "me"},
		"another epoch": {"dead@2", "dead"},
		"another agent": {"other@3", "dead"},
		"not asked for": {"", "dead"},
		"of its name":   {"me@3", "me"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(fleetOf("1", fleet.Prune{}, clusterOf(keyA, "1", "x")))
			w.owner = fleet.Owner{Agent: "dead", Epoch: 3}
			if name == "of its name" {
				w.owner = fleet.Owner{Agent: "me", Epoch: 3, Place: "lost"}
			}
			o := Options{}
			if tc.gone != "" {
				var err error
				if o.TakeOver, err = ParseOwner(tc.gone); err != nil {
					t.Fatal(err)
				}
			}
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				a := w.agent(o)
				a.p.Ledger = handing(a.p.Ledger, w)
				done := make(chan error, 1)
				go func() { done <- a.Run(ctx) }()
				synctest.Wait()
				cancel()
				err := <-done
				refused, is := errors.AsType[*NotOwnerError](err)
				if w.owner.Agent != tc.want || is != (tc.want != "me") || w.owner.Place == "lost" {
					t.Errorf("the owner is %v, the agent ended with %v, %v", w.owner, err, refused)
				}
			})
		})
	}
	for _, text := range []string{"", "dead", "@1", "dead@", "dead@0", "dead@x"} {
		if _, err := ParseOwner(text); err == nil {
			t.Errorf("%q is taken for an owner", text)
		}
	}
	if o, err := ParseOwner("a@b@7"); err != nil || o != (fleet.Owner{Agent: "a@b", Epoch: 7}) {
		t.Errorf("got %v, %v", o, err)
	}
}

// handing makes HandOver of a world work.
func handing(open func(string) (Ledger, error), w *world) func(string) (Ledger, error) {
	return func(branch string) (Ledger, error) {
		l, err := open(branch)
		l.Arbiter = handover{w}
		return l, err
	}
}

type handover struct{ *world }

func (h handover) HandOver(_ context.Context, from fleet.Owner, to, place string) (fleet.Owner, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.owner != from {
		return fleet.Owner{}, fleet.Errorf(fleet.Conflict, "hand over", "the owner is another")
	}
	h.owner = fleet.Owner{Agent: to, Epoch: from.Epoch + 1, Place: place}
	return h.owner, nil
}

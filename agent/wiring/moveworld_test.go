package wiring

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"fairlead.dev/agent/ownership"
	"fairlead.dev/agent/ownership/pivot"
	"fairlead.dev/agent/secrets"
	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/inmemory"
	"fairlead.dev/sources"
	"fairlead.dev/sources/status"
)

// laptop is the agent that lives in no cluster.
const laptop = "laptop"

// The clusters of the fleet: two that its agent can live in, and one more.
func keyHome() fleet.Key { return fleet.Key{Namespace: "ops", Name: "home"} }

func keyOther() fleet.Key { return fleet.Key{Namespace: "ops", Name: "other"} }

func keyProd() fleet.Key { return fleet.Key{Namespace: "prod", Name: "eu-1"} }

func allKeys() []fleet.Key { return []fleet.Key{keyHome(), keyOther(), keyProd()} }

// A moveWorld is all that a fleet that moves is made of, in memory: Git, a cloud,
// secret stores, clusters that agents live in, and the processes that act on
// them. Each change that a process makes passes through the world, which kills the
// process there when it is its turn, and looks what is so after each.
type moveWorld struct {
	t     testing.TB
	net   *inmemory.PipeNetwork
	cloud *inmemory.Cloud
	git   *memoryBranch              // of the status
	vault *memoryBranch              // of the escrow
	home  atomic.Pointer[fleet.Home] // that fleet.yaml names

	mu        sync.Mutex
	stores    map[string]*secrets.Memory // by the agent whose it is
	installed map[fleet.Key]string       // digest of the agent's release, by its cluster
	addons    map[fleet.Key]bool         // that are applied
	config    []byte                     // kubeconfig that was written for a person
	lost      fleet.Owner                // that is gone, with its store
	keys      map[fleet.Key]int          // sets of authorities that were made
	acted     int                        // changes of the cloud and of clusters
	seen      map[string]int             // how often each moment came
	moments   []string                   // in their order
	strike    string                     // the moment at which a process is struck
	fault     fault                      // by what
	struck    bool
	wrong     []string // what must never be so
	signed    bool     // agents have request keys
}

// statusKeys are those of all agents and people, where there are any.
func (w *moveWorld) statusKeys() StatusKeys {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.signed {
		return StatusKeys{}
	}
	return StatusKeys{
		Sign: func(content []byte) (string, error) { return "signed: " + string(content), nil },
		Verify: func(content []byte, signature string) (string, error) {
			if signature != "signed: "+string(content) {
				return "", errors.New("it is not signed")
			}
			return "ada", nil
		},
	}
}

// sign gives keys to all agents and people from now on.
func (w *moveWorld) sign() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.signed = true
}

// A fault is what happens at one moment.
type fault string

const (
	// killed: the process does nothing more, its memory is lost, and what it asked
	// for in that moment is done or not. It is begun again.
	killed fault = "killed"
	// unanswered: what it asked for is done, and it does not hear so.
	unanswered fault = "unanswered"
	// undone: it is killed, and the person takes the move back.
	undone fault = "undone"
	// withdrawn: fleet.yaml names no home any more.
	withdrawn fault = "withdrawn"
	// forsaken: that, and the process is killed.
	forsaken fault = "forsaken"
)

func (f fault) kills() bool { return f == killed || f == undone || f == forsaken }

// errKilled is what a process that is dead gets for all that it asks for.
var errKilled = errors.New("killed")

func newMoveWorld(t testing.TB) *moveWorld {
	w := &moveWorld{
		t: t, net: inmemory.NewPipeNetwork(), git: &memoryBranch{}, vault: &memoryBranch{}, stores: map[string]*secrets.Memory{},
		installed: map[fleet.Key]string{}, addons: map[fleet.Key]bool{}, keys: map[fleet.Key]int{}, seen: map[string]int{},
	}
	w.home.Store(&fleet.Home{})
	w.cloud = inmemory.NewCloud(inmemory.CloudOptions{ID: "moves", Listen: w.net.Listen})
	return w
}

// declare makes fleet.yaml name a home.
func (w *moveWorld) declare(h fleet.Home) { w.home.Store(&h) }

// Resolve implements sources.Source.
func (w *moveWorld) Resolve(context.Context) (fleet.Revision, error) {
	return fleet.Revision{Ref: "main", Digest: "sha1:" + w.home.Load().Cluster.String()}, nil
}

// Fetch implements sources.Source.
func (w *moveWorld) Fetch(context.Context, fleet.Revision) (sources.Tree, error) {
	return memoryTree{}, nil
}

// Stale implements revisions.Renderer.
func (w *moveWorld) Stale() bool { return false }

// Close implements revisions.Renderer.
func (w *moveWorld) Close() {}

// Render implements render.Renderer.
func (w *moveWorld) Render(_ context.Context, rev fleet.Revision, _ sources.Tree) (fleet.Fleet, error) {
	f := fleet.Fleet{ID: "harbour", Revision: rev, Config: fleet.Config{StatusBranch: "fairlead/status", Home: *w.home.Load()}}
	for _, c := range decodedClusters() {
		c.Revision, c.Digest = rev, c.Key.String()
		f.Clusters = append(f.Clusters, c)
	}
	return f, nil
}

// store returns the secrets of an agent.
func (w *moveWorld) store(name string) *secrets.Memory {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stores[name] == nil {
		w.stores[name] = secrets.NewMemory()
	}
	return w.stores[name]
}

// status returns what the status branch says.
func (w *moveWorld) status(ctx context.Context) (status.Status, error) { return readStatus(ctx, w.git) }

// machines returns the machines of the cloud, by name and id, sorted.
func (w *moveWorld) machines() []string {
	vms, err := w.cloud.VMs(context.Background(), nil)
	if err != nil {
		w.t.Fatal(err)
	}
	var out []string
	for _, vm := range vms {
		if vm.State != fleet.MachineDeleting {
			out = append(out, vm.Name+" "+vm.ID)
		}
	}
	slices.Sort(out)
	return out
}

func (w *moveWorld) fail(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wrong = append(w.wrong, fmt.Sprintf(format, args...))
}

// guard looks at what must be so at every moment: an agent owns the fleet, it
// could act, having all secrets that anybody has, and it runs, or is begun again;
// and no two places have different authorities of one cluster.
func (w *moveWorld) guard(after string) {
	ctx := context.Background()
	s, err := w.status(ctx)
	if err != nil {
		w.fail("after %s: %v", after, err)
		return
	}
	owner := s.Owner.Agent
	w.mu.Lock()
	stores, lost := maps.Clone(w.stores), owner != "" && s.Owner.Is(w.lost)
	home, lives := ownership.HomeOf(owner)
	unhoused := lives && w.installed[home] == ""
	w.mu.Unlock()
	if lost {
		return // until somebody takes over
	}
	if owner == "" {
		if s.Fleet.Fleet != "" {
			w.fail("after %s nobody owns the fleet", after)
		}
		return
	}
	if unhoused {
		w.fail("after %s the fleet is owned by %s, which is not installed", after, owner)
	}
	for _, k := range allKeys() {
		for _, name := range append(fleet.Authorities(), fleet.Kubeconfig) {
			first, firstOf := fleet.SecretData(nil), ""
			for _, of := range slices.Sorted(maps.Keys(stores)) {
				d, err := stores[of].Get(ctx, k, name)
				if err != nil {
					continue
				}
				if _, err := stores[owner].Get(ctx, k, name); err != nil {
					w.fail("after %s %s owns the fleet, and %s of %s is with %s", after, owner, name, k, of)
				}
				if name == fleet.Kubeconfig {
					continue
				}
				if first != nil && pivot.Digest(first) != pivot.Digest(d) {
					w.fail("after %s %s of %s is not the same with %s and %s", after, name, k, firstOf, of)
				}
				first, firstOf = d, of
			}
		}
	}
	given := fleet.Key{Namespace: "prod", Name: "login"}
	for of, store := range stores {
		if _, err := store.GetSecret(ctx, given); err == nil {
			if _, err := stores[owner].GetSecret(ctx, given); err != nil {
				w.fail("after %s %s owns the fleet, and the Secret %s is with %s", after, owner, given, of)
			}
		}
	}
}

// quietLog is none, but with MOVES_LOG.
func quietLog() *slog.Logger {
	if os.Getenv("MOVES_LOG") != "" {
		return slog.New(slog.NewTextHandler(os.Stderr, nil))
	}
	return slog.New(slog.DiscardHandler)
}

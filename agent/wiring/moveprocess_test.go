package wiring

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"fairlead.dev/agent"
	"fairlead.dev/agent/observability/metrics"
	"fairlead.dev/agent/ownership"
	"fairlead.dev/agent/secrets"
	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/distribution/kubeadm"
	"fairlead.dev/providers/infrastructure/inmemory"
	"fairlead.dev/providers/workload"
	"fairlead.dev/reconcile"
	"fairlead.dev/sources"
)

// A process is one life of the program. What it changes passes through do, or,
// where it acts as the owner of the fleet, through act.
type process struct {
	w    *moveWorld
	name string // of its agent
	ctx  context.Context
	kill context.CancelFunc
	dead atomic.Bool
}

func (w *moveWorld) process(ctx context.Context, name string) *process {
	p := &process{w: w, name: name}
	p.ctx, p.kill = context.WithCancel(ctx)
	return p
}

// moment is before or after a call, where a process may be struck.
func (p *process) moment(when, call string) (struck bool) {
	w, name := p.w, when+" "+p.name+" "+call
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.seen[name]++; w.seen[name] > 1 {
		name = fmt.Sprintf("%s, time %d", name, w.seen[name])
	}
	w.moments = append(w.moments, name)
	if name != w.strike || w.struck {
		return false
	}
	w.struck = true
	if w.fault == withdrawn || w.fault == forsaken {
		w.home.Store(&fleet.Home{})
	}
	if w.fault.kills() {
		p.dead.Store(true)
		p.kill()
	}
	return true
}

// do makes a call that changes something other than machines.
func (p *process) do(call string, f func() error) error {
	if p.dead.Load() {
		return errKilled
	}
	if p.moment("before", call); p.dead.Load() {
		return errKilled
	}
	err := f()
	p.w.guard(p.name + " " + call)
	if struck := p.moment("after", call); p.dead.Load() {
		return errKilled
	} else if struck && err == nil && p.w.fault == unanswered {
		return fleet.Errorf(fleet.Unanswered, call, "the answer is lost")
	}
	return err
}

// act makes a call that the owner alone may make, and notes where it is not that.
func (p *process) act(call string, f func() error) error {
	if p.dead.Load() {
		return errKilled
	}
	p.mustOwn("before", call)
	err := f()
	p.mustOwn("after", call)
	p.w.mu.Lock()
	p.w.acted++
	p.w.mu.Unlock()
	return err
}

func (p *process) mustOwn(when, call string) {
	s, err := p.w.status(context.Background())
	if err != nil || s.Owner.Agent != p.name || s.Owner.Place != "" && s.Owner.Place != placeOf(p.name) {
		p.w.fail("%s %s of %s the owner is %+v, %v", when, call, p.name, s.Owner, err)
	}
}

func placeOf(agent string) string { return "memory/" + agent }

// branchOf is the status branch as a process has it.
type branchOf struct {
	sources.Branch
	p *process
}

// Commit implements sources.Branch.
func (b branchOf) Commit(ctx context.Context, base fleet.Revision, c sources.Commit) (rev fleet.Revision, err error) {
	headline, _, _ := strings.Cut(c.Message, "\n")
	if !strings.HasPrefix(headline, "owner:") && !strings.HasPrefix(headline, "successor:") {
		headline = "the status"
	}
	err = b.p.do(fmt.Sprintf("pushes %q", headline), func() error {
		rev, err = b.Branch.Commit(ctx, base, c)
		return err
	})
	return rev, err
}

// storeOf is a secret store as a process has it.
type storeOf struct {
	secrets.Store
	p  *process
	of string // whose agent's it is
}

func (w *moveWorld) storeFor(p *process, of string) storeOf { return storeOf{w.store(of), p, of} }

func (s storeOf) do(verb, what string, f func() error) error {
	return s.p.do(fmt.Sprintf("%s %s with %s", verb, what, s.of), f)
}

// Create implements secrets.Store.
func (s storeOf) Create(ctx context.Context, c fleet.Key, name fleet.SecretName, d fleet.SecretData) (stored fleet.SecretData, err error) {
	err = s.do("stores", c.String()+"-"+string(name), func() error {
		stored, err = s.Store.Create(ctx, c, name, d)
		return err
	})
	return stored, err
}

// Replace implements secrets.Store.
func (s storeOf) Replace(ctx context.Context, c fleet.Key, name fleet.SecretName, d fleet.SecretData) error {
	return s.do("stores", c.String()+"-"+string(name), func() error { return s.Store.Replace(ctx, c, name, d) })
}

// Delete implements secrets.Store.
func (s storeOf) Delete(ctx context.Context, c fleet.Key) error {
	return s.do("removes", "secrets of "+c.String(), func() error { return s.Store.Delete(ctx, c) })
}

// SetSecret implements secrets.Store.
func (s storeOf) SetSecret(ctx context.Context, k fleet.Key, d fleet.SecretData) error {
	return s.do("stores", "Secret "+k.String(), func() error { return s.Store.SetSecret(ctx, k, d) })
}

// DeleteSecret implements secrets.Store.
func (s storeOf) DeleteSecret(ctx context.Context, k fleet.Key) error {
	return s.do("removes", "Secret "+k.String(), func() error { return s.Store.DeleteSecret(ctx, k) })
}

// cloudOf is the cloud as a process has it.
type cloudOf struct {
	inmemory.API
	p *process
}

// CreateNetwork implements inmemory.API.
func (c cloudOf) CreateNetwork(ctx context.Context, s inmemory.NetworkSpec) (n inmemory.Network, err error) {
	err = c.p.act("create network "+s.Name, func() error { n, err = c.API.CreateNetwork(ctx, s); return err })
	return n, err
}

// DeleteNetwork implements inmemory.API.
func (c cloudOf) DeleteNetwork(ctx context.Context, id string) error {
	return c.p.act("delete network "+id, func() error { return c.API.DeleteNetwork(ctx, id) })
}

// CreateVM implements inmemory.API.
func (c cloudOf) CreateVM(ctx context.Context, s inmemory.VMSpec) (vm inmemory.VM, err error) {
	err = c.p.act("create machine "+s.Name, func() error { vm, err = c.API.CreateVM(ctx, s); return err })
	return vm, err
}

// DeleteVM implements inmemory.API.
func (c cloudOf) DeleteVM(ctx context.Context, id string) error {
	return c.p.act("delete machine "+id, func() error { return c.API.DeleteVM(ctx, id) })
}

// clustersOf are the API servers of clusters as a process has them.
type clustersOf struct {
	*workload.Client
	p *process
}

// SyncNode implements providers.Workload.
func (c clustersOf) SyncNode(ctx context.Context, a providers.Access, node string, m fleet.MachineName, pool fleet.Pool) error {
	return c.p.act("label node "+node, func() error { return c.Client.SyncNode(ctx, a, node, m, pool) })
}

// settings are those of the agent of p.
func (p *process) settings() Settings {
	return Settings{
		Source: "https://git.example.com/fleet.git", StatusInterval: time.Second, ChartVersion: "v1.0.0", Log: quietLog().With("agent", p.name),
		openHome: p.openHome,
	}
}

// agent runs the agent of p until ctx or p ends.
func (p *process) agent(ctx context.Context, o agent.Options) error {
	w, s, m := p.w, p.settings(), metrics.New("v1.0.0")
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(p.ctx, cancel)()
	o.Name, o.Interval, o.Resync, o.Workers = p.name, 5*time.Second, time.Minute, 4
	client := workload.New(workload.Options{Log: s.Log, Dial: w.net.DialContext})
	defer client.Close()
	store := w.storeFor(p, p.name)
	freezable := &secrets.FreezableStore{SecretStore: store}
	infrastructure := func(string) (providers.Infrastructure, error) {
		return inmemory.NewProvider(cloudOf{w.cloud, p}, 5*time.Second), nil
	}
	distributions := providers.Distributions{"KubeadmControlPlane": authorities{kubeadm.New(client), w, p}}
	a := agent.New(o, agent.Parts{
		Source: w, Renderer: w,
		StatusBranch: func(string) (agent.StatusBranch, error) {
			return s.statusBranch(branchOf{w.git, p}, w.statusKeys(), m), nil
		},
		Reconciler: func(may func(fleet.Key) error, changed func(fleet.Key)) reconcile.Passes {
			return reconcile.New(reconcile.Options{
				Infrastructure: infrastructure, Workload: clustersOf{client, p}, Distributions: distributions, Secrets: freezable,
				May: may, Changed: changed, Log: s.Log,
			})
		},
		Looker: func() ownership.Looker {
			return reconcile.NewLooker(reconcile.LookerOptions{
				Infrastructure: func(name string) (providers.Observer, error) { return infrastructure(name) },
				Workload:       clustersOf{client, p}, Distributions: distributions, Secrets: freezable,
			})
		},
		Infrastructure: infrastructure,
		Mover:          s.mover(w, store),
		SecretFreezer:  freezable,
		Place:          func(context.Context) (string, error) { return placeOf(p.name), nil },
		Metrics:        m, Log: s.Log,
	})
	return a.Run(ctx)
}

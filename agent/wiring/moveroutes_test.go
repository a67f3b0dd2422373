package wiring

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"fairlead.dev/agent"
	"fairlead.dev/agent/ownership"
	"fairlead.dev/agent/ownership/pivot"
	"fairlead.dev/agent/ownership/pivot/install"
	"fairlead.dev/fleet"
	"fairlead.dev/providers/workload/helm"
	"fairlead.dev/sources"
	"fairlead.dev/sources/status"
)

// patience is how long a world gets for anything, in its own time.
const patience = 2 * time.Hour

// await waits until what is so.
func (w *moveWorld) await(what string, so func() bool) {
	w.t.Helper()
	for end := time.Now().Add(patience); !so(); time.Sleep(time.Second) {
		if time.Now().After(end) {
			s, _ := w.status(context.Background())
			w.t.Fatalf("%s did not come; owner %+v, succession %+v, home %+v, problems %v", what, s.Owner, s.Next, s.Fleet.Home, s.Fleet.Problems)
		}
	}
}

// kubelet keeps the agent in cluster k as it is installed, until ctx ends.
func (w *moveWorld) kubelet(ctx context.Context, k fleet.Key) {
	release := func() string {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.installed[k]
	}
	for ctx.Err() == nil {
		if is := release(); is != "" {
			p, done := w.process(ctx, ownership.AgentOf(k)), make(chan struct{})
			go func() {
				defer close(done)
				_ = p.agent(ctx, agent.Options{WaitForOwnership: true})
				p.kill()
			}()
			for p.ctx.Err() == nil && release() == is {
				pause(p.ctx, time.Second)
			}
			p.kill()
			<-done
		}
		pause(ctx, time.Second)
	}
}

// resident keeps the agent of the laptop running until ctx ends or the fleet has
// another owner.
func (w *moveWorld) resident(ctx context.Context) {
	for ctx.Err() == nil {
		p := w.process(ctx, laptop)
		err := p.agent(ctx, agent.Options{})
		p.kill()
		if _, handed := errors.AsType[*ownership.NotOwnerError](err); handed && !p.dead.Load() {
			return
		}
		pause(ctx, time.Second)
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// command runs a command until it ends, and once more each time it is killed,
// but where the person means to take it back then.
func (w *moveWorld) command(ctx context.Context, name string, run func(p *process) error) error {
	for {
		p := w.process(ctx, name)
		err := run(p)
		p.kill()
		if !p.dead.Load() {
			return err
		}
		if w.fault == undone {
			return errKilled
		}
	}
}

// parts are those of a pivot from where the secrets of an agent are.
func (p *process) parts(from string) pivot.Parts {
	arbiter, keys := status.NewArbiter(branchOf{p.w.git, p}), p.w.statusKeys()
	arbiter.Sign, arbiter.Verify = keys.Sign, keys.Verify
	return pivot.Parts{
		Arbiter: arbiter, Status: p.w.status, From: p.w.storeFor(p, from),
		Clusters: func(context.Context) ([]fleet.Key, error) { return allKeys(), nil },
		ID:       func() string { return fmt.Sprint(time.Now().UnixNano()) },
	}
}

// inTo returns a pivot into cluster k, as the command line has it.
func (p *process) inTo(k fleet.Key, from string) (pivot.Destination, pivot.Parts, error) {
	parts := p.parts(from)
	o, err := p.settings().HomeOptions(Installation{Fleet: "harbour", Cluster: k, Version: "v1.0.0", Namespace: "fairlead-system", Release: "fairlead"})
	if err != nil {
		return pivot.Destination{}, parts, err
	}
	config := kubeconfigOf{p}
	homeClient := HomeClient{Options: o, Cluster: k, From: parts.From, Otherwise: config.read, open: p.openHome}
	parts.Home, parts.Kubeconfig = homeClient.Open, config
	if old, ok := ownership.HomeOf(from); ok { // its kubeconfig is in a file
		parts.Old = &memoryHome{p: p, key: old, o: install.Options{Release: helm.Release{Namespace: "fairlead-system", Name: "fairlead"}}}
	}
	return pivot.Destination{To: ownership.AgentOf(k), Home: k, Self: p.name}, parts, nil
}

// beside runs move while an agent works in the same process.
func (p *process) beside(o agent.Options, move func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(p.ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		err := p.agent(ctx, o)
		if _, handed := errors.AsType[*ownership.NotOwnerError](err); err != nil && !handed {
			cancel(err)
		}
	}()
	err := move(ctx)
	cancel(nil)
	<-done
	return err
}

// kubeconfigOf is the file with the kubeconfig of the home.
type kubeconfigOf struct{ p *process }

func (k kubeconfigOf) read() ([]byte, error) {
	k.p.w.mu.Lock()
	defer k.p.w.mu.Unlock()
	if k.p.w.config == nil {
		return nil, errors.New("there is no file")
	}
	return k.p.w.config, nil
}

// Written implements pivot.Kubeconfig.
func (k kubeconfigOf) Written(want fleet.Secret) bool {
	b, err := k.read()
	return err == nil && slices.Equal(b, want.Reveal())
}

// Write implements pivot.Kubeconfig.
func (k kubeconfigOf) Write(s fleet.Secret) error {
	return k.p.do("writes the kubeconfig", func() error {
		k.p.w.mu.Lock()
		defer k.p.w.mu.Unlock()
		k.p.w.config = s.Reveal()
		return nil
	})
}

// A route is one way of a fleet from one agent to another.
type route struct {
	from, to string
	begin    func(ctx context.Context, w *moveWorld)       // nobody is struck before it ends
	run      func(ctx context.Context, w *moveWorld) error // again and again, until it comes to its end
	undo     func(ctx context.Context, w *moveWorld) error // nil: there is none
	declared bool                                          // fleet.yaml asks for it
	keeps    bool                                          // the old place keeps what it has
}

// provisioned brings the fleet to life with the agent of the laptop, which goes on.
func provisioned(ctx context.Context, w *moveWorld) {
	_ = w.store(laptop).SetSecret(ctx, fleet.Key{Namespace: "prod", Name: "login"}, fleet.SecretData{"password": fleet.NewSecret([]byte("x"))})
	go w.resident(ctx)
	w.await("a fleet that is provisioned", w.provisioned)
}

func (w *moveWorld) provisioned() bool {
	s, err := w.status(context.Background())
	return err == nil && len(s.Clusters) == len(allKeys()) &&
		!slices.ContainsFunc(s.Clusters, func(c status.Cluster) bool { return c.Report.Phase != fleet.PhaseProvisioned })
}

// atHome is provisioned, with its agent in a cluster.
func atHome(ctx context.Context, w *moveWorld) {
	provisioned(ctx, w)
	if err := pivotTo(keyHome(), laptop)(ctx, w); err != nil {
		w.t.Fatal(err)
	}
	w.await("a calm fleet", w.provisioned)
}

// pivotTo is `fairlead pivot --to`, by a person beside the agents.
func pivotTo(k fleet.Key, from string) func(context.Context, *moveWorld) error {
	return func(ctx context.Context, w *moveWorld) error {
		return w.command(ctx, "person", func(p *process) error {
			want, parts, err := p.inTo(k, from)
			if err != nil {
				return err
			}
			return pivot.New(want, parts).Run(p.ctx)
		})
	}
}

// undoTo is the same with --undo.
func undoTo(k fleet.Key, from string) func(context.Context, *moveWorld) error {
	return func(ctx context.Context, w *moveWorld) error {
		return w.command(ctx, "person", func(p *process) error {
			want, parts, err := p.inTo(k, from)
			if err != nil {
				return err
			}
			return pivot.New(want, parts).Undo(p.ctx)
		})
	}
}

// bootstrap is `fairlead bootstrap`, with an agent in the same process.
func bootstrap(ctx context.Context, w *moveWorld) error {
	return w.command(ctx, laptop, func(p *process) error {
		want, parts, err := p.inTo(keyHome(), laptop)
		if err != nil {
			return err
		}
		owner, err := parts.Arbiter.Owner(p.ctx)
		if err != nil {
			return err
		}
		if want.Arrived(owner) {
			return pivot.New(want, parts).Run(p.ctx)
		}
		return p.beside(agent.Options{Only: keyHome()}, pivot.New(want, parts).Run)
	})
}

// toHere is `fairlead pivot --here --exit`; what it leaves running is a resident.
func toHere(ctx context.Context, w *moveWorld) error {
	err := w.command(ctx, laptop, func(p *process) error {
		want, parts := pivot.Destination{To: laptop, SkipCleanup: true, Self: laptop}, p.parts(ownership.AgentOf(keyHome()))
		parts.To = w.storeFor(p, laptop)
		return p.beside(agent.Options{WaitForOwnership: true}, pivot.New(want, parts).Run)
	})
	if err == nil {
		go w.resident(ctx)
	}
	return err
}

// undoHere is the same with --undo.
func undoHere(ctx context.Context, w *moveWorld) error {
	return w.command(ctx, laptop, func(p *process) error {
		parts := p.parts(ownership.AgentOf(keyHome()))
		parts.To = w.storeFor(p, laptop)
		return pivot.New(pivot.Destination{To: laptop, SkipCleanup: true, Self: laptop}, parts).Undo(p.ctx)
	})
}

// declaredTo lets fleet.yaml name cluster k: the agent that owns the fleet, which
// is from, moves, and nothing is left with it. Whoever changes fleet.yaml
// meanwhile does not wait for that.
func declaredTo(k fleet.Key, from string) func(context.Context, *moveWorld) error {
	return func(_ context.Context, w *moveWorld) error {
		w.declare(fleet.Home{Cluster: k, Namespace: "fairlead-system", Release: "fairlead"})
		w.await("the fleet at home", func() bool {
			s, err := w.status(context.Background())
			there := err == nil && s.Owner.Agent == ownership.AgentOf(k) && s.Fleet.Home == sources.HomeStatus{Cluster: k}
			return there && len(held(w.t, w.store(from))) == 0 || !w.home.Load().Declared()
		})
		return nil
	}
}

func routes() map[string]route {
	homeAgent, other := ownership.AgentOf(keyHome()), ownership.AgentOf(keyOther())
	return map[string]route{
		"bootstrap":         {from: laptop, to: homeAgent, begin: func(context.Context, *moveWorld) {}, run: bootstrap, undo: undoTo(keyHome(), laptop)},
		"pivot to a home":   {from: laptop, to: homeAgent, begin: provisioned, run: pivotTo(keyHome(), laptop), undo: undoTo(keyHome(), laptop)},
		"from home to home": {from: homeAgent, to: other, begin: atHome, run: pivotTo(keyOther(), homeAgent), undo: undoTo(keyOther(), homeAgent)},
		"pivot --here":      {from: homeAgent, to: laptop, begin: atHome, run: toHere, undo: undoHere, keeps: true},
		"recovery":          {from: laptop, to: homeAgent, begin: lostHome, run: recovery},
		"declared":          {from: laptop, to: homeAgent, begin: provisioned, run: declaredTo(keyHome(), laptop), declared: true},
		"declared anew":     {from: homeAgent, to: other, begin: atHome, run: declaredTo(keyOther(), homeAgent), declared: true},
	}
}

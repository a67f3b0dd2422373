package vsphere

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"sync"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/infrastructure/vsphere/machine"
	"fairlead.dev/providers/infrastructure/vsphere/vcenter"
)

// Watch implements providers.Watcher: it waits for changes at every vCenter in use, with one
// request for all machines there, and looks where it cannot wait.
func (p *Provider) Watch(ctx context.Context, changed func(fleet.Key)) error {
	w := waits{p: p, changed: changed, of: make(map[*vcenter.Client]bool)}
	defer w.running.Wait()
	return p.watch.Run(ctx, p.tick(), func(ctx context.Context, c *vcenter.Client) (snapshot.View, error) {
		l := c.Latest(p.o.Relook)
		if l == nil {
			var err error
			if l, err = c.Look(ctx, snapshot.Owner{}); err != nil {
				return snapshot.View{}, err
			}
		}
		w.start(ctx, c)
		return p.view(c, l), nil
	}, changed)
}

// waits are the vCenters that changes are waited for at.
type waits struct {
	p       *Provider
	changed func(fleet.Key)
	running sync.WaitGroup

	mu sync.Mutex
	of map[*vcenter.Client]bool
}

// start waits for changes at c until ctx ends, unless that is done already.
func (w *waits) start(ctx context.Context, c *vcenter.Client) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.of[c] {
		return
	}
	w.of[c] = true
	w.running.Go(func() {
		_ = c.Watch(ctx, func(token string) (snapshot.Owner, bool) { return w.p.askedBy(c, token) }, func(o snapshot.Owner) {
			if w.p.watch.In(c)[o.Shared()] { // others are of another fleet or agent
				c.Changed(o)
				w.changed(o.Cluster)
			}
		})
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.of, c)
	})
}

// askedBy returns the machine of a cluster on c that a task with token makes.
func (p *Provider) askedBy(c *vcenter.Client, text string) (snapshot.Owner, bool) {
	k, ok := parseToken(text)
	if !ok {
		return snapshot.Owner{}, false
	}
	for o := range p.watch.In(c) {
		if machine.OfCluster(k.uuid, &fleet.Cluster{Fleet: o.Fleet, Key: o.Cluster}) {
			return o.Part(k.name), true
		}
	}
	return snapshot.Owner{}, false
}

// view returns how clusters on c look in l: their VMs, and what became of clones.
func (p *Provider) view(c *vcenter.Client, l *vcenter.Look) snapshot.View {
	out := snapshot.View{Prints: make(map[snapshot.Owner]string)}
	add := func(o snapshot.Owner, of any) {
		sum := sha256.Sum256(fmt.Appendf(nil, "%s%+v", out.Prints[o.Shared()], of))
		out.Prints[o.Shared()] = string(sum[:])
	}
	for _, vm := range l.Tagged() {
		if o, ok := vm.Owner(); ok {
			add(o, *vm)
		}
	}
	for _, t := range l.Tasks {
		if o, ok := p.askedBy(c, t.Token); ok {
			add(o, string(t.State)+t.Ref.Value)
		}
		out.Busy = out.Busy || t.Running()
	}
	return out
}

// Clusters implements providers.Lister: of the vCenters that this process uses, and those that
// it found everything for.
func (p *Provider) Clusters(ctx context.Context, id fleet.ID) ([]fleet.Key, error) {
	out, failed := driver.Clusters(id, p.watch.Places(), func(c *vcenter.Client) ([]snapshot.Owner, error) {
		l, err := c.Look(ctx, snapshot.Owner{})
		if err != nil {
			return nil, err
		}
		return ownersIn(l), nil
	}, &p.found)
	return out, vcenter.WrapLook("list clusters", fleet.JoinErrors(failed...))
}

// tick is how often a Watch looks.
func (p *Provider) tick() time.Duration { return cmp.Or(p.o.VCenter.Tick, vcenter.DefaultTick) }

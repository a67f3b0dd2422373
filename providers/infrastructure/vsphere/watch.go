package vsphere

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/vsphere/machine"
	"fairlead.dev/providers/infrastructure/vsphere/vcenter"
	"fairlead.dev/providers/snapshot"
)

// Watch implements providers.Watcher: it looks at every vCenter in use.
func (p *Provider) Watch(ctx context.Context, changed func(fleet.Key)) error {
	return p.watch.Run(ctx, p.tick(), func(ctx context.Context, c *vcenter.Client) (snapshot.View, error) {
		l, err := c.Look(ctx, snapshot.Owner{})
		if err != nil {
			return snapshot.View{}, err
		}
		return p.view(l), nil
	}, changed)
}

// view returns how clusters look in l: their VMs, and what became of clones.
func (p *Provider) view(l *vcenter.Look) snapshot.View {
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
	known := p.foundClusters()
	for _, t := range l.Tasks {
		k, ours := parseToken(t.Token)
		for _, o := range known {
			if ours && machine.OfCluster(k.uuid, &fleet.Cluster{Fleet: o.Fleet, Key: o.Cluster}) {
				add(o, string(t.State)+t.Ref.Value)
			}
		}
		out.Busy = out.Busy || t.Running()
	}
	return out
}

// Clusters implements providers.Lister: of the vCenters that this process uses, and those that
// it found everything for.
func (p *Provider) Clusters(ctx context.Context, id fleet.ID) ([]fleet.Key, error) {
	var out []fleet.Key
	for _, c := range p.watch.Places() {
		l, err := c.Look(ctx, snapshot.Owner{})
		if err != nil {
			return nil, vcenter.WrapLook("list clusters", err)
		}
		out = append(out, keysOf(l, id)...)
	}
	for _, o := range p.foundClusters() {
		if o.Fleet == id {
			out = append(out, o.Cluster)
		}
	}
	slices.SortFunc(out, fleet.Key.Compare)
	return slices.Compact(out), nil
}

// tick is how often a Watch looks.
func (p *Provider) tick() time.Duration { return cmp.Or(p.o.VCenter.Tick, vcenter.DefaultTick) }

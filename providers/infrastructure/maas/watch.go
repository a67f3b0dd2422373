package maas

import (
	"context"
	"crypto/sha256"
	"fmt"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/infrastructure/maas/region"
)

// Watch implements providers.Watcher: it asks each region in use for events, and lists machines if there are
// new ones.
func (p *Provider) Watch(ctx context.Context, changed func(fleet.Key)) error {
	return p.watch.Run(ctx, p.o.Tick, func(ctx context.Context, s *site) (snapshot.View, error) {
		l, err := s.listings.Get(ctx, snapshot.Owner{})
		if err != nil {
			return snapshot.View{}, err
		}
		return l.view(), nil
	}, changed)
}

// view returns what clusters look like.
func (l *listing) view() snapshot.View {
	out := snapshot.View{Prints: make(map[snapshot.Owner]string)}
	for i := range l.machines {
		m := &l.machines[i]
		switch m.State {
		case region.Allocated, region.Deploying, region.Releasing, region.Erasing:
			out.Busy = true
		}
		if o, ok := driver.OwnerOf(l.tags[m.SystemID]); ok {
			sum := sha256.Sum256(fmt.Append(nil, m.SystemID, m.State, m.Power, m.Error, m.Locked, m.Addresses, m.OSystem, l.tags[m.SystemID]))
			out.Prints[o] += string(sum[:])
		}
	}
	return out
}

// Clusters implements providers.Lister: of the regions that this process uses, and those that it made ready.
func (p *Provider) Clusters(ctx context.Context, id fleet.ID) ([]fleet.Key, error) {
	out, failed := driver.Clusters(id, p.watch.Places(), func(s *site) ([]snapshot.Owner, error) {
		l, err := s.listings.Get(ctx, snapshot.Owner{})
		if err != nil {
			return nil, err
		}
		names, err := s.names.Get(ctx, snapshot.Owner{})
		if err != nil {
			return nil, err
		}
		var out []snapshot.Owner
		add := func(tags map[string]string) {
			if o, ok := driver.OwnerOf(tags); ok {
				out = append(out, o)
			}
		}
		for _, tags := range l.tags {
			add(tags)
		}
		for i := range names {
			add(ownerIn(&names[i]))
		}
		return out, nil
	}, &p.found)
	return out, region.WrapLook("list clusters", fleet.JoinErrors(failed...))
}

package azure

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"slices"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/infrastructure/azure/arm"
)

// Watch implements providers.Watcher: it lists every resource group in use.
func (p *Provider) Watch(ctx context.Context, changed func(fleet.Key)) error {
	return p.watch.Run(ctx, p.o.Tick, func(ctx context.Context, at *place) (snapshot.View, error) {
		l, err := at.lists.Get(ctx, snapshot.Owner{})
		if err != nil {
			return snapshot.View{}, err
		}
		out := snapshot.View{Prints: make(map[snapshot.Owner]string)}
		add := func(tags arm.Tags, state string, r any) {
			o, ok := driver.OwnerOf(tagsFrom(tags))
			if !ok {
				return
			}
			data, _ := json.Marshal(r) // it came as JSON
			sum := sha256.Sum256(data)
			out.Prints[o] += string(sum[:])
			out.Busy = out.Busy || state != "Succeeded" && state != "Failed"
		}
		if l.group != nil {
			add(l.group.Tags, l.group.Properties.Provisioning, l.group)
		}
		prints(l.nics.All, add)
		prints(l.vnets.All, add)
		prints(l.nsgs.All, add)
		prints(l.ips.All, add)
		prints(l.nats.All, add)
		prints(l.lbs.All, add)
		prints(l.vms.All, add)
		return out, nil
	}, changed)
}

func prints[P stated](list []arm.Resource[P], add func(tags arm.Tags, state string, r any)) {
	for _, r := range list {
		add(r.Tags, r.Properties.ProvisioningState(), r)
	}
}

// Clusters implements providers.Lister: of the subscriptions that this process uses.
func (p *Provider) Clusters(ctx context.Context, id fleet.ID) ([]fleet.Key, error) {
	var sites []*site
	for _, at := range p.watch.Places() {
		if !slices.Contains(sites, at.site) {
			sites = append(sites, at.site)
		}
	}
	out, failed := driver.Clusters(id, sites, func(s *site) ([]snapshot.Owner, error) {
		list, err := s.everything(ctx)
		if err != nil {
			return nil, err
		}
		var out []snapshot.Owner
		for _, r := range list {
			if o, ok := driver.OwnerOf(tagsFrom(r.Tags)); ok {
				out = append(out, o)
			}
		}
		return out, nil
	}, nil)
	return out, arm.WrapLook("list clusters", fleet.JoinErrors(failed...))
}

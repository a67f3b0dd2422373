package inmemory

import (
	"context"
	"maps"
	"slices"
	"strings"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
)

// A retagging gives one thing of the cloud other tags.
type retagging struct {
	what, id   string
	have, want map[string]string
}

func (r retagging) done() bool { return maps.Equal(r.have, r.want) }

// Adoptable implements providers.Adopter.
func (p *Provider) Adoptable(ctx context.Context, c *fleet.Cluster, machines []providers.AdoptedMachine) ([]string, error) {
	all, err := p.adoption(ctx, "adopt "+c.Key.String(), c, machines)
	var out []string
	for _, r := range all {
		if !r.done() {
			out = append(out, r.what)
		}
	}
	slices.Sort(out)
	return out, err
}

// Adopt implements providers.Adopter.
func (p *Provider) Adopt(ctx context.Context, c *fleet.Cluster, machines []providers.AdoptedMachine) error {
	op := "adopt " + c.Key.String()
	all, err := p.adoption(ctx, op, c, machines)
	if err != nil {
		return err
	}
	return p.retag(ctx, op, all)
}

// Release implements providers.Adopter.
func (p *Provider) Release(ctx context.Context, c *fleet.Cluster, machines []providers.AdoptedMachine) error {
	op := "release " + c.Key.String()
	list, err := p.api.VMs(ctx, c.Tags())
	if err != nil {
		return wrap(op, err)
	}
	for _, v := range list {
		if v.Tags[fleet.TagOperation] != string(providers.AdoptionID(c.Key)) ||
			!slices.ContainsFunc(machines, func(m providers.AdoptedMachine) bool { return m.ID == v.Provider }) {
			return fleet.Errorf(fleet.Conflict, op, "server %s was made or changed since it was adopted", v.Name)
		}
	}
	all, err := p.adoption(ctx, op, c, machines)
	if err != nil {
		return err
	}
	for i := range all {
		all[i].want = maps.Clone(all[i].have)
		maps.DeleteFunc(all[i].want, func(k, _ string) bool { return strings.HasPrefix(k, "fairlead.dev/") })
	}
	return p.retag(ctx, op, all)
}

func (p *Provider) retag(ctx context.Context, op string, all []retagging) error {
	tagger, ok := p.api.(Tagger)
	if !ok {
		return fleet.Errorf(fleet.Invalid, op, "this cloud sets no tags on what is there")
	}
	for _, r := range all {
		if r.done() {
			continue
		}
		if err := tagger.SetTags(ctx, r.id, r.want); err != nil {
			return wrap(op, err)
		}
	}
	return nil
}

// adoption returns what the cluster has in the cloud with the tags that it
// should have: its machines, and the one network that all of them are in. Where
// something is not as it has to be, nothing is returned.
func (p *Provider) adoption(ctx context.Context, op string, c *fleet.Cluster, machines []providers.AdoptedMachine) ([]retagging, error) {
	all, err := p.list(ctx, nil, nil)
	if err != nil {
		return nil, wrap(op, err)
	}
	vms, networks := all.vms, all.networks
	var out []retagging
	shared := ""
	inUse := make(map[string]bool)
	for _, m := range machines {
		i := slices.IndexFunc(vms, func(v VM) bool { return v.Provider == m.ID })
		if i < 0 {
			return nil, fleet.Errorf(fleet.NotFound, op, "there is no server %s, which is to be machine %s", m.ID, m.Name)
		}
		v := vms[i]
		tags, ok := providers.AdoptionTags(c, m)
		switch {
		case !ok:
			return nil, fleet.Errorf(fleet.Invalid, op, "machine %s is of pool %s, which the cluster does not have in Git", m.Name, m.Pool)
		case foreign(c, v.Tags):
			return nil, fleet.Errorf(fleet.Conflict, op, "server %s belongs to cluster %s of fleet %s", v.Name, v.Tags[fleet.TagCluster], v.Tags[fleet.TagFleet])
		case shared != "" && shared != v.Network:
			return nil, fleet.Errorf(fleet.Conflict, op, "its servers are in two networks, %s and %s", shared, v.Network)
		}
		shared, inUse[v.ID] = v.Network, true
		out = append(out, retagging{"server " + v.Name, v.ID, v.Tags, over(v.Tags, tags)})
	}
	for _, v := range vms {
		if v.Network == shared && !inUse[v.ID] {
			return nil, fleet.Errorf(fleet.Conflict, op, "server %s is in the network of the cluster and none of its machines", v.Name)
		}
	}
	i := slices.IndexFunc(networks, func(n Network) bool { return n.ID == shared })
	if i < 0 {
		return nil, fleet.Errorf(fleet.NotFound, op, "the network of the cluster is not there")
	}
	n := networks[i]
	if foreign(c, n.Tags) {
		return nil, fleet.Errorf(fleet.Conflict, op, "network %s belongs to cluster %s of fleet %s", n.Name, n.Tags[fleet.TagCluster], n.Tags[fleet.TagFleet])
	}
	tags := c.Tags()
	tags[fleet.TagOperation] = string(providers.AdoptionID(c.Key))
	return append(out, retagging{"network " + n.Name, n.ID, n.Tags, over(n.Tags, tags)}), nil
}

// foreign reports whether tags are those of another cluster than c.
func foreign(c *fleet.Cluster, tags map[string]string) bool {
	return tags[fleet.TagFleet] != "" && !c.Owns(tags)
}

// over returns have with more on top.
func over(have, more map[string]string) map[string]string {
	out := maps.Clone(have)
	if out == nil {
		out = make(map[string]string)
	}
	maps.Copy(out, more)
	return out
}

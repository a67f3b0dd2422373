package metal3

import (
	"context"
	"fmt"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/infrastructure/metal3/api"
	"fairlead.dev/providers/infrastructure/metal3/ironic"
	"fairlead.dev/providers/snapshot"
)

var _ providers.Checker = (*Provider)(nil)

// Check implements providers.Checker: whether Git has a host for each machine that is not
// there yet, which its pool selects and nothing else uses. Failure domains do not count.
func (p *Provider) Check(ctx context.Context, clusters []*fleet.Cluster) ([]providers.Finding, error) {
	var out []providers.Finding
	taken := make(map[fleet.Key]bool)
	for _, c := range clusters {
		note := func(text string, err error) {
			out = append(out, providers.Finding{Clusters: []fleet.Key{c.Key}, What: "hosts", Text: text, Err: err})
		}
		got, err := p.look(ctx, c, snapshot.OwnerOf(c))
		if err != nil {
			note("", ironic.WrapLook("look at the hosts of "+c.Key.String(), err))
			continue
		}
		for _, pool := range c.Pools() {
			note(got.hostsFor(pool, taken))
		}
	}
	return out, nil
}

// hostsFor takes hosts for the machines of pool that are not there yet, and says which.
func (o *observation) hostsFor(pool fleet.Pool, taken map[fleet.Key]bool) (string, error) {
	op := "find hosts for pool " + string(pool.Name)
	spec, err := api.ReadMachine(pool.Infrastructure)
	if err != nil {
		return "", err
	}
	missing, selected, later := pool.Replicas, 0, 0
	for _, h := range o.machines {
		if h.machine.Pool == pool.Name {
			missing--
		}
	}
	found := 0
	for i := range o.hosts {
		h := &o.hosts[i]
		if h.object == nil {
			continue
		}
		yes, err := spec.HostSelector.Selects(h.object.Labels)
		if err != nil {
			return "", fleet.Errorf(fleet.Invalid, op, "%w", err)
		}
		if !yes {
			continue
		}
		selected++
		enrolled := h.node != nil
		if found >= missing || taken[h.Key] || enrolled && o.inTheWay(h) != "" {
			continue
		}
		if taken[h.Key] = true; !enrolled {
			later++
		}
		found++
	}
	if found < missing {
		return "", fleet.Errorf(fleet.Exhausted, op, "%d more are needed, and of %d that its hostSelector selects in namespace %s only %d are free (label more hosts, or ask for fewer machines)", missing, selected, o.cluster.Key.Namespace, found)
	}
	text := fmt.Sprintf("pool %s has all its machines", pool.Name)
	if missing > 0 {
		text = fmt.Sprintf("there are %d for %d machines of pool %s", found, missing, pool.Name)
	}
	if later > 0 {
		text += fmt.Sprintf(", of which %d have to be enrolled first", later)
	}
	return text, nil
}

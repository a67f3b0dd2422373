package metal3

import (
	"context"
	"fmt"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/driver"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/infrastructure/metal3/api"
	"fairlead.dev/providers/infrastructure/metal3/ironic"
)

var _ providers.Checker = (*Provider)(nil)

// Check implements providers.Checker: whether Git has a host for each machine that is not
// there yet, which its pool selects, which is not reserved for another and which nothing else
// uses. Failure domains do not count.
func (p *Provider) Check(ctx context.Context, clusters []*fleet.Cluster) ([]providers.Finding, error) {
	taken := make(map[fleet.Key]bool)
	return driver.Check(clusters, "hosts", func(c *fleet.Cluster, note driver.Note) error {
		got, err := p.look(ctx, c, snapshot.OwnerOf(c))
		if err != nil {
			return ironic.WrapLook("look at the hosts of "+c.Key.String(), err)
		}
		for _, pool := range c.Pools() {
			text, err := got.hostsFor(pool, taken)
			note("hosts", text, err)
		}
		return nil
	}), nil
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
	found, unseen := 0, 0
	for i := range o.hosts {
		h := &o.hosts[i]
		if h.object == nil {
			continue
		}
		why, err := o.unsuited(spec, pool.Name, h)
		if why == "" && err == nil {
			why, err = o.reusedBy(h, pool.Name)
		}
		if err != nil {
			return "", err
		}
		if why != "" {
			if h.node == nil || h.node.Inspected.IsZero() {
				unseen++
			}
			continue
		}
		selected++
		enrolled := h.node != nil
		if found >= missing || taken[h.Key] || enrolled && o.whyNotFree(h) != "" {
			continue
		}
		if taken[h.Key] = true; !enrolled {
			later++
		}
		found++
	}
	if found < missing {
		why := ""
		if unseen > 0 && spec.HostSelector.NamesHardware() {
			why = fmt.Sprintf("; its hostSelector asks for hardware, and %d were not inspected yet", unseen)
		}
		return "", fleet.Errorf(fleet.Exhausted, op, "%d more are needed, and of %d that it may have in namespace %s only %d are free%s (label more hosts, or ask for fewer machines)", missing, selected, o.cluster.Key.Namespace, found, why)
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

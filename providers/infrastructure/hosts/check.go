package hosts

import (
	"context"
	"fmt"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/driver"
	"fairlead.dev/providers/driver/claims"
	"fairlead.dev/providers/infrastructure/hosts/api"
)

var _ providers.Checker = (*Provider)(nil)

// Check implements providers.Checker: whether each host answers that Git has, and whether one is
// free for each machine that is not there yet. Failure domains do not count.
func (p *Provider) Check(ctx context.Context, clusters []*fleet.Cluster) ([]providers.Finding, error) {
	told, taken := make(map[string]bool), make(map[string]bool)
	return driver.Check(clusters, "hosts", func(c *fleet.Cluster, note driver.Note) error {
		shared, err := api.ReadCluster(c.Infrastructure)
		if err != nil {
			return err
		}
		all, err := p.look(ctx, c)
		if err != nil {
			return wrap("look at the hosts of "+c.Key.String(), err)
		}
		for _, s := range all {
			if s.silent() && !told[s.id()] {
				told[s.id()] = true
				note("host", "", wrap("look at host "+s.host.String(), s.err))
			}
		}
		for _, pool := range c.Pools() {
			text, err := all.hostsFor(c, pool, shared.LoadBalancer, taken)
			note("hosts", text, err)
		}
		return nil
	}), nil
}

// id identifies the host among those of all namespaces.
func (s *observedHost) id() string { return s.host.ns + "/" + s.host.String() }

// hostsFor takes hosts for the machines of pool that are not there yet, and says how many there are.
// The one of the load balancer is for no machine.
func (r roster) hostsFor(c *fleet.Cluster, pool fleet.Pool, balancer *api.LoadBalancer, taken map[string]bool) (string, error) {
	op := "find hosts for pool " + string(pool.Name)
	spec, err := api.ReadMachine(pool.Infrastructure)
	if err != nil {
		return "", err
	}
	missing := pool.Replicas
	for _, m := range r.machines(c) {
		if m.claim.Tags[fleet.TagPool] == string(pool.Name) {
			missing--
		}
	}
	if missing <= 0 {
		return fmt.Sprintf("pool %s has all its machines", pool.Name), nil
	}
	q := search{request: providers.MachineRequest{Cluster: c, Pool: pool}, spec: spec, all: r}
	found := 0
	var unfit []string
	for _, s := range r {
		if spec.PoolName != "" && s.host.Pool != spec.PoolName {
			continue
		}
		why, err := q.mismatch(s)
		switch {
		case err != nil:
			return "", fleet.Errorf(fleet.Invalid, op, "%w", err)
		case why != "":
		case balancer != nil && balancer.PoolName == s.host.Pool && balancer.HostName == s.host.Name:
			why = "is for the load balancer"
		case taken[s.id()]:
			why = "is for another machine"
		case found == missing:
			continue
		}
		if why != "" {
			unfit = append(unfit, s.host.Name+" "+why)
			continue
		}
		taken[s.id()] = true
		found++
	}
	if found < missing {
		const most = 8
		return "", fleet.Errorf(fleet.Exhausted, op, "%d more are needed, and only %d are free: %s (add hosts to a HostPool in namespace %s, or ask for fewer machines)",
			missing, found, claims.Why(unfit, most), c.Key.Namespace)
	}
	return fmt.Sprintf("there are %d for %d machines of pool %s", found, missing, pool.Name), nil
}

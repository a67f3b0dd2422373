package hosts

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/claims"
	"fairlead.dev/providers/driver/endpoint"
	"fairlead.dev/providers/infrastructure/hosts/api"
	"fairlead.dev/providers/infrastructure/hosts/haproxy"
	"fairlead.dev/providers/infrastructure/hosts/host"
)

// A balancer is the load balancer of a cluster on a host of its own. The host has a
// claim like that of a machine, but without a machine in it. Git names the host, so
// that no notes are needed of where it is.
type balancer struct {
	named   *observedHost   // the host that Git names; nil where the cluster has no load balancer
	id      string          // of the cluster's claim on it, or ""
	staying bool            // the claim is not being released
	others  []*observedHost // hosts with claims of load balancers of c that Git does not name
	refused error           // why Git is not followed

	endpoint fleet.Endpoint
	config   []byte // the wanted configuration

	// unknown are claims, by id, of control-plane machines that too few other hosts
	// note and the load balancer does not lead to: a few may have made them up.
	unknown map[string]bool
}

// balancer returns that of c.
func (r roster) balancer(c *fleet.Cluster, spec *api.HostClusterSpec) (*balancer, error) {
	b := &balancer{endpoint: fleet.Endpoint(spec.ControlPlaneEndpoint)}
	if c.ServedElsewhere() {
		b.endpoint = c.Endpoint
	} else if l := spec.LoadBalancer; l != nil {
		if b.named = r.find(l.PoolName, l.HostName); b.named == nil {
			return nil, fleet.Errorf(fleet.Invalid, "find the host of the load balancer of "+c.Key.String(),
				"no HostPool %s with a host %s is in namespace %s (add it, or correct spec.loadBalancer of HostCluster %s)", l.PoolName, l.HostName, c.Key.Namespace, c.Infrastructure.Name)
		}
		b.endpoint.Host = cmp.Or(b.endpoint.Host, b.named.host.Address)
	}
	for _, s := range r.answering() {
		k := s.state.Claim
		switch {
		case k == nil || !c.Owns(k.Tags) || r.ofMachine(s):
		case s == b.named:
			b.id, b.staying = k.ID, staying(s)
		default:
			b.others = append(b.others, s)
		}
	}
	b.stay(c)
	if b.named == nil {
		return b, nil
	}
	if err := b.lookForUnknown(r, c); err != nil {
		return nil, err
	}
	var err error
	b.config, err = b.configuration(r, c, "")
	return b, err
}

// stay keeps the load balancer where the machines of c know it, whatever Git names by now: kubelets have no
// other way to the API server. One on a host that is lost, or that does not answer, may move.
func (b *balancer) stay(c *fleet.Cluster) {
	b.others = slices.DeleteFunc(b.others, func(s *observedHost) bool { return s.state.Claim.ID == b.id }) // one host has two names
	known := c.Residence.Endpoint
	if c.Residence.ControlPlane != fleet.InitializedOnce || c.ServedElsewhere() || c.Delete {
		return
	}
	i := slices.IndexFunc(b.others, func(s *observedHost) bool { return s.host.Address == known.Host && staying(s) })
	if i >= 0 && (b.named == nil || b.named.host.Address != known.Host) {
		former, asked := b.others[i], b.named
		b.refuse("spec.loadBalancer", "the machines know the API server at the load balancer on host %s (put it back, or make a new cluster; if no machine uses it any more, set lost: true for the host until another one has it)", former.host)
		b.others = slices.Delete(b.others, i, i+1)
		if b.id != "" {
			b.others = append(b.others, asked)
		}
		b.named, b.id, b.staying, b.endpoint.Host = former, former.state.Claim.ID, true, known.Host
	}
	if b.named != nil && known.Port != 0 && known.Port != b.endpoint.Port {
		b.refuse("the port of the API server", "the machines know it at %d, Git says %d (put it back, or make a new cluster)", known.Port, b.endpoint.Port)
		b.endpoint.Port = known.Port
	}
}

// refuse notes a change in Git that b does not follow.
func (b *balancer) refuse(field, format string, args ...any) {
	b.refused = fleet.JoinErrors(b.refused, fleet.Errorf(fleet.Invalid, "change "+field, format, args...))
}

// staying reports whether what s carries is not being released.
func staying(s *observedHost) bool {
	return s.state.Progress != host.Releasing && s.state.Progress != host.Stalled
}

// lookForUnknown notes which machines are unknown. One that the load balancer leads to
// already was known when that was written, whatever became of the notes since.
func (b *balancer) lookForUnknown(r roster, c *fleet.Cluster) error {
	unknown := make(map[string]bool)
	list := r.machines(c)
	for i := range list {
		if f := &list[i]; f.claim.Tags[fleet.TagRole] == string(fleet.RoleControlPlane) && !r.vouched(c, f) {
			unknown[f.claim.ID] = true
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	all, err := b.configuration(r, c, "")
	if err != nil {
		return err
	}
	if b.named.state == nil || b.named.state.Balanced == host.Sum(all) {
		return nil // nothing is written to a host that does not answer
	}
	b.unknown = unknown
	return nil
}

// doubt returns why f may be false, or "".
func (b *balancer) doubt(f *hostMachine) string {
	if f.forged == "" && b.unknown[f.claim.ID] {
		return "too few other hosts of HostPool " + f.claim.Pool + " note its claim, which Fairlead has them do before it makes one"
	}
	return f.forged
}

// trusted returns those of list that are not in doubt.
func (b *balancer) trusted(list []hostMachine) []hostMachine {
	return slices.DeleteFunc(list, func(f hostMachine) bool { return b.doubt(&f) != "" })
}

// configuration returns what b is to run with: it leads to the control plane of c
// but for what is on its way out, or is called without.
func (b *balancer) configuration(r roster, c *fleet.Cluster, without string) ([]byte, error) {
	h := haproxy.Balancer{Address: b.endpoint.Host, Port: b.endpoint.Port, More: c.ControlPlane.Ports, Servers: b.servers(r, c, without)}
	config, err := h.Config()
	if err != nil {
		return nil, fleet.Errorf(fleet.Conflict, "configure the load balancer of "+c.Key.String(), "%w", err)
	}
	return config, nil
}

// servers returns what b is to lead to, but for the machine called without, sorted.
func (b *balancer) servers(r roster, c *fleet.Cluster, without string) []haproxy.Server {
	var out []haproxy.Server
	list := r.machines(c)
	for i := range list {
		f := &list[i]
		m := f.machine()
		doubt := b.doubt(f)
		if noted := r.noted(f); doubt != "" && noted != nil { // the claim is in doubt, and the former one is not
			of := fleet.MachineFromTags(noted.Tags)
			m.Name, m.Role, doubt = of.Name, of.Role, of.Damaged
		}
		if endpoint.Leads(&m) && string(m.Name) != without && f.host != nil && doubt == "" {
			out = append(out, haproxy.Server{Name: string(m.Name), Address: f.host.Address, Port: cmp.Or(f.claim.APIPort, c.ControlPlane.APIPort, 6443)})
		}
	}
	slices.SortFunc(out, func(a, b haproxy.Server) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Address, b.Address))
	})
	return out
}

// observe adds to out what was seen of b.
func (b *balancer) observe(r roster, c *fleet.Cluster, out *fleet.Infrastructure) {
	if len(b.others) > 0 && out.Ready {
		out.Drift = append(out.Drift, "release the hosts of former load balancers")
	}
	if b.refused != nil && out.Ready {
		out.Drift = append(out.Drift, b.refused.Error())
	}
	if b.named == nil {
		return
	}
	switch {
	case b.named.silent() && len(r.machines(c)) > 0:
		// It was made before they were, and may well do its work.
		out.Drift = append(out.Drift, "reach the load balancer")
	case b.id == "" && len(b.others) > 0 && len(r.machines(c)) > 0: // a former one serves them
		out.Drift = append(out.Drift, "run the load balancer on host "+b.named.host.String())
	case b.id == "" || !b.staying || b.named.state.Balanced == "":
		out.Ready, out.Message = false, "its load balancer does not run on host "+b.named.host.String()
	case b.named.state.Balanced != host.Sum(b.config):
		const members = "bring the load balancer in line with the control plane"
		out.Drift, out.Upkeep = append(out.Drift, members), append(out.Upkeep, members)
	}
}

// ensureBalancer has the load balancer run on the host of b. Former ones serve until then.
func (p *Provider) ensureBalancer(ctx context.Context, op fleet.OperationID, c *fleet.Cluster, b *balancer) error {
	if b.named != nil {
		if err := p.runBalancer(ctx, op, c, b); err != nil {
			return fleet.JoinErrors(err, b.refused)
		}
	}
	return fleet.JoinErrors(p.releaseBalancers(ctx, b.others), b.refused)
}

// runBalancer claims the host of b and starts the load balancer on it.
func (p *Provider) runBalancer(ctx context.Context, op fleet.OperationID, c *fleet.Cluster, b *balancer) error {
	s := b.named
	what := "run the load balancer on host " + s.host.String()
	switch {
	case s.host.Lost:
		return fleet.Errorf(fleet.Unavailable, what, "the host is lost (name another one with its address in spec.loadBalancer of HostCluster %s, or take lost away when it is back)", c.Infrastructure.Name)
	case !s.answers():
		return wrap(what, s.err)
	case b.id == "":
		reason, err := p.claimBalancer(ctx, op, c, b)
		if err != nil {
			return wrap(what, err)
		}
		if reason != "" {
			return fleet.Errorf(fleet.Conflict, what, "the host %s (a load balancer has a host of its own: say unschedulable: true of it, so that no machine takes it)", reason)
		}
	case !b.staying:
		return fleet.Errorf(fleet.Conflict, what, "the host is still being cleaned")
	}
	return p.balance(ctx, b, b.config)
}

// claimBalancer claims the host of b. A reason says why it cannot have it.
func (p *Provider) claimBalancer(ctx context.Context, op fleet.OperationID, c *fleet.Cluster, b *balancer) (reason string, err error) {
	s := b.named
	if s.state.Claimed {
		return describeClaim(s.state.Claim), nil
	}
	if !s.state.HAProxy {
		return "", fleet.Errorf(fleet.Unavailable, "find HAProxy", "it is not installed there (as root of the host: apt-get install haproxy)")
	}
	name := "host " + s.host.ns + " " + s.host.String()
	if !p.deciding.TryLock(name) {
		return "is being claimed for a machine", nil
	}
	defer p.deciding.Unlock(name)
	k := sharedNote(c, op)
	k.ID, k.Pool, k.Host, k.Domain, k.Created = claims.NewID(), s.host.Pool, s.host.Name, s.host.FailureDomain, time.Now().UTC().Truncate(time.Second)
	if reason, err := p.claim(ctx, s, &k, host.Payload{Steps: []byte("true\n"), Ports: []int32{b.endpoint.Port}}); err != nil || reason != "" {
		return reason, err
	}
	b.id, b.staying = k.ID, true
	return "", nil
}

// balance has the host of b run with config.
func (p *Provider) balance(ctx context.Context, b *balancer, config []byte) error {
	if b.id == "" || host.Sum(config) == b.named.state.Balanced {
		return nil
	}
	_, err := p.run(ctx, b.named.host, host.Balance(b.id, config))
	if err != nil && fleet.KindOf(err) == fleet.Unknown {
		return fleet.Errorf(fleet.Unavailable, "run the load balancer on host "+b.named.host.String(), "%w", err)
	}
	return err
}

// releaseBalancers has hosts give up being load balancers.
func (p *Provider) releaseBalancers(ctx context.Context, list []*observedHost) error {
	for _, s := range list {
		if _, err := p.run(ctx, s.host, host.Release(s.state.Claim.ID, false)); err != nil {
			return wrap("release the load balancer on host "+s.host.String(), err)
		}
	}
	return nil
}

// deleteBalancer has every host of b give it up, and reports whether none has it any
// more.
func (p *Provider) deleteBalancer(ctx context.Context, b *balancer) (gone bool, err error) {
	if b.named != nil && b.named.silent() {
		return false, fmt.Errorf("the host of its load balancer does not answer: %w (if it is switched off or gone permanently, set lost: true for it)", b.named.err)
	}
	list := b.others
	if b.id != "" {
		list = append(slices.Clone(list), b.named)
	}
	return len(list) == 0, p.releaseBalancers(ctx, list)
}

// leave has the load balancer of c, if it has one, lead to each machine of the control
// plane that stays when the one called name goes; if unlist is true, it no longer leads
// to that one. The kind Conflict says that it is not known to lead to those that stay.
// Its checks leave out what is gone and what has no etcd, so that nothing else waits for it.
func (p *Provider) leave(ctx context.Context, c *fleet.Cluster, all roster, name fleet.MachineName, unlist bool) error {
	spec, err := api.ReadCluster(c.Infrastructure)
	if err != nil || c.Delete {
		return err
	}
	b, err := all.balancer(c, spec)
	if err != nil || b.named == nil {
		return err
	}
	without := ""
	if unlist {
		without = string(name)
	}
	config, err := b.configuration(all, c, without)
	if err != nil {
		return err
	}
	if err = b.answers(); err == nil {
		err = p.balance(ctx, b, config)
	}
	if err == nil {
		return nil
	}
	if b.unserved(all, c, name) {
		return fleet.Errorf(fleet.Conflict, "take machine "+string(name)+" out of the load balancer", "whether it leads to each machine that stays is not known: %w", err)
	}
	p.log.Warn("continuing although the load balancer still uses a machine in deletion", "cluster", c.Key.String(), "machine", name, "error", err)
	return nil
}

// answers returns why b cannot be brought in line, or nil.
func (b *balancer) answers() error {
	switch {
	case b.named.state == nil && b.named.err != nil:
		return b.named.err
	case b.named.state == nil:
		return fmt.Errorf("host %s is lost", b.named.host)
	case b.id == "" || !b.staying:
		return fmt.Errorf("it does not run on host %s", b.named.host)
	}
	return nil
}

// unserved reports whether the machine called name is behind b, others stay, and b is not
// known to lead to each of these.
func (b *balancer) unserved(r roster, c *fleet.Cluster, name fleet.MachineName) bool {
	behind := slices.ContainsFunc(b.servers(r, c, ""), func(s haproxy.Server) bool { return s.Name == string(name) })
	led := b.named.state != nil && b.named.state.Balanced == host.Sum(b.config)
	return behind && !led && len(b.servers(r, c, string(name))) > 0
}

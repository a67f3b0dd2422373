package metal3

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver"
	"fairlead.dev/providers/driver/endpoint"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/infrastructure/metal3/host"
	"fairlead.dev/providers/infrastructure/metal3/ironic"
	"fairlead.dev/providers/infrastructure/metal3/machine"
)

// Observe implements providers.Infrastructure.
func (p *Provider) Observe(ctx context.Context, c *fleet.Cluster) (fleet.Infrastructure, error) {
	got, err := p.look(ctx, c, snapshot.OwnerOf(c))
	if err != nil {
		return fleet.Infrastructure{}, ironic.WrapLook("observe "+c.Key.String(), err)
	}
	at := time.Now()
	out := fleet.Infrastructure{FailureDomains: failureDomains(got.spec), Places: []fleet.PlaceSeen{{Place: got.at, Named: true}}, Hosts: []fleet.Host{}}
	slices.SortFunc(out.FailureDomains, func(a, b fleet.FailureDomain) int { return strings.Compare(a.Name, b.Name) })
	running := make(remembered)
	for i := range got.hosts {
		h := &got.hosts[i]
		if h.tags != nil {
			out.Machines = append(out.Machines, h.machine)
			if h.runs() {
				running[machine.NodeName(h.Namespace, h.Name)] = h.tags
			}
		}
		if m, ok := got.released(h); ok {
			out.Machines = append(out.Machines, m)
		}
		if what := p.upkeep(got, h, at); what != "" {
			out.Upkeep = append(out.Upkeep, what)
		}
		out.Hosts = append(out.Hosts, p.hostOf(got, h))
	}
	driver.SortMachines(out.Machines)
	fleet.SortHosts(out.Hosts)
	if len(running) > 0 {
		out.Places = append(out.Places, running.Seen(hostsOf(got.at)))
	}
	if (machines{p}).Exists(c, got) {
		out.Exists, out.Endpoint, out.Places[0].Used = true, endpoint.Wanted(c), true
		out.Message = got.unready()
		out.Ready = out.Message == ""
	}
	slices.Sort(out.Upkeep)
	out.Drift = slices.Clone(out.Upkeep)
	return out, nil
}

// runs reports whether the machine on h runs, or may: what is remembered of the cluster names
// it then.
func (h *observedHost) runs() bool {
	return h.lost || h.node.State == ironic.Active || h.node.Serviced() || h.node.Rescued() || h.node.State == ironic.Error || h.node.State == ironic.Deleting || h.declared.Machine.Running
}

// unready says why no machine can be made yet; empty: one can. A cluster that has machines is
// ready, whatever its hosts do, and so is one whose hosts all wait for people: what is in the
// way is reported to the caller that makes a machine.
func (o *observation) unready() string {
	if len(o.machines) > 0 {
		return ""
	}
	if who := o.endpointHolder(); who != "" {
		return who
	}
	var why []string
	for i := range o.hosts {
		h := &o.hosts[i]
		switch {
		case o.whyNotFree(h) == "":
			return ""
		case h.object != nil && h.next.Held == "" && h.next.Err == nil && h.next.Phase != host.External && h.tags == nil && !h.isTaken():
			why = append(why, fmt.Sprintf("host %s is %s", h.String(), h.next.Phase))
		}
	}
	const most = 8
	if more := len(why) - most; more > 0 {
		why = append(why[:most:most], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(why, "; ")
}

// endpointHolder says which machine was given the endpoint that Git names, before Git named it;
// empty: none was.
func (o *observation) endpointHolder() string {
	e, err := netip.ParseAddr(endpoint.Wanted(o.cluster).Host)
	if err != nil || o.cluster.ServedElsewhere() {
		return "" // a name belongs to no machine
	}
	for _, id := range o.listing.holders.Of(e) {
		for i := range o.listing.nodes {
			if n := &o.listing.nodes[i]; n.UUID == id {
				tags := o.listing.machineTags(n)
				return fmt.Sprintf("the endpoint %s was given to machine %s of cluster %s from a pool (name another address, or have that machine replaced)",
					e, tags[fleet.TagMachine], tags[fleet.TagCluster])
			}
		}
	}
	return ""
}

// isTaken reports whether a machine has h.
func (h *observedHost) isTaken() bool { return h.node != nil && h.record.occupied(h.node) }

// whyNotFree returns why no machine may claim h; empty if one may.
func (o *observation) whyNotFree(h *observedHost) string {
	n := h.node
	switch {
	case h.object == nil:
		return "left Git"
	case h.spec.ExternallyProvisioned:
		return "is externally provisioned"
	case n == nil:
		return cmp.Or(h.next.Held, "is not enrolled yet")
	case h.tags != nil:
		return "has machine " + h.tags[fleet.TagMachine]
	case n.Instance != "":
		return "has " + o.consumerOf(h).String()
	case h.next.Held != "":
		return h.next.Held
	case n.Maintenance && n.Fault != "":
		return "does not answer: " + cmp.Or(n.MaintenanceReason, n.Fault)
	case n.Maintenance:
		return "is in maintenance"
	case n.State != ironic.Available:
		why := "is " + string(n.State)
		if err := n.Failure(); err != nil {
			why += ": " + err.Error()
		}
		return why
	case n.Retired:
		return "is retired in Ironic"
	case host.ToBePrepared(h.declared, n):
		return "is to be prepared first: " + cmp.Or(h.declared.Outstanding, "another inspection")
	}
	return ""
}

package maas

import (
	"cmp"
	"context"
	"slices"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/infrastructure/maas/api"
	"fairlead.dev/providers/infrastructure/maas/region"
)

// An observation is what was seen of a cluster.
type observation struct {
	*site
	cluster *fleet.Cluster
	spec    *api.MaasClusterSpec
	listing *listing
	name    clusterName
	former  []clusterName // names of the cluster that Git does not name any more
	hosts   []*host       // with machines of the cluster

	untagged driver.Remembered // machines that are remembered and listed, and that lost their tags
}

// A host is one that a machine of the cluster has.
type host struct {
	region.Machine

	tags    map[string]string
	machine fleet.Machine
	lost    bool // the machine is remembered alone
}

func (h *host) String() string { return "host " + cmp.Or(h.Hostname, h.SystemID) }

// look observes c. o is c, or the machine of it that something is requested of.
func (p *Provider) look(ctx context.Context, c *fleet.Cluster, o snapshot.Owner) (*observation, error) {
	spec, err := api.ReadCluster(c.Infrastructure)
	if err != nil {
		return nil, err
	}
	s, err := p.siteOf(ctx, c)
	if err != nil {
		return nil, err
	}
	l, err := s.listings.Get(ctx, o)
	if err != nil {
		return nil, err
	}
	p.watch.Looked(snapshot.OwnerOf(c), []*site{s})
	out := &observation{site: s, cluster: c, spec: spec, listing: l}
	if out.name, out.former, err = s.namesOf(ctx, c, spec); err != nil {
		return nil, err
	}
	at := time.Now()
	for _, m := range l.machines {
		if tags := l.tags[m.SystemID]; c.Owns(tags) {
			out.hosts = append(out.hosts, p.hostOf(m, tags, at))
		}
	}
	return out, out.remember(ctx)
}

// hostOf returns the host of the machine with tags.
func (p *Provider) hostOf(m region.Machine, tags map[string]string, at time.Time) *host {
	h := &host{Machine: m, tags: tags, machine: fleet.MachineFromTags(tags)}
	f := &h.machine
	f.ProviderID, f.FailureDomain, f.Created = providerIDOf(m.SystemID, tags), tags[tagZone], createdOf(tags)
	f.Addresses = slices.Sorted(slices.Values(m.Addresses))
	f.Power = map[string]fleet.HostPower{region.On: fleet.HostOn, region.Off: fleet.HostOff}[m.Power]
	p.stateOf(h, at)
	return h
}

// stateOf fills in how far the machine of h got.
func (p *Provider) stateOf(h *host, at time.Time) {
	f := &h.machine
	f.Message = h.Error
	switch h.State {
	case region.Allocated:
		f.State = fleet.MachinePending
		if at.Sub(f.Created) > p.o.Settle && !p.deciding.Locked(h.SystemID) {
			f.State, f.Message = fleet.MachineFailed, "the host was claimed, and its deployment did not begin"
		}
	case region.Deploying, region.Deployed:
		f.State = fleet.MachinePending
		if h.State == region.Deployed {
			f.State = fleet.MachineRunning
		}
		if h.OSystem == "" { // MAAS forgets it when a release begins
			f.State, f.Interrupted, f.Silent = fleet.MachineDeleting, true, h.unreached()
			f.Message = cmp.Or(f.Message, "MAAS could not switch the host off when it released it")
		}
	case region.FailedDeployment, region.Broken:
		f.State, f.Message = fleet.MachineFailed, cmp.Or(f.Message, "the host is "+h.StateName)
		p.failed.NoteFirst(h.SystemID, at)
	case region.Releasing, region.Erasing:
		f.State, f.Silent = fleet.MachineDeleting, h.unreached()
		if isReleased(&h.Machine) {
			f.State = fleet.MachineReleased
		}
		if f.Silent {
			f.Message = cmp.Or(f.Message, "the host is "+h.StateName+", and MAAS could not reach its BMC")
		}
	case region.FailedReleasing, region.FailedErasing:
		f.State, f.Interrupted, f.Silent = fleet.MachineDeleting, true, h.unreached()
		f.Message = cmp.Or(f.Message, "the host is "+h.StateName)
	default: // people test or rescue it
		f.State, f.Silent, f.Message = fleet.MachineRunning, true, "the host is in the state "+h.StateName+" of MAAS"
	}
}

// unreached reports whether MAAS asked the BMC of h in vain.
func (h *host) unreached() bool { return h.Power != region.On && h.Power != region.Off }

// isReleased reports whether the machine on a host is gone, though MAAS still works on the host.
func isReleased(m *region.Machine) bool {
	return (m.State == region.Releasing || m.State == region.Erasing) && m.Power == region.Off
}

// again looks at h once more by its system id. It returns nil if the host does not have that machine any more.
func (p *Provider) again(ctx context.Context, o *observation, was *host) (*host, error) {
	if was.lost {
		return was, nil
	}
	m, err := o.client.Machine(ctx, was.SystemID)
	switch {
	case region.IsMissing(err):
		return nil, nil
	case err != nil:
		return nil, region.WrapLook("look again at "+was.String(), err)
	case m.Owner != o.listing.user.Name:
		return nil, nil
	}
	tags, err := o.recognise(ctx, &m)
	if err != nil {
		return nil, region.WrapLook("look again at "+was.String(), err)
	}
	if !o.cluster.Owns(tags) || lifeOf(tags) != lifeOf(was.tags) {
		return nil, nil
	}
	return p.hostOf(m, tags, time.Now()), nil
}

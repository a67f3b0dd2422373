package vsphere

import (
	"context"
	"slices"
	"strings"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/infrastructure/vsphere/api"
	"fairlead.dev/providers/infrastructure/vsphere/machine"
	"fairlead.dev/providers/infrastructure/vsphere/vcenter"
)

// Observe implements providers.Infrastructure.
func (p *Provider) Observe(ctx context.Context, c *fleet.Cluster) (fleet.Infrastructure, error) {
	op := "observe " + c.Key.String()
	got, err := p.look(ctx, c, snapshot.OwnerOf(c))
	if err != nil {
		return fleet.Infrastructure{}, vcenter.WrapLook(op, err)
	}
	if err := got.lookForStrays(ctx); err != nil {
		return fleet.Infrastructure{}, vcenter.WrapLook(op, err)
	}
	domains, err := failureDomains(c, got.spec)
	if err != nil {
		return fleet.Infrastructure{}, vcenter.WrapLook(op, err)
	}
	out := fleet.Infrastructure{FailureDomains: domains}
	var untagged []fleet.Machine
	for i := range got.sites {
		s := &got.sites[i]
		at := s.Now()
		for _, k := range s.clones {
			if k.failure != nil {
				out.Failures = append(out.Failures, *k.failure)
			}
		}
		for j := range s.owned {
			o := &s.owned[j]
			if o.Machine.State == fleet.MachineDeleting {
				o.Machine.Interrupted = machine.Stopped(o, removalOf(c, o), at) || p.unasked(o)
			}
			if what := got.upkeep(s, o, at); what != "" {
				out.Upkeep = append(out.Upkeep, what)
			}
		}
		some, err := p.untaggedByName(ctx, got, s)
		if err != nil {
			return fleet.Infrastructure{}, vcenter.WrapLook(op, err)
		}
		untagged = append(untagged, some...)
		out.Places = append(out.Places, fleet.PlaceSeen{Place: s.place(), Used: len(s.owned)+len(s.clones)+len(some) > 0, Named: s.named})
	}
	out.Machines = got.machines()
	unchecked, err := p.unchecked(c, got)
	if err != nil {
		return fleet.Infrastructure{}, vcenter.WrapLook(op, err)
	}
	if len(out.Machines) > 0 || p.found.Has(snapshot.OwnerOf(c)) {
		out.Exists, out.Ready = true, len(out.Machines) > 0 || len(unchecked) == 0
		out.Places[0].Used = true
		if out.Endpoint, err = p.endpoint(got); err != nil {
			out.Ready, unchecked = false, append(unchecked, err.Error())
		}
	}
	if out.Ready {
		out.Upkeep = append(out.Upkeep, unchecked...)
	} else {
		out.Message = strings.Join(unchecked, "; ")
	}
	for _, m := range untagged { // they say nothing of whether the cluster is there
		copied := slices.ContainsFunc(out.Machines, func(x fleet.Machine) bool { return m.ProviderID != "" && m.ProviderID == x.ProviderID })
		if !copied {
			out.Machines = append(out.Machines, m)
		}
	}
	driver.SortMachines(out.Machines)
	slices.Sort(out.Upkeep)
	out.Drift = slices.Clone(out.Upkeep)
	slices.SortFunc(out.Failures, func(a, b fleet.Failure) int { return strings.Compare(string(a.Machine), string(b.Machine)) })
	return out, nil
}

// upkeep says what EnsureInfrastructure would do to o; empty: nothing.
func (o *observation) upkeep(s *observedSite, m *machine.Owned, at time.Time) string {
	switch {
	case !mayChange(m):
		return ""
	case m.Held != "":
		return ""
	case o.toBeFinished(m):
		return "finish machine " + string(m.Machine.Name) + " and power it on"
	}
	if in, ok := o.strays[m]; ok {
		return "put machine " + string(m.Machine.Name) + " back into the VM group " + in.group
	}
	if step := machine.NextOfRunning(m, at); step.Action != machine.None {
		return step.What + ": machine " + string(m.Machine.Name)
	}
	return ""
}

// toBeFinished reports whether m is half made, and Git wants it.
func (o *observation) toBeFinished(m *machine.Owned) bool {
	return mayChange(m) && m.Held == "" && halfMade(m) && o.wants(m)
}

// mayChange reports whether anything may be done to m but to delete it.
func mayChange(m *machine.Owned) bool {
	return m.Machine.Damaged == "" && !m.Deleting() && !m.Machine.Silent && m.VM.Configured && !m.VM.Template && m.VM.Busy == ""
}

// halfMade reports whether m is to be powered on.
func halfMade(m *machine.Owned) bool {
	return m.VM.Power == "poweredOff" && m.VM.Refusal == ""
}

// wants reports whether Git has the pool of m.
func (o *observation) wants(m *machine.Owned) bool {
	_, ok := o.cluster.Pool(m.Machine.Pool)
	return ok
}

// removalOf says how m goes: as Git says of its pool, and where Git says nothing any more, as it
// said when m was made.
func removalOf(c *fleet.Cluster, m *machine.Owned) machine.Removal {
	if pool, ok := c.Pool(m.Machine.Pool); ok {
		if spec, err := api.ReadMachine(pool.Infrastructure); err == nil {
			return machine.RemovalOf(spec)
		}
	}
	return machine.RecordedRemoval(m.Tags)
}

package vsphere

import (
	"context"
	"slices"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/addresses"
	"fairlead.dev/providers/infrastructure/vsphere/machine"
	"fairlead.dev/providers/infrastructure/vsphere/vcenter"
)

// holdBack marks machines that are powered off and must stay so. One that never ran is reported as failed:
// it is the planner that deletes it and makes another. One that ran keeps its disks, whatever became
// of its address.
func (o *observation) holdBack(ctx context.Context) error {
	for i := range o.sites {
		s := &o.sites[i]
		for j := range s.owned {
			m := &s.owned[j]
			if !mayChange(m) || !halfMade(m) {
				continue
			}
			lost, old := o.mustGiveBackAddress(s, m), o.outdated(m)
			if lost == nil && !old {
				continue
			}
			d, err := (&work{site: s, machine: m}).details(ctx, nil)
			if vcenter.NotFound(err) {
				continue
			} else if err != nil {
				return err
			}
			ran := machine.MayHaveRun(m, d)
			switch {
			case lost != nil:
				m.Held = "it is not powered on: its address " + lost.Address.String() + " of " + lost.Pool + " was given to another machine too"
			case !ran:
				m.Held = "it was not finished before its pool got another template"
			}
			if m.Held != "" {
				m.Machine.Message = m.Held
			}
			if !ran {
				m.Machine.State = fleet.MachineFailed
			}
		}
	}
	return nil
}

// outdated reports whether Git has another template than that of m for its pool: nothing tells any more
// what m was to be.
func (o *observation) outdated(m *machine.Owned) bool {
	pool, ok := o.cluster.Pool(m.Machine.Pool)
	return ok && pool.Template != m.Machine.Template
}

// mustGiveBackAddress returns the address of a pool of m, which is powered off, that another machine has and runs
// with, or keeps; nil: there is none. See package addresses. So it is with the address of the
// endpoint, as long as the cluster never was one and none of its machines runs.
func (o *observation) mustGiveBackAddress(s *observedSite, m *machine.Owned) *addresses.Claim {
	claims, err := addresses.Parse(m.Tags[addresses.Tag])
	e, wrong := addresses.EndpointOf(m.Tags)
	if err != nil || wrong != nil || m.VM.Power != "poweredOff" {
		return nil
	}
	if e.Address.IsValid() && o.cluster.Residence.ControlPlane != fleet.InitializedOnce && o.outdone(e, o.endpointHolder()) {
		return &e
	}
	if i := slices.IndexFunc(claims, func(c addresses.Claim) bool { return o.outdone(c, s.holder(m.VM.Ref)) }); i >= 0 {
		return &claims[i]
	}
	return nil
}

// outdone reports whether another one than own, which does not run, keeps the address of c,
// whichever pool gave it.
func (o *observation) outdone(c addresses.Claim, own string) bool {
	return !o.running[own] && o.holders.Loses(own, c.Address, func(other string) bool { return o.running[other] })
}

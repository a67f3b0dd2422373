package vsphere

import (
	"context"
	"slices"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/vsphere/machine"
	"fairlead.dev/providers/infrastructure/vsphere/vcenter"
)

// A stray is a machine that runs and is not in the VM group of its zone: who writes a group writes all of
// it, and leaves out what was put there since that was read.
type stray struct {
	group   string
	compute *vcenter.Entity
}

// lookForStrays finds the strays of o. What is not known of a group has nothing done. A machine that is
// finished puts all of its zone into the group.
func (o *observation) lookForStrays(ctx context.Context) error {
	o.strays = make(map[*machine.Owned]stray)
	joining := make(map[string]bool)
	for i := range o.sites {
		for j := range o.sites[i].owned {
			if m := &o.sites[i].owned[j]; o.toBeFinished(m) {
				joining[o.groupOf(m)] = true
			}
		}
	}
	for i := range o.sites {
		s := &o.sites[i]
		for j := range s.owned {
			m := &s.owned[j]
			group := o.groupOf(m)
			if group == "" || joining[group] || !mayChange(m) || m.VM.Power != "poweredOn" {
				continue
			}
			all, err := s.Inventory(ctx)
			if err != nil {
				return err
			}
			compute := s.computeOf(all, m)
			if compute == nil || !compute.Cluster {
				continue
			}
			g, err := s.KnownGroups(ctx, compute.Ref)
			switch fleet.KindOf(err) {
			case fleet.Unauthorized, fleet.Invalid, fleet.NotFound: // EnsureInfrastructure tells
				continue
			}
			if err != nil {
				return err
			}
			if members, ok := g.VMs[group]; ok && !slices.Contains(members, m.VM.Ref) {
				o.strays[m] = stray{group, compute}
			}
		}
	}
	return nil
}

// groupOf returns the VM group of the zone of m; empty: Git names none.
func (o *observation) groupOf(m *machine.Owned) string {
	pool, ok := o.cluster.Pool(m.Machine.Pool)
	if !ok {
		return ""
	}
	at, err := place(o.cluster, o.spec, &pool, m.Machine.FailureDomain)
	if err != nil {
		return "" // creating a machine reports it
	}
	return at.hosts().VMGroupName
}

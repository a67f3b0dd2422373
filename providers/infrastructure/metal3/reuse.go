package metal3

import (
	"fmt"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/metal3/api"
)

// A pool whose template says nodeReuse has its next machine on a host that a machine of it had before:
// what is on its disks is of use there. So a machine of the pool waits for such a host while that is
// being released and cleaned, and no machine of another pool gets it while the pool lacks machines.
// Source: CAPM3, docs/node_reuse.md.

// hadPool returns the pool of the machine of the cluster that h has or had last; empty: of none.
func (o *observation) hadPool(h *observedHost) fleet.PoolName {
	if h.tags != nil {
		return h.machine.Pool
	}
	if past := h.record.extra; o.cluster.Owns(past) {
		return fleet.PoolName(past[fleet.TagPool])
	}
	return ""
}

// awaited says which host the machine waits for; nil: it waits for none. A host that is held, or that
// something failed at, is not waited for.
func (q *search) awaited() error {
	if !q.spec.NodeReuse {
		return nil
	}
	var coming *observedHost
	for i := range q.o.hosts {
		h := &q.o.hosts[i]
		if q.o.hadPool(h) != q.request.Pool.Name || h.object == nil || h.node == nil || h.record.failed {
			continue
		}
		why, err := q.unfit(h)
		if err != nil {
			return err
		}
		switch {
		case why != "":
		case q.o.whyNotFree(h) == "" && !q.p.isClaimed(h.node.UUID, time.Now()):
			return nil
		case q.comes(h):
			coming = h
		}
	}
	if coming == nil {
		return nil
	}
	return fleet.Errorf(fleet.Exhausted, "claim a host", "nodeReuse is set, and host %s, which a machine of pool %s had, is %s: waiting until it is available", coming, q.request.Pool.Name, coming.node.State)
}

// comes reports whether h becomes available by itself.
func (q *search) comes(h *observedHost) bool {
	n := h.node
	leaves := h.tags != nil && h.machine.State == fleet.MachineDeleting && !h.machine.Silent
	return (leaves || h.tags == nil && n.Instance == "") && h.next.Held == "" && !n.Maintenance && n.Failure() == nil
}

// reusedBy says which other pool h is kept for; empty: none.
func (o *observation) reusedBy(h *observedHost, pool fleet.PoolName) (string, error) {
	p, ok := o.cluster.Pool(o.hadPool(h))
	if !ok || p.Name == pool {
		return "", nil
	}
	spec, err := api.ReadMachine(p.Infrastructure)
	if err != nil || !spec.NodeReuse { // a template that cannot be read is reported when a machine is created from it
		return "", nil
	}
	there := 0
	for _, m := range o.machines {
		if m.machine.Pool == p.Name && m.machine.State != fleet.MachineDeleting {
			there++
		}
	}
	if why, err := o.unsuited(spec, p.Name, h); there >= p.Replicas || why != "" || err != nil {
		return "", err
	}
	return fmt.Sprintf("is kept for pool %s, whose template sets nodeReuse and which has %d of %d machines", p.Name, there, p.Replicas), nil
}

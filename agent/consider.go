package agent

import (
	"context"
	"fmt"
	"slices"
	"time"

	"fairlead.dev/fleet"
)

// consider decides on a request that nobody answered.
func (a *Agent) consider(ctx context.Context, r fleet.Request, now time.Time) fleet.Answer {
	a.mu.Lock()
	h, ok := a.desired.clusters[r.Cluster]
	a.mu.Unlock()
	accept := fleet.Answer{State: fleet.RequestAccepted}
	switch {
	case !ok:
		return refusal("the fleet has no cluster %s: fairlead status lists them", r.Cluster)
	case r.Wish == fleet.WishAbandon:
		return a.considerAbandon(ctx, r, h)
	case h.orphan:
		return refusal("the cluster vanished from Git and is left alone: put it back, or abandon it")
	case h.cluster == nil:
		return refusal("no definition of the cluster can be used: fairlead status says why")
	}
	switch r.Wish {
	case fleet.WishSuspend:
		switch {
		case h.cluster.Paused:
			return refusal("Git pauses the cluster already")
		case !r.Until.IsZero() && !now.Before(r.Until):
			return refusal("%s is over", r.Until.UTC().Format(time.RFC3339))
		}
	case fleet.WishReplace, fleet.WishRemediate:
		return a.considerMachine(ctx, r, h.cluster)
	}
	return accept
}

func (a *Agent) considerMachine(ctx context.Context, r fleet.Request, c *fleet.Cluster) fleet.Answer {
	there, _, err := a.ledger.ReadCluster(ctx, r.Cluster)
	if err != nil {
		return fleet.Answer{} // with the next poll
	}
	machines := there.Report.Machines
	i := slices.IndexFunc(machines, func(m fleet.MachineReport) bool {
		return m.Machine.Name == r.Machine && m.Machine.ProviderID == r.ProviderID
	})
	if i < 0 {
		return refusal("the cluster has no machine %s with the provider id %s: fairlead tree shows them", r.Machine, r.ProviderID)
	}
	m := machines[i].Machine
	p, ok := c.Pool(m.Pool)
	others := slices.ContainsFunc(machines, func(o fleet.MachineReport) bool {
		return o.Machine.ProviderID != m.ProviderID && controls(c, o.Machine)
	})
	switch {
	case m.State == fleet.MachineDeleting:
		return refusal("the machine is being deleted already")
	case c.Delete:
		return refusal("the cluster is being deleted")
	case !ok && m.Role == fleet.RoleWorker:
		return refusal("pool %s is not in Git any more: its machines go", m.Pool)
	case r.Wish == fleet.WishRemediate && mayControl(c, m) && !others:
		return refusal(lastMachine)
	}
	accept := fleet.Answer{State: fleet.RequestAccepted}
	if p.Paused || c.Paused || c.Suspension != nil {
		accept.Message = "it waits: the cluster or the pool is paused"
	}
	return accept
}

// mayControl reports whether m may be of the control plane of c: one of its tags says so,
// whatever people did to the other one.
func mayControl(c *fleet.Cluster, m fleet.Machine) bool {
	p, ok := c.Pool(m.Pool)
	return m.Role == fleet.RoleControlPlane || ok && p.Role == fleet.RoleControlPlane
}

// lastMachine is why a machine is not taken out before there is another.
const lastMachine = "it is the last machine of the control plane: replace makes another one first"

// remainsLast reports whether machine id is all that the control plane of c has and is
// to have: others of it may have been there when somebody asked for its remediation.
func remainsLast(c *fleet.Cluster, machines []fleet.MachineReport, id fleet.ProviderID) bool {
	if c == nil || c.ControlPlane.Replicas != 1 {
		return false
	}
	last := false
	for _, m := range machines {
		if mayControl(c, m.Machine) {
			if m.Machine.ProviderID != id {
				return false
			}
			last = true
		}
	}
	return last
}

// controls reports whether m is of the control plane of c by all of its tags.
func controls(c *fleet.Cluster, m fleet.Machine) bool {
	return m.Role == fleet.RoleControlPlane && m.Damaged == "" && c.Contradicts(&m) == ""
}

// considerAbandon decides whether a cluster may be forgotten that is on its way out,
// which carryOut does once the answer is written. What is in Git and wanted there
// would come back with the next pass.
func (a *Agent) considerAbandon(ctx context.Context, r fleet.Request, h held) fleet.Answer {
	switch {
	case h.cluster != nil && h.cluster.Protect:
		return refusal("the cluster is protected by %s: remove that first", fleet.ProtectAnnotation)
	case h.inGit && !h.deleting():
		return refusal("the cluster is in Git: remove it there, or annotate it with %s: %s", fleet.DeleteAnnotation, fleet.Abandon)
	}
	return fleet.Answer{State: fleet.RequestAccepted, Message: a.leftBehind(ctx, r.Cluster)}
}

// carryOut does what of list was accepted and concerns no pass: it forgets the
// clusters that are to be abandoned and that Git does not have.
func (a *Agent) carryOut(list []fleet.Request) {
	for _, r := range list {
		if r.Wish != fleet.WishAbandon || !r.Open() || r.Answer.State != fleet.RequestAccepted {
			continue
		}
		a.mu.Lock()
		h, ok := a.desired.clusters[r.Cluster]
		a.mu.Unlock()
		if ok && !h.inGit {
			a.release(r.Cluster)
			a.Poll() // for the answer that it is done
		}
	}
}

func refusal(format string, args ...any) fleet.Answer {
	return fleet.Answer{State: fleet.RequestRefused, Message: fmt.Sprintf(format, args...)}
}

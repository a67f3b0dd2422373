package rollout

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"fairlead.dev/fleet"
)

// admit decides on a request that has no answer. An empty answer leaves it for
// later.
func (s State) admit(r fleet.Request, q Requests, now time.Time) fleet.Answer {
	c, known := s.clusters.get(r.Cluster)
	if s.revision.IsZero() && (s.refused.IsZero() || r.Kind == fleet.RequestAbandon || r.Kind == fleet.RequestRelease) {
		return fleet.Answer{} // what Git has is not known yet
	}
	switch {
	case r.Kind == fleet.RequestRelease:
		return s.admitRelease(r)
	case !known:
		return refusal("the fleet has no cluster %s: fairlead status lists them", r.Cluster)
	case r.Kind == fleet.RequestAbandon:
		return admitAbandon(r, c, q)
	case c.orphan:
		return refusal(whyRemoved + ": put it back, or abandon it")
	case c.definition == nil:
		return refusal(whyNoDefinition + ": fairlead status says why")
	}
	switch r.Kind {
	case fleet.RequestSuspend:
		switch {
		case c.definition.Paused:
			return refusal("Git pauses the cluster already")
		case !r.Until.IsZero() && !now.Before(r.Until):
			return refusal("%s is over", r.Until.UTC().Format(time.RFC3339))
		}
	case fleet.RequestReplace, fleet.RequestRemediate:
		return admitMachine(r, c.definition, q)
	}
	return fleet.Answer{State: fleet.RequestAccepted}
}

// admitMachine decides whether a machine of c may be taken out.
func admitMachine(r fleet.Request, c *fleet.Cluster, q Requests) fleet.Answer {
	there, read := q.Recorded[r.Cluster]
	if !read {
		return fleet.Answer{}
	}
	i := slices.IndexFunc(there.Machines, func(m fleet.MachineReport) bool {
		return m.Machine.ID() == r.MachineID()
	})
	if i < 0 {
		return refusal("the cluster has no machine %s with the provider id %s: fairlead tree shows them", r.Machine, r.ProviderID)
	}
	m := there.Machines[i].Machine
	p, ok := c.Pool(m.Pool)
	others := slices.ContainsFunc(there.Machines, func(o fleet.MachineReport) bool {
		return o.Machine.ProviderID != m.ProviderID && isControlPlane(c, o.Machine)
	})
	switch {
	case m.State == fleet.MachineDeleting:
		return refusal("the machine is being deleted already")
	case c.Delete:
		return refusal("the cluster is being deleted")
	case !ok && m.Role == fleet.RoleWorker:
		return refusal("pool %s is not in Git any more: its machines go", m.Pool)
	case r.Kind == fleet.RequestRemediate && mayBeControlPlane(c, m) && !others:
		return refusal(lastMachine)
	}
	accept := fleet.Answer{State: fleet.RequestAccepted}
	if p.Paused || c.Paused || c.Suspension != nil {
		accept.Message = "it waits: the cluster or the pool is paused"
	}
	return accept
}

// mayBeControlPlane reports whether m may be of the control plane of c: one of its tags says
// so, whatever people did to the other one.
func mayBeControlPlane(c *fleet.Cluster, m fleet.Machine) bool {
	p, ok := c.Pool(m.Pool)
	return m.Role == fleet.RoleControlPlane || ok && p.Role == fleet.RoleControlPlane
}

// lastMachine is why a machine is not taken out before there is another.
const lastMachine = "it is the last machine of the control plane: replace makes another one first"

// isLastControlPlane reports whether machine id is all that the control plane of c has and is
// to have: others of it may have been there when somebody asked for its remediation.
func isLastControlPlane(c *fleet.Cluster, machines []fleet.MachineReport, id fleet.MachineID) bool {
	if c == nil || c.ControlPlane.Replicas != 1 {
		return false
	}
	last := false
	for _, m := range machines {
		if mayBeControlPlane(c, m.Machine) {
			if m.Machine.ID() != id {
				return false
			}
			last = true
		}
	}
	return last
}

// isControlPlane reports whether m is of the control plane of c by all of its tags.
func isControlPlane(c *fleet.Cluster, m fleet.Machine) bool {
	return m.Role == fleet.RoleControlPlane && m.Damaged == "" && c.Contradicts(&m) == ""
}

// admitAbandon decides whether a cluster that is on its way out may be forgotten,
// which happens once the answer is written. What is in Git and wanted there would come
// back with the next pass.
func admitAbandon(r fleet.Request, c cluster, q Requests) fleet.Answer {
	switch {
	case c.definition != nil && c.definition.Protect:
		return refusal("the cluster is protected by %s: remove that first", fleet.ProtectAnnotation)
	case c.inGit && !c.deleting():
		return refusal("the cluster is in Git: remove it there, or annotate it with %s: %s", fleet.DeleteAnnotation, fleet.Abandon)
	}
	return fleet.Answer{State: fleet.RequestAccepted, Message: LeftBehind(q.Recorded[r.Cluster])}
}

// LeftBehind says what stays of a cluster that is forgotten, by what the status branch
// says of it; zero: it is not known.
func LeftBehind(r fleet.Report) string {
	if r.Cluster == (fleet.Key{}) {
		return "what stays behind is not known: fairlead orphans looks for it"
	}
	var list []string
	for _, m := range r.Machines {
		list = append(list, fmt.Sprintf("machine %s (%s)", m.Machine.Name, m.Machine.ProviderID))
	}
	if e := r.Endpoint; !e.IsZero() {
		list = append(list, fmt.Sprintf("API server at %s:%d", e.Host, e.Port))
	}
	list = append(list, "the infrastructure around them, and the cluster's secrets")
	return "stays behind: " + strings.Join(list, ", ") + "; fairlead orphans finds what carries the fleet's tags"
}

func refusal(format string, args ...any) fleet.Answer {
	return fleet.Answer{State: fleet.RequestRefused, Message: fmt.Sprintf(format, args...)}
}

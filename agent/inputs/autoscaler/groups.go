package autoscaler

import (
	"slices"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"fairlead.dev/agent/inputs/autoscaler/externalgrpc"
	"fairlead.dev/fleet"
)

// A group is a pool with bounds that Git leaves to be scaled, and its machines.
type group struct {
	cluster  *fleet.Cluster
	pool     fleet.Pool
	machines []fleet.MachineReport
}

// groupsOf returns the groups of c, by name.
func groupsOf(c fleet.Scalable) []group {
	if c.Cluster.Delete || c.Cluster.Abandon {
		return nil
	}
	var out []group
	for _, p := range c.Cluster.Workers {
		if p.Scaling == nil || p.Scaling.Max == 0 {
			continue
		}
		g := group{cluster: c.Cluster, pool: p}
		for _, m := range c.Machines {
			if m.Machine.Role == fleet.RoleWorker && m.Machine.Pool == p.Name {
				g.machines = append(g.machines, m)
			}
		}
		out = append(out, g)
	}
	return out
}

func groupOf(c fleet.Scalable, id string) (group, error) {
	for _, g := range groupsOf(c) {
		if string(g.pool.Name) == id {
			return g, nil
		}
	}
	return group{}, status.Errorf(codes.NotFound, "cluster %s has no pool %q that an autoscaler may scale: it needs the size annotations, and no replicas in Git or %s",
		c.Cluster.Key, id, "cluster.x-k8s.io/replicas-managed-by")
}

func (g group) message() *externalgrpc.NodeGroup {
	return &externalgrpc.NodeGroup{
		Id: string(g.pool.Name), MinSize: int32(g.pool.Scaling.Min), MaxSize: int32(g.pool.Scaling.Max),
		Debug: "pool " + string(g.pool.Name) + " of cluster " + g.cluster.Key.String(),
	}
}

// resting says why nothing of the group is changed at now, or nothing.
func (g group) resting(now time.Time) string {
	s := g.cluster.Suspension
	switch {
	case g.cluster.Paused:
		return "the cluster is paused"
	case s != nil && !s.Over(now):
		return "the cluster is suspended: " + s.Reason
	case g.pool.Paused:
		return "the pool is paused"
	}
	return ""
}

// scale returns a decision on n machines, where those that are to go and are
// still there go on being marked.
func (g group) scale(n int, reason string, more ...fleet.ProviderID) fleet.Scale {
	s := fleet.Scale{Cluster: g.cluster.Key, Pool: g.pool.Name, Replicas: n, Reason: reason}
	for _, m := range g.machines {
		if id := m.Machine.ProviderID; g.pool.Scaling.Remove[id] || slices.Contains(more, id) {
			s.Remove = append(s.Remove, id)
		}
	}
	slices.Sort(s.Remove)
	return s
}

// going reports whether m is on its way out, or to go soon.
func (g group) going(m fleet.MachineReport) bool {
	return m.Phase == fleet.MachinePhaseDeleting || g.pool.Scaling.Remove[m.Machine.ProviderID]
}

// nodeID returns the provider id that the Node of m has, or will have.
func nodeID(m fleet.MachineReport) string {
	if m.NodeID != "" {
		return string(m.NodeID)
	}
	return string(m.Machine.ProviderID)
}

// runs reports whether n runs on m. A node that is not registered yet is known
// by the id that it was told under, which takes the place of its name.
func runs(n *externalgrpc.ExternalGrpcNode, m fleet.MachineReport) bool {
	switch id := n.GetProviderID(); {
	case id != "":
		return id == nodeID(m) || id == string(m.Machine.ProviderID) || m.Node != "" && n.GetName() == m.Node
	case m.Node != "":
		return n.GetName() == m.Node
	}
	return n.GetName() == nodeID(m) || n.GetName() == string(m.Machine.Name)
}

// machine returns the machine of the group that n runs on.
func (g group) machine(n *externalgrpc.ExternalGrpcNode) (fleet.MachineReport, bool) {
	i := slices.IndexFunc(g.machines, func(m fleet.MachineReport) bool { return runs(n, m) })
	if i < 0 {
		return fleet.MachineReport{}, false
	}
	return g.machines[i], true
}

// instance tells of m.
func instance(m fleet.MachineReport) *externalgrpc.Instance {
	s := &externalgrpc.InstanceStatus{InstanceState: externalgrpc.InstanceStatus_instanceRunning}
	switch {
	case m.Phase == fleet.MachinePhaseDeleting:
		s.InstanceState = externalgrpc.InstanceStatus_instanceDeleting
	case m.Machine.State == fleet.MachineFailed:
		s.InstanceState = externalgrpc.InstanceStatus_instanceCreating
		s.ErrorInfo = &externalgrpc.InstanceErrorInfo{
			ErrorCode: string(fleet.MachineFailed), ErrorMessage: m.Machine.Message, InstanceErrorClass: otherError,
		}
	case m.Node == "":
		s.InstanceState = externalgrpc.InstanceStatus_instanceCreating
	}
	return &externalgrpc.Instance{Id: nodeID(m), Status: s}
}

// otherError is the class of errors that are not a lack of resources, as far as
// is known: the autoscaler leaves the group alone for a while after either.
const otherError = 99

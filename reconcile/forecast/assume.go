package forecast

import (
	"maps"
	"slices"
	"strings"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/plan"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// newModel returns the cluster as in shows it. Requests that failed succeed in it.
func newModel(in plan.Input) *model {
	m := &model{git: spread(in.Desired), memory: in.Memory, now: in.Now, silent: in.NeverAnswered, observed: clone(in.Observed)}
	m.observed.Infrastructure.Failures, m.memory.Retries = nil, nil
	m.spreadDeparted()
	return m
}

// spreadDeparted does what spread does for the pools that are removed from Git.
func (m *model) spreadDeparted() {
	count := map[fleet.PoolName]int{}
	for _, o := range m.observed.Infrastructure.Machines {
		if _, known := m.git.Pool(o.Pool); !known {
			count[o.Pool]++
		}
	}
	m.memory.Removals = slices.Clone(m.memory.Removals)
	for _, name := range slices.Sorted(maps.Keys(count)) {
		i := slices.IndexFunc(m.memory.Removals, func(r fleet.PoolRemoval) bool { return r.Pool == name })
		if i < 0 {
			i = len(m.memory.Removals)
			m.memory.Removals = append(m.memory.Removals, fleet.PoolRemoval{Pool: name})
		}
		m.memory.Removals[i].MaxUnavailable = max(m.memory.Removals[i].MaxUnavailable, count[name]/rounds)
	}
}

// rounds is in how many parts the machines of a pool go.
const rounds = 10

// settle lets all get well that can, while p, which is at rest, says which machines are unhealthy.
// It reports whether the content of the cluster was not observed.
func (m *model) settle(p plan.Plan) (unseen bool) {
	known := make(map[fleet.ProviderID]fleet.MachineReport, len(p.Machines))
	for _, r := range p.Machines {
		known[r.Machine.ProviderID] = r
	}
	m.end()
	unseen = m.answer(known)
	m.settleKept()
	for i := range m.observed.Infrastructure.Machines {
		machine := &m.observed.Infrastructure.Machines[i]
		m.heal(machine, known[machine.ProviderID])
	}
	m.listMembers()
	m.settleAddons()
	return unseen
}

// spread returns c with rollouts of many machines at once: that changes how long one
// takes, and not what comes of it.
func spread(c *fleet.Cluster) *fleet.Cluster {
	out := *c
	out.Workers = slices.Clone(c.Workers)
	for i := range out.Workers {
		p := &out.Workers[i]
		p.MaxSurge = max(p.MaxSurge, p.Replicas/rounds)
	}
	return &out
}

// clone returns what the model may change of o as its own.
func clone(o fleet.Observed) fleet.Observed {
	o.Infrastructure.Machines, o.Guests = slices.Clone(o.Infrastructure.Machines), slices.Clone(o.Guests)
	o.Infrastructure.Pools = slices.Clone(o.Infrastructure.Pools)
	w := &o.Workload
	w.Nodes = slices.Clone(w.Nodes)
	for i := range w.Nodes {
		w.Nodes[i].Labels, w.Nodes[i].Annotations = cloneMap(w.Nodes[i].Labels), cloneMap(w.Nodes[i].Annotations)
	}
	w.ResourceSets, w.Releases, w.ReleaseTries = slices.Clone(w.ResourceSets), slices.Clone(w.Releases), nil
	if w.Etcd != nil {
		w.Etcd = &fleet.Etcd{Members: slices.Clone(w.Etcd.Members)}
	}
	w.Servers = slices.Clone(w.Servers)
	o.Distribution.Steps = maps.Clone(o.Distribution.Steps)
	if o.ControlPlane != nil {
		plane := *o.ControlPlane
		o.ControlPlane = &plane
	}
	return o
}

func cloneMap(m map[string]string) map[string]string {
	out := make(map[string]string, len(m))
	for k, v := range m {
		out[k] = v
	}
	return out
}

// end lets the removals that are under way end. One that stopped half way, or of a
// machine that cannot be reached, does not.
func (m *model) end() {
	for i := range m.observed.Workload.Nodes {
		if n := &m.observed.Workload.Nodes[i]; n.Draining {
			m.drain(n)
		}
	}
	for _, o := range slices.Clone(m.observed.Infrastructure.Machines) {
		if o.State == fleet.MachineDeleting && !o.Interrupted && !o.Silent && o.Damaged == "" {
			m.deleteMachine(fleet.Action{Kind: fleet.DeleteMachine, Machine: o.Name, ProviderID: o.ProviderID})
		}
	}
}

// answer has an API server answer that did not, where there is a control plane. What is
// in the cluster is not known then, and is taken to be in its desired state.
// It reports whether that is so.
func (m *model) answer(known map[fleet.ProviderID]fleet.MachineReport) bool {
	w, machines := &m.observed.Workload, m.observed.Infrastructure.Machines
	serves := func(o fleet.Machine) bool {
		return o.Role == fleet.RoleControlPlane && o.Damaged == "" && o.State != fleet.MachineDeleting && o.State != fleet.MachineFailed && !condemned(known[o.ProviderID])
	}
	hosted := m.git.Hosted != nil
	if w.Reachable || hosted && !m.hostedServes() || !hosted && !slices.ContainsFunc(machines, serves) {
		return false
	}
	w.Reachable, w.Message = true, ""
	m.observed.Distribution.Steps = nil
	if hosted {
		m.assumeServed()
	}
	return true
}

// heal lets a machine boot and join, and its Node become ready, unless a health check
// found it unhealthy. One that failed is given the time after which it is given up.
func (m *model) heal(machine *fleet.Machine, known fleet.MachineReport) {
	switch {
	case machine.Damaged != "", machine.State == fleet.MachineDeleting, condemned(known):
		return
	case machine.State == fleet.MachineFailed && known.Node == "":
		const long = 24 * time.Hour
		machine.Created = machine.Created.Add(-long)
		if !machine.Origin.Made.IsZero() {
			machine.Origin.Made = machine.Origin.Made.Add(-long)
		}
		return
	}
	if machine.State == fleet.MachinePending {
		machine.State, machine.Message = fleet.MachineRunning, ""
	}
	if !m.observed.Workload.Reachable {
		return
	}
	if known.Node == "" && m.alone(machine) {
		m.join(m.git, machine)
		return
	}
	if n := m.node(known.Node); n != nil && !n.Draining {
		p, _ := m.git.Pool(machine.Pool)
		m.recover(n, &p)
	}
}

// alone reports whether no other machine has the name of machine.
func (m *model) alone(machine *fleet.Machine) bool {
	machines := m.observed.Infrastructure.Machines
	other := slices.ContainsFunc(m.indexed().machines[machine.Name], func(i int) bool { return machines[i].ProviderID != machine.ProviderID })
	return !other && m.node(string(machine.Name)) == nil
}

// condemned reports whether a health check, or a person, found a machine unhealthy.
func condemned(r fleet.MachineReport) bool {
	return slices.ContainsFunc(r.Conditions, func(c fleet.Condition) bool {
		return c.Type == clusterv1.MachineHealthCheckSucceededCondition && c.Status == fleet.False
	})
}

// listMembers completes the members of etcd, which may not have been looked at.
func (m *model) listMembers() {
	w := &m.observed.Workload
	if m.observed.Distribution.Traits.External() {
		return
	}
	if w.Etcd == nil {
		w.Etcd = &fleet.Etcd{}
	}
	for i := range w.Nodes {
		n := &w.Nodes[i]
		m.enroll(n)
		for j := range w.Etcd.Members {
			if e := &w.Etcd.Members[j]; e.Node == n.Name && n.Ready {
				e.Learner, e.Healthy = false, true
			}
		}
	}
}

// settleAddons ends what is under way with addons, and all times between two tries.
func (m *model) settleAddons() {
	w := &m.observed.Workload
	for i := range w.ResourceSets {
		s := &w.ResourceSets[i]
		s.Since, s.Tried, s.Applied = time.Time{}, time.Time{}, m.now
	}
	for i := range w.Releases {
		w.Releases[i].Changed = time.Time{}
	}
}

// passTime lets the time pass that p, which is at rest, waits for, where what follows
// is part of what has begun. It reports whether there is such a time.
func (m *model) passTime(p plan.Plan) bool {
	for _, s := range m.observed.Secrets.Rotations {
		if s.UnderWay() && p.After > 0 && rests(p, s) {
			m.now = m.now.Add(p.After)
			return true
		}
	}
	return slices.ContainsFunc(p.Machines, m.retry)
}

// rests reports whether p waits for the end of the time that a stage lasts.
func rests(p plan.Plan, s fleet.RotationState) bool {
	return slices.ContainsFunc(p.Notes, func(n string) bool { return strings.Contains(n, "(stage "+string(s.Stage)+") waits until") })
}

// retry lets the time pass after which an unhealthy machine may be replaced again.
func (m *model) retry(r fleet.MachineReport) bool {
	deferred := slices.ContainsFunc(r.Conditions, func(c fleet.Condition) bool {
		return c.Type == clusterv1.MachineOwnerRemediatedCondition && c.Reason == controlplanev1.KubeadmControlPlaneMachineRemediationDeferredReason
	})
	period := m.git.ControlPlane.Remediation.RetryPeriodSeconds
	if !deferred || period == nil {
		return false
	}
	for i := range m.observed.Infrastructure.Machines {
		if o := &m.observed.Infrastructure.Machines[i]; o.ProviderID == r.Machine.ProviderID {
			o.Origin.Remediation.At = o.Origin.Remediation.At.Add(-time.Duration(*period) * time.Second)
			return true
		}
	}
	return false
}

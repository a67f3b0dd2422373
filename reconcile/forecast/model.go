package forecast

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/plan"
)

// A model is a cluster as its infrastructure and its API server show it, in which
// every action succeeds at once.
type model struct {
	git      *fleet.Cluster
	memory   fleet.Memory
	now      time.Time
	silent   bool // the API server never answered
	observed fleet.Observed

	index    *index          // nil: it has to be made
	unsorted bool            // the lists are in no order
	deleted  []fleet.Attempt // machines: their names are not given again at once
	made     int             // machines that were made
	members  uint64
}

// blink is for how long an attempt is remembered in a time that does not pass.
const blink = time.Nanosecond

// Ids of machines and members that the model makes.
const (
	madeID     = "forecast://"
	madeMember = 1 << 62
)

func (m *model) input() plan.Input {
	if m.unsorted {
		m.sort()
	}
	return plan.Input{
		Desired: m.git, Observed: m.observed, Memory: m.memory, Now: m.now,
		Attempts: m.deleted, Settle: blink, NeverAnswered: m.silent && !m.observed.Workload.Reachable,
		Drains: len(m.observed.Infrastructure.Machines) / rounds,
	}
}

// carryOut does what a asks for, of a cluster that is to be as desired says now.
func (m *model) carryOut(desired *fleet.Cluster, a fleet.Action) {
	o := &m.observed
	if a.Provider != "" && (a.Kind == fleet.EnsureInfrastructure || a.Kind == fleet.DeleteInfrastructure) {
		m.changeGuest(a)
		return
	}
	switch a.Kind {
	case fleet.EnsureCertificates:
		m.makeSecrets()
	case fleet.EnsureControlPlane:
		m.ensureHosted(desired)
	case fleet.DeleteControlPlane:
		m.deleteHosted()
	case fleet.EnsureInfrastructure:
		m.ensureInfrastructure(desired)
	case fleet.EnsureKubeconfig:
		m.storeHosted()
		o.Secrets.Kubeconfig = fleet.KubeconfigState{Exists: true, Endpoint: o.Infrastructure.Endpoint, NotBefore: m.now, NotAfter: m.now.AddDate(1, 0, 0)}
	case fleet.RotateAuthority:
		m.rotate(a)
	case fleet.CreateMachine:
		m.createMachine(desired, a)
	case fleet.DeleteMachine:
		m.deleteMachine(a)
	case fleet.SwitchOff, fleet.SwitchOn:
		m.power(desired, a)
	case fleet.EnsurePool:
		m.ensureKept(desired, a.Pool)
	case fleet.DeletePool:
		m.deleteKept(a.Pool)
	case fleet.DeleteInfrastructure:
		o.Infrastructure, m.index = fleet.Infrastructure{Places: o.Infrastructure.Places}, nil
	case fleet.DeleteSecrets:
		o.Secrets = fleet.SecretState{Missing: o.Distribution.NeedsTo(func(n fleet.SecretNeed) bool { return !n.Given })}
	default:
		m.carryOutInside(desired, a)
	}
}

// carryOutInside does what needs the API server.
func (m *model) carryOutInside(desired *fleet.Cluster, a fleet.Action) {
	w := &m.observed.Workload
	switch a.Kind {
	case fleet.SyncNode:
		if n := m.node(a.Node); n != nil {
			sync(desired, a, n)
		}
	case fleet.DrainNode:
		if n := m.node(a.Node); n != nil {
			m.drain(n)
		}
	case fleet.UncordonNode:
		if n := m.node(a.Node); n != nil {
			n.Draining, n.DrainStarted, n.Drained, n.Unschedulable = false, time.Time{}, time.Time{}, false
		}
	case fleet.DeleteNode:
		m.removeNode(a.Node)
	case fleet.RemoveMember:
		w.Etcd.Members = slices.DeleteFunc(w.Etcd.Members, func(e fleet.Member) bool { return e.ID == a.Member })
	case fleet.ApplyStep:
		m.applyStep(desired.Version(), a.Step)
	case fleet.ApplyResources:
		m.apply(desired, a)
	case fleet.PruneResources:
		m.prune(desired, a)
	case fleet.InstallRelease, fleet.UninstallRelease:
		m.release(desired, a)
	case fleet.DeleteExternalResources:
		w.External = nil
	}
}

// applyStep takes a step of the distribution, which is no longer due for a control plane of
// that version. It never goes back to another one.
func (m *model) applyStep(version, name string) {
	steps := m.observed.Distribution.Steps
	if due, ok := steps[version]; ok {
		steps[version] = slices.DeleteFunc(slices.Clone(due), func(s fleet.Step) bool { return s.Name == name })
	}
}

// serve makes the part of the control plane on a Node work, or not.
func (m *model) serve(node string, ready bool) {
	w := &m.observed.Workload
	i := slices.IndexFunc(w.Servers, func(s fleet.Server) bool { return s.Node == node })
	if i < 0 {
		w.Servers = append(w.Servers, fleet.Server{Node: node})
		i = len(w.Servers) - 1
	}
	w.Servers[i].Ready = ready
}

// ensureInfrastructure brings what machines share to its desired state. Where its endpoint is
// not known before it is made, it gets one that stands for it.
func (m *model) ensureInfrastructure(desired *fleet.Cluster) {
	i := &m.observed.Infrastructure
	i.Exists, i.Ready, i.Message, i.Drift, i.Upkeep = true, true, "", nil, nil
	if desired.Hosted != nil {
		return
	}
	for _, e := range []fleet.Endpoint{m.memory.Residence.Endpoint, desired.NamedEndpoint(), {Host: "unknown", Port: 6443}} {
		if i.Endpoint.IsZero() {
			i.Endpoint = e
		}
	}
}

// changeGuest brings what is shared on a guest to its desired state, or removes it.
func (m *model) changeGuest(a fleet.Action) {
	for i := range m.observed.Guests {
		if g := &m.observed.Guests[i]; g.Provider == a.Provider {
			there := a.Kind == fleet.EnsureInfrastructure
			g.Infrastructure = fleet.Infrastructure{Exists: there, Ready: there, Places: g.Infrastructure.Places}
		}
	}
}

// createMachine makes a machine, which boots and joins at once.
func (m *model) createMachine(desired *fleet.Cluster, a fleet.Action) {
	p, _ := desired.Pool(a.Pool)
	m.made++
	made := fleet.Machine{
		Name: a.Machine, ProviderID: fleet.ProviderID(fmt.Sprint(madeID, m.made)), Pool: p.Name, Role: p.Role, Template: p.Template,
		Version: p.Version, Provider: a.Provider, Operation: a.Operation, FailureDomain: a.FailureDomain, State: fleet.MachineRunning,
		Created: m.now.Add(time.Duration(m.made)), // in the order in which they come
		Origin:  fleet.Origin{Made: m.now, Remediation: a.Remediation, Trust: desired.Trust(p.Role, m.observed.Secrets.Marks)},
	}
	if a.Join == fleet.JoinInit {
		m.observed.Workload.Reachable, m.observed.Workload.Message = true, ""
	}
	m.addMachine(made)
	m.join(desired, &made)
}

// deleteMachine removes a machine. Its Node stays, and is not ready; its member of etcd
// stays, unless it left before.
func (m *model) deleteMachine(a fleet.Action) {
	if p, _ := m.git.Pool(a.Pool); p.Kind != fleet.LoneMachine { // which has but one name
		m.deleted = append(m.deleted, fleet.Attempt{Action: a, At: m.now, Answered: true})
	}
	i, w := &m.observed.Infrastructure, &m.observed.Workload
	var gone fleet.ProviderID
	for o := m.listed(a); o >= 0; o = m.listed(a) {
		gone = i.Machines[o].ProviderID
		m.removeMachine(o)
	}
	x := m.indexed()
	if len(x.machines[a.Machine]) == 0 {
		if j, known := x.nodes[string(a.Machine)]; known {
			m.stop(&w.Nodes[j])
		}
	}
	if gone != "" {
		for _, j := range x.nodesOf[gone] {
			m.stop(&w.Nodes[j])
		}
	}
	if m.git.Hosted == nil && !slices.ContainsFunc(i.Machines, func(o fleet.Machine) bool { return o.Role == fleet.RoleControlPlane }) {
		*w, m.index = fleet.Workload{}, nil // the data of etcd went with its machines
		if !m.observed.Distribution.Traits.External() {
			w.Etcd = &fleet.Etcd{}
		}
	}
}

// listed returns where a machine that a deletes is, unless it is silent; -1: nowhere.
func (m *model) listed(a fleet.Action) int {
	machines := m.observed.Infrastructure.Machines
	for _, i := range m.indexed().machines[a.Machine] {
		if o := &machines[i]; (a.ProviderID == "" || a.ProviderID == o.ProviderID) && !o.Silent {
			return i
		}
	}
	return -1
}

// stop has a Node, and its member of etcd, whose machine went, be not ready.
func (m *model) stop(n *fleet.Node) {
	n.Ready = false
	if n.ControlPlane {
		m.serve(n.Name, false)
	}
	for k := range members(&m.observed.Workload) {
		if e := &m.observed.Workload.Etcd.Members[k]; e.Node == n.Name {
			e.Healthy = false
		}
	}
}

// rotate takes the rotation of an authority to its next stage.
func (m *model) rotate(a fleet.Action) {
	s := &m.observed.Secrets
	s.Rotations, s.Marks = maps.Clone(s.Rotations), maps.Clone(s.Marks)
	if s.Rotations == nil {
		s.Rotations = map[fleet.SecretName]fleet.RotationState{}
	}
	if s.Marks == nil {
		s.Marks = map[fleet.SecretName]string{}
	}
	s.Rotations[a.Authority] = fleet.RotationState{Wish: a.Wish, Stage: a.Stage, Since: m.now}
	if a.Stage == fleet.RotationHold {
		return
	}
	mark := string(a.Stage) + a.Wish
	if a.Authority == fleet.ClusterCA {
		trusted := "both"
		if a.Stage == fleet.RotationDone {
			trusted = "new"
		}
		mark = trusted + a.Wish + "." + mark
		s.Kubeconfig.Former = true
	}
	s.Marks[a.Authority] = mark
}

package plan_test

import (
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fleet"
)

type simMachine struct {
	fleet.Machine
	join      fleet.Join
	born      time.Time // Created, by a clock that is right
	visibleAt time.Time
	goneAt    time.Time // zero: it stays, or is silent
	joined    bool
	dead      bool   // never joins, or its node is broken
	lost      string // the tag that somebody took away, or
	changed   string // the role that somebody wrote in place of its own
}

// A naming says how Nodes show whose they are.
type naming string

// nodeName is how the Node of m, and its etcd member, is called.
func (w *world) nodeName(m *simMachine) string {
	if w.naming == otherwise {
		return "ip-" + string(m.Name)
	}
	return string(m.Name)
}

// shown is m as its tags have it.
func (w *world) shown(m *simMachine) fleet.Machine {
	out := m.Machine
	if !m.tampered() {
		return out
	}
	tags := w.desired.MachineTags(fleet.Pool{Name: m.Pool, Role: m.Role, Template: m.Template, Version: m.Version}, m.Name, m.Operation)
	maps.Copy(tags, m.Origin.Tags())
	delete(tags, m.lost)
	if m.changed != "" {
		tags["fairlead.dev/role"] = m.changed
	}
	is := fleet.MachineFromTags(tags)
	out.Name, out.Pool, out.Role, out.Template, out.Version, out.Damaged = is.Name, is.Pool, is.Role, is.Template, is.Version, is.Damaged
	return out
}

func (m *simMachine) tampered() bool { return m.lost != "" || m.changed != "" }

// live lets a machine boot, join and become ready.
func (w *world) live(m *simMachine) {
	if !m.goneAt.IsZero() {
		return
	}
	age := w.now.Sub(m.born)
	if w.full && !m.joined {
		m.State, m.Message = fleet.MachineFailed, "no valid host"
	}
	if m.State == fleet.MachinePending && age >= w.boot/2 {
		m.State = fleet.MachineRunning
	}
	if n := w.nodes[w.nodeName(m)]; m.joined {
		if n != nil && !n.Ready && !m.dead && age > w.boot+20*time.Second {
			w.setReady(n, true)
			w.serving[n.Name] = n.ControlPlane
		}
		return
	}
	if m.dead || m.State == fleet.MachineFailed || m.Template == w.broken || age < w.boot || (m.join != fleet.JoinInit && !w.reachable()) || w.nodes[w.nodeName(m)] != nil {
		return
	}
	if m.Role == fleet.RoleControlPlane {
		w.nextMember++
		learner := m.join == fleet.JoinControlPlane
		if !learner {
			w.kubeadm = applied(m.Version, "", "")
		} else if w.kubeadm == nil {
			return // kubeadm join cannot begin
		} else if w.kubeadm.Version != m.Version {
			w.violate("NoJoinWithAnotherVersion: %s of %s reads %s in kubeadm-config", m.Name, m.Version, w.kubeadm.Version)
		}
		w.members = append(w.members, fleet.Member{ID: w.nextMember, Name: w.nodeName(m), Node: w.nodeName(m), Learner: learner, Healthy: true})
		w.learnUntil[w.nodeName(m)] = w.now.Add(15 * time.Second)
	}
	m.joined = true
	w.nodes[w.nodeName(m)] = &fleet.Node{
		Name: w.nodeName(m), ProviderID: m.ProviderID, Created: w.now.Add(w.nodesAhead), KubeletVersion: m.Version,
		ControlPlane: m.Role == fleet.RoleControlPlane,
		Conditions:   []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionFalse, LastTransitionTime: metav1.NewTime(w.now.Add(w.nodesAhead))}},
		Taints:       []corev1.Taint{{Key: "node.cluster.x-k8s.io/uninitialized", Effect: corev1.TaintEffectNoSchedule}},
		Labels:       map[string]string{}, Annotations: map[string]string{},
	}
	if w.naming == byName {
		w.nodes[w.nodeName(m)].ProviderID = ""
	}
	w.logf("joined %s", m.Name)
}

func (w *world) setReady(n *fleet.Node, ready bool) {
	n.Ready = ready
	status := corev1.ConditionFalse
	if ready {
		status = corev1.ConditionTrue
	}
	n.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status, LastTransitionTime: metav1.NewTime(w.now.Add(w.nodesAhead))}}
}

// kill breaks a machine for good.
func (w *world) kill(m *simMachine) {
	m.dead = true
	w.logf("broke %s", m.Name)
	if !m.joined {
		return
	}
	if n := w.nodes[w.nodeName(m)]; n != nil {
		w.setReady(n, false)
		w.serving[n.Name] = false
	}
	for i := range w.members {
		if w.members[i].Name == w.nodeName(m) {
			w.members[i].Healthy = false
		}
	}
}

func (w *world) find(name fleet.MachineName) *simMachine {
	return w.subject(fleet.Action{Machine: name})
}

// subject returns the machine that a is about.
func (w *world) subject(a fleet.Action) *simMachine {
	for _, m := range w.machines {
		if m.Name == a.Machine && (a.ProviderID == "" || a.ProviderID == m.ProviderID) {
			return m
		}
	}
	return nil
}

const (
	byNameAndID naming = ""          // they are called as their machines, and have their ids
	byName      naming = "name"      // they have no ids: nobody sets them
	otherwise   naming = "otherwise" // they have other names
)

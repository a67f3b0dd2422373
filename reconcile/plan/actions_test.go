package plan_test

import (
	"fmt"
	"maps"
	"slices"
	"time"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/distribution/kubeadm"
)

// carryOut does what an action asks for.
func (w *world) carryOut(a fleet.Action) {
	w.logf("%s (%s)", a, a.Reason)
	if a.Provider != "" && (a.Kind == fleet.EnsureInfrastructure || a.Kind == fleet.DeleteInfrastructure) {
		w.changeYard(a)
		return
	}
	switch a.Kind {
	case fleet.EnsureCertificates:
		w.secrets.Missing = nil
	case fleet.EnsureInfrastructure:
		w.infra.Exists = true
	case fleet.EnsureKubeconfig:
		w.secrets.Kubeconfig = fleet.KubeconfigState{Exists: true, Endpoint: w.infra.Endpoint, NotBefore: w.now, NotAfter: w.now.AddDate(1, 0, 0)}
	case fleet.CreateMachine:
		w.createMachine(a)
	case fleet.DeleteMachine:
		w.deleteMachine(a)
	case fleet.DeleteInfrastructure:
		if len(w.machines) > 0 || len(w.queue) > 0 {
			w.violate("NoInfrastructureRemovedWhileSomethingMaySurface: %d machines, %d calls open", len(w.machines), len(w.queue))
		}
		w.infra = fleet.Infrastructure{}
	case fleet.DeleteSecrets:
		w.secrets = fleet.SecretState{Missing: fleet.Authorities()}
	case fleet.RotateAuthority:
		w.rotate(a)
	case fleet.RefreshToken:
	default:
		w.carryOutInside(a)
	}
}

// carryOutInside does what needs the API server.
func (w *world) carryOutInside(a fleet.Action) {
	if !w.reachable() {
		return
	}
	n := w.nodes[a.Node]
	switch a.Kind {
	case fleet.RemoveMember:
		w.members = slices.DeleteFunc(w.members, func(m fleet.Member) bool { return m.ID == a.Member })
	case fleet.ApplyStep:
		w.applyStep(a.Step)
	case fleet.SyncNode:
		p, _ := w.desired.Pool(a.Pool)
		if p.Name == "" {
			p.Name = a.Pool
		}
		if a.Outdated {
			p = p.OfOutdated()
		}
		if n != nil {
			n.Taints = fleet.NodeTaints(p, n.Annotations, n.Taints)
			maps.Copy(n.Annotations, fleet.NodeAnnotations(w.desired.Key, p, a.Machine))
			maps.Copy(n.Labels, p.NodeLabels)
		}
	case fleet.DrainNode:
		if n == nil {
			return
		}
		if !n.Draining {
			n.Draining, n.DrainStarted, n.Unschedulable = true, w.clock(), true
			for i := range w.pods {
				n.Pods = append(n.Pods, fleet.Pod{Namespace: "default", Name: fmt.Sprintf("app-%d", i), Blocked: "disruption budget"})
			}
		} else if len(n.Pods) > 0 && a.Machine != w.stuck {
			n.Pods, n.Evicted = n.Pods[1:], true
		}
	case fleet.UncordonNode:
		if n == nil {
			return
		}
		if n.Evicted {
			w.violate("NothingEvictedIsTakenBack: %s", a)
		}
		n.Draining, n.DrainStarted, n.Drained, n.Unschedulable, n.Pods = false, time.Time{}, time.Time{}, false, nil
	case fleet.DeleteNode:
		if n != nil && n.Annotations[clusterv1.MachineAnnotation] == "" && !n.Draining {
			w.violate("NothingForeignTouched: node %s", n.Name)
		}
		delete(w.nodes, a.Node)
	}
}

// changeYard makes or removes what is shared on the other site.
func (w *world) changeYard(a fleet.Action) {
	w.yard = fleet.Infrastructure{Exists: a.Kind == fleet.EnsureInfrastructure}
	on := func(m *simMachine) bool { return m.Provider == a.Provider }
	if a.Kind == fleet.DeleteInfrastructure && slices.ContainsFunc(w.machines, on) {
		w.violate("NoInfrastructureRemovedWhileSomethingMaySurface: machines are on %s", a.Provider)
	}
}

func (w *world) createMachine(a fleet.Action) {
	for _, m := range w.machines {
		if m.Name == a.Machine {
			if w.now.Before(m.visibleAt) || m.State == fleet.MachineDeleting {
				w.violate("OneMachinePerName: %s is created while another is there", a.Machine)
			}
			return
		}
	}
	if shared := map[string]fleet.Infrastructure{"": w.infra, yard: w.yard}[a.Provider]; !shared.Ready {
		w.violate("machine %s without infrastructure", a.Machine)
	}
	w.addMachine(a)
}

func (w *world) addMachine(a fleet.Action) {
	p, _ := w.desired.Pool(a.Pool)
	w.ids++
	w.machines = append(w.machines, &simMachine{
		Machine: fleet.Machine{
			Name: a.Machine, ProviderID: fleet.ProviderID(fmt.Sprintf("sim://%d", w.ids)), Pool: p.Name, Role: p.Role,
			Template: p.Template, Version: p.Version, Provider: p.Provider, Operation: a.Operation, FailureDomain: a.FailureDomain,
			State: fleet.MachinePending, Created: w.now.Add(w.infraAhead), Origin: fleet.Origin{Made: w.clock(), Remediation: a.Remediation, Trust: w.desired.Trust(p.Role, w.secrets.Marks)},
		},
		join: a.Join, born: w.now, visibleAt: w.now.Add(w.lag),
	})
}

func (w *world) deleteMachine(a fleet.Action) {
	for _, m := range w.machines {
		if m.Name != a.Machine || (a.ProviderID != "" && a.ProviderID != m.ProviderID) || !m.goneAt.IsZero() {
			continue
		}
		m.State = fleet.MachineDeleting
		if !m.Silent {
			m.goneAt = w.now.Add(w.leave)
		}
		w.kill(m)
	}
}

// applyStep does what kubeadm keeps in the cluster.
func (w *world) applyStep(name string) {
	if name == "SyncKubeadmConfig" {
		if w.kubeadm == nil {
			w.kubeadm = applied("", "", "")
		}
		w.kubeadm.Version = w.desired.ControlPlane.Version
		w.kubeadm.Marks[name], _ = kubeadm.Marks(&w.desired.ControlPlane)
		return
	}
	for _, m := range w.machines {
		if m.Role == fleet.RoleControlPlane && m.joined && m.goneAt.IsZero() && m.Version != w.desired.ControlPlane.Version {
			w.violate("NoKubeProxyNewerThanAnAPIServer: %s is of %s", m.Name, m.Version)
		}
	}
	if w.kubeadm == nil {
		return
	}
	_, w.kubeadm.Marks["SyncAddons"] = kubeadm.Marks(&w.desired.ControlPlane)
}

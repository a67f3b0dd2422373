package plan_test

import (
	"slices"
	"time"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/plan"
)

// foreign adds a Node that is not ours.
func (c *chaos) foreign() {
	c.nodes["somebody-elses"] = &fleet.Node{Name: "somebody-elses", ProviderID: "other://1"}
}

// calm ends all faults. What people marked has to be replaced all the same, but
// for the last machine of a control plane.
func (c *chaos) calm() {
	c.outage, c.stuck = false, ""
	clear(c.away)
	c.desired = change(c.desired, func(d *fleet.Cluster) {
		d.Paused, d.ControlPlane.Paused = false, false
		d.AllowVersion = d.ControlPlane.Version
		for i := range d.Workers { // what replaces on deletion is replaced by people in the end
			d.Workers[i].Paused, d.Workers[i].Strategy = false, fleet.RollingUpdate
		}
	})
	if c.desired.ControlPlane.Replicas == 1 {
		for _, m := range c.machines {
			if n := c.nodes[c.nodeName(m)]; n != nil && m.Role == fleet.RoleControlPlane {
				delete(n.Annotations, clusterv1.RemediateMachineAnnotation)
			}
		}
	}
	c.returnSilent()
	c.mend()
	c.logf("calm")
}

// inspect checks ConvergesToDesired: exactly the machines that are asked for,
// no Node or etcd member too many, and nothing more to do afterwards.
func (c *chaos) inspect() {
	want := map[string]int{}
	for _, p := range c.desired.Pools() {
		want[string(p.Name)+" "+string(p.Template)] = p.Replicas
	}
	for _, m := range c.machines {
		want[string(m.Pool)+" "+string(m.Template)]--
		if c.nodes[c.nodeName(m)] == nil {
			c.fail("machine %s has no node", m.Name)
		}
		if c.marked(m) {
			c.fail("MarkedMachinesAreReplaced: %s is there", m.Name)
		}
	}
	for k, n := range want {
		if n != 0 {
			c.fail("ConvergesToDesired: %s lacks %d machines", k, n)
		}
	}
	// One that never started is found with the next change, where an agent forgot
	// that it deleted a machine.
	started := slices.DeleteFunc(slices.Clone(c.members), func(m fleet.Member) bool { return m.Name == "" && c.crashed })
	nodes := 0
	for _, n := range c.nodes { // the same of a Node that joined after that, and that a pause kept from being marked
		if n.Name != "somebody-elses" && (n.Annotations[clusterv1.MachineAnnotation] != "" || n.Draining || !c.crashed) {
			nodes++
		}
	}
	if nodes != len(c.machines) || len(started) != c.desired.ControlPlane.Replicas {
		c.fail("ConvergesToDesired: %d nodes for %d machines, members %v", len(c.nodes), len(c.machines), c.members)
	}
	if k := c.kubeadm; k == nil || k.Version != c.desired.ControlPlane.Version {
		c.fail("ConvergesToDesired: kubeadm-config is %+v", k)
	}
	for range 20 {
		if p := c.pass(); len(p.Actions) > 0 {
			c.fail("NothingToDoAtRest: %v", p.Actions)
		}
		c.advance(time.Minute)
	}
}

// reasons tells what p does, and why.
func reasons(p plan.Plan) (out []string) {
	for _, a := range p.Actions {
		out = append(out, a.String()+": "+a.Reason)
	}
	return out
}

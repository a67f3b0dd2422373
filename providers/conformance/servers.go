package conformance

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"time"

	"fairlead.dev/fleet"
)

// userDataIsRepeatable: the same input gives the same bytes, and another machine others.
func userDataIsRepeatable(t testing.TB, o DistributionOptions) {
	p := newPlane(t, o)
	for pool, join := range map[*fleet.Pool]fleet.Join{&p.c.ControlPlane: fleet.JoinInit, &p.c.Workers[0]: fleet.JoinWorker} {
		in := p.input(*pool, "m-0", join)
		one, again := p.userData(in), p.userData(in)
		if !bytes.Equal(one.Content.Reveal(), again.Content.Reveal()) || one.Format != again.Format {
			t.Errorf("user data of %s (%s) differ from one call to the next", in.Machine, join)
		}
	}
}

// workersAreGivenLittle: what a worker boots with has none of the keys of servers.
func workersAreGivenLittle(t testing.TB, o DistributionOptions) {
	p := newPlane(t, o)
	in := p.input(p.c.Workers[0], "m-0", fleet.JoinWorker)
	in.Secrets = p.secrets // whatever it is offered
	u := p.userData(in).Content.Reveal()
	for name, d := range p.secrets {
		for key, secret := range d {
			if key == fleet.TLSCertKey {
				continue
			}
			if text := bytes.TrimSpace(secret.Reveal()); len(text) > 0 && bytes.Contains(u, text) {
				t.Errorf("a worker is given %s of the secret %s", key, name)
			}
		}
	}
}

// clusterGrows: a first server, more of them, and workers become one cluster.
func clusterGrows(t testing.TB, o DistributionOptions) {
	p := newPlane(t, o)
	p.servers(3)
	p.worker("w-0")
	w, err := p.look()
	if err != nil {
		t.Fatalf("Observe = %v, want no error", err)
	}
	if len(w.Nodes) != 4 || len(w.Servers) != 3 {
		t.Errorf("there are %d Nodes and %d servers, want 4 and 3", len(w.Nodes), len(w.Servers))
	}
	for _, n := range w.Nodes {
		if n.KubeletVersion != o.Older {
			t.Errorf("Node %s is of version %s, want %s, as its pool says", n.Name, n.KubeletVersion, o.Older)
		}
	}
	p.wantMembers("s-0", "s-1", "s-2")
	if steps := p.w.Distribution.Steps(p.c, w); slices.ContainsFunc(steps, func(s fleet.Step) bool { return s.When == fleet.BeforeJoin }) {
		t.Errorf("steps of a new cluster = %+v, want none before the next machine joins", steps)
	}
}

// nobodyJoinsUnasked: a worker that was not admitted waits outside.
func nobodyJoinsUnasked(t testing.TB, o DistributionOptions) {
	p := newPlane(t, o)
	p.servers(1)
	in := p.input(p.c.Workers[0], "w-0", fleet.JoinWorker)
	p.boot(in)
	wait(t, 2*time.Minute)
	if n, _ := p.node("w-0"); n != nil {
		t.Errorf("it is the Node %+v, and nobody let it in", n)
	}
	p.admit(in)
	p.admit(in)
	p.until("it is let in", func() string {
		if n, _ := p.node("w-0"); n == nil || !n.Ready {
			return fmt.Sprintf("Node: %+v", n)
		}
		return ""
	})
}

// remove takes the member of a server out, deletes its machine and its Node, each when
// the one before is done.
func (p *plane) remove(name fleet.MachineName, node string) {
	p.t.Helper()
	p.leave(node)
	p.discard(name, node)
}

// leave takes a member out and waits until it is.
func (p *plane) leave(node string) {
	p.t.Helper()
	m := p.memberOf(node)
	if err := p.w.Distribution.RemoveMember(p.t.Context(), p.access(), m); err != nil {
		p.t.Fatalf("RemoveMember(%s) = %v, want no error", m.Name, err)
	}
	listed := func() bool {
		members, err := p.members()
		return err != nil || slices.ContainsFunc(members, func(o fleet.Member) bool { return o.ID == m.ID })
	}
	if !p.w.Distribution.Traits(p.c).LeaveIsAsked && listed() {
		p.t.Errorf("member %s is listed after RemoveMember, and Traits.LeaveIsAsked is false", m.Name)
	}
	p.until("member "+m.Name+" is out", func() string {
		if listed() {
			return "it is listed"
		}
		return ""
	})
	if err := p.w.Distribution.RemoveMember(p.t.Context(), p.access(), m); err != nil {
		p.t.Errorf("RemoveMember(%s), which is out = %v, want no error", m.Name, err)
	}
}

// discard deletes a machine and its Node.
func (p *plane) discard(name fleet.MachineName, node string) {
	p.t.Helper()
	if err := p.w.Infrastructure.DeleteMachine(p.t.Context(), operation(name), p.c, name, ""); err != nil {
		p.t.Fatalf("DeleteMachine(%s) = %v, want no error", name, err)
	}
	p.until("machine "+string(name)+" is gone", func() string {
		if slices.ContainsFunc(p.infrastructure().Machines, func(m fleet.Machine) bool { return m.Name == name }) {
			return "it is there"
		}
		return ""
	})
	p.deleteNode(node)
}

// deleteNode deletes a Node and waits until it is gone.
func (p *plane) deleteNode(node string) {
	p.t.Helper()
	p.until("Node "+node+" is gone", func() string {
		if err := p.w.Workload.DeleteNode(p.t.Context(), p.access(), node); err != nil {
			return err.Error()
		}
		w, err := p.look()
		if err != nil || slices.ContainsFunc(w.Nodes, func(n fleet.Node) bool { return n.Name == node }) {
			return fmt.Sprintf("it is there: %v", err)
		}
		return ""
	})
}

// serverLeaves: one of three servers leaves, and the others vote on.
func serverLeaves(t testing.TB, o DistributionOptions) {
	p := newPlane(t, o)
	p.servers(3)
	p.remove("s-0", "s-0")
	p.wantMembers("s-1", "s-2")
	for _, name := range []fleet.MachineName{"s-1", "s-2"} {
		if why := p.serves(name); why != "" {
			t.Errorf("%s serves no more: %s", name, why)
		}
	}
	p.remove("s-1", "s-1")
	p.wantMembers("s-2")
	if why := p.serves("s-2"); why != "" {
		t.Errorf("the last one serves no more: %s", why)
	}
}

// nameIsUsedAgain: a name is free when its machine, its member and its Node are gone.
func nameIsUsedAgain(t testing.TB, o DistributionOptions) {
	p := newPlane(t, o)
	p.servers(3)
	p.worker("w-0")
	p.remove("s-1", "s-1")
	p.server("s-1")
	p.wantMembers("s-0", "s-1", "s-2")
	p.discard("w-0", "w-0")
	p.worker("w-0")
}

// deadServerIsReplaced: a server whose machine is dead leaves without its help, and
// another takes its place.
func deadServerIsReplaced(t testing.TB, o DistributionOptions) {
	p := newPlane(t, o)
	p.servers(3)
	p.w.Power(t, p.machine("s-2").ProviderID, false)
	p.until("its member is told not to be well", func() string {
		if m := p.memberOf("s-2"); m.Healthy {
			return fmt.Sprintf("%+v", m)
		}
		return ""
	})
	w, err := p.look()
	if err != nil {
		t.Fatalf("Observe = %v, want no error", err)
	}
	if slices.ContainsFunc(w.Servers, func(s fleet.Server) bool { return s.Node == "s-2" && s.Ready }) {
		t.Error("its server is told to be ready")
	}
	p.remove("s-2", "s-2")
	p.server("s-3")
	p.wantMembers("s-0", "s-1", "s-3")
}

// memberWithoutMachine: what is left of a server that went without leaving is shown, and
// can be removed, whether its Node is there or not.
func memberWithoutMachine(t testing.TB, o DistributionOptions) {
	p := newPlane(t, o)
	p.servers(3)
	if err := p.w.Infrastructure.DeleteMachine(t.Context(), "op-delete", p.c, "s-1", ""); err != nil {
		t.Fatalf("DeleteMachine = %v, want no error", err)
	}
	wait(t, time.Minute)
	if m := p.memberOf("s-1"); m.Healthy {
		t.Errorf("the member of a machine that is gone = %+v, want it not to be healthy", m)
	}
	if p.w.Distribution.Traits(p.c).NodeIsMember {
		p.deleteNode("s-1")
		p.wantMembers("s-0", "s-2")
	} else {
		p.deleteNode("s-1")
		p.leave("s-1")
	}
	p.server("s-1")
	p.wantMembers("s-0", "s-1", "s-2")
}

// lastMemberStays: the last member is never taken out.
func lastMemberStays(t testing.TB, o DistributionOptions) {
	p := newPlane(t, o)
	p.servers(1)
	m := p.memberOf("s-0")
	if err := p.w.Distribution.RemoveMember(t.Context(), p.access(), m); fleet.KindOf(err) != fleet.Conflict {
		t.Errorf("RemoveMember of the last member = %v, want the kind %s", err, fleet.Conflict)
	}
	wait(t, 5*time.Minute)
	if why := p.serves("s-0"); why != "" {
		t.Errorf("it serves no more: %s", why)
	}
}

package conformance

import (
	"testing"
	"time"

	"fairlead.dev/fleet"
)

// lostQuorum: where most servers are away nothing is reported that could be taken for proof,
// nothing is removed, and what comes back goes on.
func lostQuorum(t testing.TB, o DistributionOptions) {
	p := newPlane(t, o)
	p.servers(3)
	gone := p.memberOf("s-2")
	for _, name := range []fleet.MachineName{"s-1", "s-2"} {
		p.w.Power(t, p.machine(name).ProviderID, false)
	}
	wait(t, time.Minute)
	if members, err := p.members(); fleet.KindOf(err) != fleet.Unavailable {
		t.Errorf("Members = %+v, %v, want the kind %s", members, err, fleet.Unavailable)
	}
	if w, err := p.look(); err == nil && w.Reachable {
		t.Errorf("Observe = %+v, want nobody to be reachable", w)
	}
	if err := p.w.Distribution.RemoveMember(t.Context(), p.access(), gone); err == nil {
		t.Error("RemoveMember = no error, and nobody can have done it")
	}
	for _, name := range []fleet.MachineName{"s-1", "s-2"} {
		p.w.Power(t, p.machine(name).ProviderID, true)
	}
	for _, name := range []fleet.MachineName{"s-0", "s-1", "s-2"} {
		p.until(string(name)+" is back", func() string { return p.serves(name) })
	}
	p.wantMembers("s-0", "s-1", "s-2")
}

// serversComeBack: a server and a worker that lost power are what they were.
func serversComeBack(t testing.TB, o DistributionOptions) {
	p := newPlane(t, o)
	p.servers(3)
	p.worker("w-0")
	for _, name := range []fleet.MachineName{"s-0", "w-0"} {
		p.w.Power(t, p.machine(name).ProviderID, false)
	}
	wait(t, 2*time.Hour) // longer than anybody is let in for
	for _, name := range []fleet.MachineName{"s-0", "w-0"} {
		p.w.Power(t, p.machine(name).ProviderID, true)
	}
	p.until("s-0 is back", func() string { return p.serves("s-0") })
	p.until("w-0 is back", func() string {
		if n, _ := p.node("w-0"); n == nil || !n.Ready {
			return "its Node is not ready"
		}
		return ""
	})
	p.wantMembers("s-0", "s-1", "s-2")
}

// upgrade: servers of the next minor take the place of the others one by one, then a
// worker does.
func upgrade(t testing.TB, o DistributionOptions) {
	p := newPlane(t, o)
	p.servers(3)
	p.worker("w-0")
	p.version(o.Newer)
	for _, old := range []string{"s-0", "s-1", "s-2"} {
		p.server(fleet.MachineName(old + "-new"))
		p.remove(fleet.MachineName(old), old)
	}
	p.take(fleet.AfterControlPlane)
	p.wantMembers("s-0-new", "s-1-new", "s-2-new")
	p.worker("w-1")
	p.discard("w-0", "w-0")
	w, err := p.look()
	if err != nil {
		t.Fatalf("Observe = %v, want no error", err)
	}
	for _, n := range w.Nodes {
		if n.KubeletVersion != o.Newer {
			t.Errorf("Node %s is of version %s, want %s", n.Name, n.KubeletVersion, o.Newer)
		}
	}
	if steps := p.w.Distribution.Steps(p.c, w); len(steps) > 0 {
		t.Errorf("steps after the upgrade = %+v, want none", steps)
	}
}

// otherClusterIsNotReached: what one cluster is reached with opens no other.
func otherClusterIsNotReached(t testing.TB, o DistributionOptions) {
	p := newPlane(t, o)
	p.servers(1)
	other := newPlaneIn(t, o, p.w, fleet.Key{Namespace: "prod", Name: "eu-2"})
	other.servers(1)
	mine := p.admin
	p.admin = other.admin
	if w, err := p.look(); err == nil && w.Reachable && len(w.Nodes) == 1 && w.Nodes[0].ProviderID == p.machine("s-0").ProviderID {
		t.Errorf("Observe with the kubeconfig of another cluster = %+v", w)
	}
	p.admin = mine
	in := p.input(p.c.Workers[0], "w-0", fleet.JoinWorker)
	in.Secrets = other.input(p.c.Workers[0], "w-0", fleet.JoinWorker).Secrets
	p.admit(in)
	p.boot(in)
	wait(t, 5*time.Minute)
	if n, _ := p.node("w-0"); n != nil {
		t.Errorf("a worker that trusts another cluster is the Node %+v", n)
	}
}

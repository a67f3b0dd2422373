package inmemory

import (
	"net/http"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"fairlead.dev/fleet"
)

// TestK3sLeave: a member that is asked to leave is out later; the service on its machine
// ends then, and joins anew when it starts again.
func TestK3sLeave(t *testing.T) {
	inK3sLabs(t, CloudOptions{Faults: Faults{SlowLeave: 10 * time.Second}}, func(t *testing.T, l *k3sLab) {
		vms := l.servers(3)
		name := l.node("s-1").Annotations[l.program.annotation("node-name")]
		l.leave("s-1")
		l.wantNames("asked is not removed", "s-0", "s-1", "s-2")
		l.pass(15 * time.Second)
		l.wantNames("later", "s-0", "s-2")
		n := l.node("s-1")
		if n == nil || n.Annotations[l.program.annotation("removed-node-name")] != name || n.Annotations[l.program.annotation("node-name")] != "" {
			t.Errorf("annotations = %v, want %s among the removed", n.Annotations, name)
		}
		if l.ready("s-1") != "Unknown" || voter(n) != "False NotAMember" {
			t.Errorf("s-1 is ready: %s, votes: %s; want Unknown, since its service ended", l.ready("s-1"), voter(n))
		}
		l.wantConsole(vms[1], "This node has been removed from the cluster")
		l.pass(time.Hour)
		l.wantNames("while nobody starts it", "s-0", "s-2")

		l.reboot(vms[1])
		l.pass(time.Minute)
		l.wantNames("after its next start", "s-0", "s-1", "s-2")
		n = l.node("s-1")
		if got := n.Annotations[l.program.annotation("node-name")]; got == "" || got == name {
			t.Errorf("it joined again as %q, want another name than %q", got, name)
		}
		if got := n.Annotations[l.program.annotation("remove")]; got != "false" {
			t.Errorf("remove = %q, want false: it is not asked again", got)
		}
		if l.ready("s-1") != "True" {
			t.Errorf("s-1 is ready: %s", l.ready("s-1"))
		}
	})
}

func (l *k3sLab) reboot(v VM) {
	l.t.Helper()
	if err := l.StopVM(l.t.Context(), v.ID); err != nil {
		l.t.Fatal(err)
	}
	l.pass(time.Second)
	if err := l.StartVM(l.t.Context(), v.ID); err != nil {
		l.t.Fatal(err)
	}
}

// TestFirstServerLeaves: the first server has nobody to join and would begin anew.
func TestFirstServerLeaves(t *testing.T) {
	inK3sLabs(t, CloudOptions{}, func(_ *testing.T, l *k3sLab) {
		vms := l.servers(3)
		l.leave("s-0")
		l.pass(time.Minute)
		l.wantNames("it left", "s-1", "s-2")
		l.reboot(vms[0])
		l.pass(time.Minute)
		l.wantConsole(vms[0], "made a second cluster of its own")
		l.wantNames("the others go on", "s-1", "s-2")
	})
}

// TestFirstServerAgain: where no server is left, another one begins anew, on the ports of the one
// that is gone.
func TestFirstServerAgain(t *testing.T) {
	inK3sLabs(t, CloudOptions{}, func(t *testing.T, l *k3sLab) {
		vms := l.servers(1)
		if err := l.DeleteVM(t.Context(), vms[0].ID); err != nil {
			t.Fatal(err)
		}
		l.pass(time.Minute)
		again := l.bootK3s("s-1", l.firstConfig())
		l.pass(time.Minute)
		l.wantConsole(again, "")
		l.wantNames("it began anew", "s-1")
	})
}

// TestK3sNodeIsMember: to delete a server's Node is to remove its member, and its name is
// free no sooner.
func TestK3sNodeIsMember(t *testing.T) {
	inK3sLabs(t, CloudOptions{}, func(t *testing.T, l *k3sLab) {
		vms := l.servers(3)
		if err := l.DeleteVM(t.Context(), vms[2].ID); err != nil {
			t.Fatal(err)
		}
		l.pass(time.Minute)
		l.wantNames("its machine is gone, and it is a ghost", "s-0", "s-1", "s-2")
		again := l.bootK3s("s-2", l.serverConfig())
		l.pass(time.Minute)
		l.wantConsole(again, "duplicate node name found, please use a unique name for this node")
		l.delete("s-2")
		if n := l.node("s-2"); n == nil || n.DeletionTimestamp == nil {
			t.Errorf("the Node is gone before the controllers have looked: %v", n)
		}
		l.pass(time.Minute)
		l.wantNames("with the Node the ghost went, and the name is free", "s-0", "s-1", "s-2")
		l.wantConsole(again, "")
		if voter(l.node("s-2")) != "True MemberNotLearner" {
			t.Errorf("the new s-2 votes: %s", voter(l.node("s-2")))
		}
	})
}

// TestUnhealthyClusterTakesNobody: etcd adds no learner while a voter is away.
func TestUnhealthyClusterTakesNobody(t *testing.T) {
	inK3sLabs(t, CloudOptions{}, func(t *testing.T, l *k3sLab) {
		vms := l.servers(3)
		if err := l.StopVM(t.Context(), vms[2].ID); err != nil {
			t.Fatal(err)
		}
		v := l.bootK3s("s-3", l.serverConfig())
		l.pass(time.Minute)
		l.wantConsole(v, "etcdserver: unhealthy cluster")
		l.leave("s-2") // whose machine is dead: the leader does it
		l.pass(2 * time.Minute)
		l.wantNames("the dead one is out", "s-0", "s-1", "s-3")
		l.wantConsole(v, "")
	})
}

// TestK3sPassword: the name of an agent is taken as long as its Node is there.
func TestK3sPassword(t *testing.T) {
	inK3sLabs(t, CloudOptions{}, func(t *testing.T, l *k3sLab) {
		l.servers(1)
		l.agentToken(nil)
		old := l.bootK3s("a-0", l.agentConfig())
		l.pass(time.Minute)
		if err := l.DeleteVM(t.Context(), old.ID); err != nil {
			t.Fatal(err)
		}
		v := l.bootK3s("a-0", l.agentConfig())
		l.pass(10 * time.Minute)
		l.wantConsole(v, "Node password rejected, duplicate hostname")
		l.agentToken(nil)
		l.delete("a-0")
		l.pass(time.Minute)
		l.wantConsole(v, "")
		if l.ready("a-0") != "True" {
			t.Errorf("a-0 is ready: %s", l.ready("a-0"))
		}
		l.reboot(v)
		l.pass(time.Minute)
		if l.ready("a-0") != "True" {
			t.Errorf("a-0 is ready after a reboot without a token: %s", l.ready("a-0"))
		}
	})
}

// TestK3sLostQuorum: what answers and what does not while etcd cannot write.
func TestK3sLostQuorum(t *testing.T) {
	inK3sLabs(t, CloudOptions{}, func(t *testing.T, l *k3sLab) {
		vms := l.servers(3)
		for _, v := range vms[1:] {
			if err := l.StopVM(t.Context(), v.ID); err != nil {
				t.Fatal(err)
			}
		}
		l.pass(time.Second)
		if code, _ := l.info("server", serverPassword); code != http.StatusInternalServerError {
			t.Errorf("/db/info = %d, want 500", code)
		}
		want := 0 // connections are closed
		if !l.program.apart {
			want = http.StatusServiceUnavailable
		}
		if code, body := l.get(l.nodeURL("s-0"), nil); code != want {
			t.Errorf("the API = %d %s, want %d", code, body, want)
		}
		late := l.bootK3s("s-3", l.serverConfig())
		l.pass(time.Minute)
		l.wantConsole(late, "failed to get etcd MemberList")
		for _, v := range vms[1:] {
			if err := l.StartVM(t.Context(), v.ID); err != nil {
				t.Fatal(err)
			}
		}
		l.pass(2 * time.Minute)
		l.wantNames("they are back", "s-0", "s-1", "s-2", "s-3")
	})
}

// TestStrictLeave: etcd keeps a member that it cannot spare; its Node waits for that.
func TestStrictLeave(t *testing.T) {
	inK3sLabs(t, CloudOptions{}, func(t *testing.T, l *k3sLab) {
		vms := l.servers(2)
		if err := l.StopVM(t.Context(), vms[1].ID); err != nil {
			t.Fatal(err)
		}
		if err := l.StartVM(t.Context(), vms[1].ID); err != nil {
			t.Fatal(err)
		}
		l.pass(time.Minute)
		l.leave("s-1")
		l.pass(time.Minute)
		l.wantNames("one of two may go", "s-0")
		l.delete("s-0")
		l.pass(time.Hour)
		l.wantNames("the last may not", "s-0")
		if n := l.node("s-0"); n == nil || n.DeletionTimestamp == nil {
			t.Errorf("its Node does not wait: %v", n)
		}
	})
}

// TestStuckLearner: a learner keeps out others until the leader gives it up.
func TestStuckLearner(t *testing.T) {
	inK3sLabs(t, CloudOptions{Faults: Faults{StuckLearners: []string{"s-1"}}}, func(_ *testing.T, l *k3sLab) {
		l.servers(1)
		stuck := l.bootK3s("s-1", l.serverConfig())
		l.pass(time.Minute)
		other := l.bootK3s("s-2", l.serverConfig())
		l.pass(time.Minute)
		l.wantNames("it holds up all others", "s-0", "s-1 learner")
		l.wantConsole(other, "etcdserver: too many learner members in cluster")
		l.pass(5 * time.Minute)
		l.wantNames("the leader took it out", "s-0", "s-2")
		l.wantConsole(stuck, "This node has been removed from the cluster")
	})
}

// TestGhostWithoutNode: a Node that a client makes in the name of a member without one
// has it removed.
func TestGhostWithoutNode(t *testing.T) {
	inK3sLabs(t, CloudOptions{}, func(t *testing.T, l *k3sLab) {
		vms := l.servers(3)
		a := l.node("s-2").Annotations
		name, at := a[l.program.annotation("node-name")], a[l.program.annotation("node-address")]
		if err := l.DeleteVM(t.Context(), vms[2].ID); err != nil {
			t.Fatal(err)
		}
		l.cluster().api.Delete(nodeKind, "", "s-2") // without the controllers
		l.pass(time.Minute)
		body := `{"apiVersion":"v1","kind":"Node","metadata":{"name":"s-2","labels":{"` + etcdLabel + `":"true"},"annotations":{"` +
			l.program.annotation("node-name") + `":"` + name + `","` + l.program.annotation("node-address") + `":"` + at + `","` + l.program.annotation("remove") + `":"true"}}}`
		code, answer := l.do(http.MethodPost, l.nodeURL("")[:len(l.nodeURL(""))-1], []byte(body), func(r *http.Request) { r.Header.Set("Content-Type", "application/json") })
		if code != http.StatusCreated {
			t.Fatalf("POST: %d %s", code, answer)
		}
		l.pass(time.Minute)
		l.wantNames("the ghost is gone", "s-0", "s-1")
		l.delete("s-2")
		l.pass(time.Minute)
		if n := l.node("s-2"); n != nil {
			t.Errorf("the Node is still there: %v", n.Annotations)
		}
	})
}

// TestFailMembers: a server that does not vote cannot tell the members.
func TestFailMembers(t *testing.T) {
	inK3sLabs(t, CloudOptions{Faults: Faults{FailMembers: 1}}, func(t *testing.T, l *k3sLab) {
		l.servers(1)
		if code, _ := l.info("server", serverPassword); code != http.StatusInternalServerError {
			t.Errorf("/db/info = %d, want 500 once", code)
		}
		l.wantNames("then", "s-0")
	})
}

// TestK3sProviderID: without its own cloud controller a Node has what the kubelet is told.
func TestK3sProviderID(t *testing.T) {
	inK3sLabs(t, CloudOptions{}, func(t *testing.T, l *k3sLab) {
		c := l.firstConfig()
		c.replace(l.program.configFile(), "disable-cloud-controller: true", "")
		c.files[l.program.configFile()] += "\nnode-taint: ['a=b:NoSchedule']"
		l.bootK3s("s-0", c)
		l.pass(time.Minute)
		n := l.node("s-0")
		if got, want := n.Spec.ProviderID, l.program.name+"://s-0"; got != want {
			t.Errorf("provider id = %s, want %s", got, want)
		}
		if want := []corev1.Taint{{Key: "a", Value: "b", Effect: corev1.TaintEffectNoSchedule}}; !slices.Equal(n.Spec.Taints, want) {
			t.Errorf("taints = %v, want %v", n.Spec.Taints, want)
		}
		l.agentToken(nil)
		l.bootK3s("a-0", l.config("agent", "token: "+testToken, "server: "+l.joinURL(), "kubelet-arg: ['provider-id=mine://7']"))
		l.pass(time.Minute)
		if got := fleet.ProviderID(l.node("a-0").Spec.ProviderID); got != "mine://7" {
			t.Errorf("provider id = %s, want mine://7", got)
		}
	})
}

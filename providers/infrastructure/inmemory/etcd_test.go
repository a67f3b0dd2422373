package inmemory

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
)

// newControlPlane returns a lab with n control planes cp-0, cp-1, … and their machines.
func newControlPlane(t *testing.T, n int) (*lab, []VM) {
	t.Helper()
	l := newLab(t, CloudOptions{})
	vms := []VM{l.bootInit("cp-0")}
	l.token(nil)
	for i := 1; i < n; i++ {
		vms = append(vms, l.bootControl(fmt.Sprintf("cp-%d", i)))
	}
	return l, vms
}

func (l *lab) etcd() etcdView { return etcdView{l.Cloud, l.cluster()} }

// members describes the membership: "cp-0 leader", "cp-1 dead", "cp-2 learner".
func (l *lab) members() []string {
	var out []string
	for _, m := range l.etcd().Members() {
		s := m.Name
		if m.Leader {
			s += " leader"
		}
		if m.Learner {
			s += " learner"
		}
		if !m.Healthy {
			s += " dead"
		}
		out = append(out, s)
	}
	return out
}

func (l *lab) wantMembers(reason string, want ...string) {
	l.t.Helper()
	if d := cmp.Diff(want, l.members()); d != "" {
		l.t.Errorf("members: %s: %s", reason, d)
	}
}

func (l *lab) id(name string) uint64 {
	l.t.Helper()
	for _, m := range l.etcd().Members() {
		if m.Name == name {
			return m.ID
		}
	}
	l.t.Fatalf("no member %s", name)
	return 0
}

// TestDeadMachine: the loss of one of three is survived, of two is not.
func TestDeadMachine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, vms := newControlPlane(t, 3)
		stop := func(v VM) {
			t.Helper()
			if err := l.StopVM(t.Context(), v.ID); err != nil {
				t.Fatal(err)
			}
		}
		stop(vms[0])
		l.wantMembers("another leads", "cp-0 dead", "cp-1 leader", "cp-2")
		if got := l.ready("cp-0"); got != "Unknown" || !l.available() {
			t.Errorf("ready of the dead = %s, available %v, want Unknown, true", got, l.available())
		}
		stop(vms[1])
		l.wantMembers("nobody leads without a quorum", "cp-0 dead", "cp-1 dead", "cp-2")
		if l.available() {
			t.Error("the API answers without a quorum")
		}
		if got := l.machine(vms[1].ID).State; got != fleet.MachineRunning {
			t.Errorf("state of a machine without power = %s, want Running: the cloud has not noticed", got)
		}
		if err := l.StartVM(t.Context(), vms[0].ID); err != nil {
			t.Fatal(err)
		}
		l.wantMembers("it is back", "cp-0 leader", "cp-1 dead", "cp-2")
		if got := l.ready("cp-0"); got != "True" || !l.available() {
			t.Errorf("ready of the one that is back = %s, available %v, want True, true", got, l.available())
		}
	})
}

// TestDeleteWithoutRemoval is the trap: members of deleted machines stay.
func TestDeleteWithoutRemoval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, vms := newControlPlane(t, 3)
		for i, v := range vms[:2] {
			if err := l.DeleteVM(t.Context(), v.ID); err != nil {
				t.Fatal(err)
			}
			if want := i == 0; l.available() != want {
				t.Errorf("available after deleting %d of three = %v, want %v", i+1, l.available(), want)
			}
		}
		l.wantMembers("nobody removed them", "cp-0 dead", "cp-1 dead", "cp-2")
		if err := l.etcd().Remove(l.id("cp-0")); fleet.KindOf(err) != fleet.Unavailable {
			t.Errorf("Remove without a quorum = %v, want kind Unavailable", err)
		}
	})
}

// TestScaleDown removes members before machines, down to one.
func TestScaleDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, vms := newControlPlane(t, 3)
		for i, next := range []string{"cp-1", "cp-2"} {
			if err := l.etcd().MoveLeader(l.id(next)); err != nil {
				t.Fatal(err)
			}
			if err := l.etcd().Remove(l.id(vms[i].Name)); err != nil {
				t.Fatal(err)
			}
			if err := l.DeleteVM(t.Context(), vms[i].ID); err != nil {
				t.Fatal(err)
			}
			if !l.available() {
				t.Fatalf("the API does not answer after %s is gone", vms[i].Name)
			}
		}
		l.wantMembers("one is left", "cp-2 leader")
		if err := l.etcd().Remove(l.id("cp-2")); fleet.KindOf(err) != fleet.Conflict {
			t.Errorf("Remove of the last member = %v, want kind Conflict", err)
		}
		if err := l.etcd().Remove(42); fleet.KindOf(err) != fleet.NotFound {
			t.Errorf("Remove of nobody = %v, want kind NotFound", err)
		}
	})
}

// TestStrictRemoval: etcd does not let go of a member that it needs, and always
// of a dead one.
func TestStrictRemoval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, vms := newControlPlane(t, 3)
		if err := l.StopVM(t.Context(), vms[0].ID); err != nil {
			t.Fatal(err)
		}
		if err := l.etcd().Remove(l.id("cp-1")); fleet.KindOf(err) != fleet.Conflict {
			t.Errorf("Remove of one of two that are alive = %v, want kind Conflict", err)
		}
		if err := l.etcd().MoveLeader(l.id("cp-0")); fleet.KindOf(err) != fleet.Conflict {
			t.Errorf("MoveLeader to a dead member = %v, want kind Conflict", err)
		}
		if err := l.etcd().Remove(l.id("cp-0")); err != nil {
			t.Errorf("Remove of the dead one = %v, want no error", err)
		}
		l.wantMembers("the dead one is out", "cp-1 leader", "cp-2")
	})
}

// TestRemovedMemberServesNoMore: without its etcd an API server is of no use.
func TestRemovedMemberServesNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, vms := newControlPlane(t, 3)
		for _, name := range []string{"cp-0", "cp-1"} {
			if err := l.etcd().Remove(l.id(name)); err != nil {
				t.Fatal(err)
			}
		}
		if !l.available() {
			t.Error("the API does not answer though one is left")
		}
		if err := l.StopVM(t.Context(), vms[2].ID); err != nil {
			t.Fatal(err)
		}
		if l.available() {
			t.Error("the API answers though the last member is dead")
		}
	})
}

// TestLearner: a machine joins as a learner; a second one waits for it, and a
// machine that dies as a learner leaves it behind.
func TestLearner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, _ := newControlPlane(t, 1)
		l.timing.Etcd = seconds("20s")
		one := l.bootControl("cp-1")
		two := l.bootControl("cp-2")
		l.wantMembers("the learner has not started", "cp-0 leader", "cp-1 learner dead")
		if got, want := l.machine(two.ID).Message, "kubeadm join: waiting: error creating local etcd static pod manifest file: etcdserver: too many learner members in cluster"; got != want {
			t.Errorf("console = %q, want %q", got, want)
		}
		time.Sleep(20 * time.Second)
		synctest.Wait()
		time.Sleep(21 * time.Second)
		synctest.Wait()
		if got := l.members(); len(got) != 3 || got[1] != "cp-1" {
			t.Errorf("members after a while = %q, want cp-1 to vote and cp-2 to be there", got)
		}
		if got := l.machine(one.ID).Message; got != "" {
			t.Errorf("console of cp-1 = %q", got)
		}
		time.Sleep(time.Minute)
		l.wantMembers("all vote", "cp-0 leader", "cp-1", "cp-2")
		four := l.bootControl("cp-3")
		if err := l.DeleteVM(t.Context(), four.ID); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		l.wantMembers("nobody removed it", "cp-0 leader", "cp-1", "cp-2", "cp-3 learner dead")
		if !l.available() {
			t.Error("a dead learner costs the quorum")
		}
	})
}

// TestInitAgain: when every member is gone, a new first machine starts anew.
func TestInitAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, vms := newControlPlane(t, 1)
		if err := l.DeleteVM(t.Context(), vms[0].ID); err != nil {
			t.Fatal(err)
		}
		if l.available() {
			t.Error("the API answers without machines")
		}
		l.bootInit("cp-1")
		if !l.available() || l.ready("cp-1") != "True" || l.ready("cp-0") != "absent" {
			t.Errorf("available %v, cp-1 %s, cp-0 %s", l.available(), l.ready("cp-1"), l.ready("cp-0"))
		}
	})
}

// TestPowerCutDuringBoot: a machine goes on where it was.
func TestPowerCutDuringBoot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, CloudOptions{})
		l.timing = DevMachineInMemory{VM: seconds("10s"), Node: seconds("10s")}
		v := l.bootInit("cp-0")
		for _, step := range []struct {
			at   time.Duration
			want string
		}{
			{5 * time.Second, "absent"}, // before cloud-init ran
			{9 * time.Second, "Unknown"},
		} {
			time.Sleep(step.at)
			if err := l.StopVM(t.Context(), v.ID); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
			if got := l.ready("cp-0"); got != step.want {
				t.Errorf("ready without power after %s = %s, want %s", step.at, got, step.want)
			}
			if err := l.StartVM(t.Context(), v.ID); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(10 * time.Second)
		if got := l.ready("cp-0"); got != "True" || !l.available() {
			t.Errorf("ready = %s, available %v, want True, true", got, l.available())
		}
	})
}

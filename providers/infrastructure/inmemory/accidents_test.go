package inmemory

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/fleet"
)

// TestCopy: a copy has the name and the tags of its original, and is another machine that
// never joins. The original stays what it is.
func TestCopy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, CloudOptions{})
		cp := l.bootInit("cp-0")
		time.Sleep(time.Minute)
		id, err := l.Copy(cp.ID)
		if err != nil {
			t.Fatal(err)
		}
		all, err := l.VMs(t.Context(), labTags)
		if err != nil || len(all) != 2 || all[0].Name != all[1].Name || all[0].Provider == all[1].Provider {
			t.Fatalf("%+v, %v, want two machines of one name", all, err)
		}
		if err := l.StartVM(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		for _, m := range l.Facts().Machines {
			if copied := m.ID == id; copied == m.Ready || copied == (m.Member != 0) {
				t.Errorf("machine %s, a copy: %v, is ready: %v, with etcd member %x", m.ID, copied, m.Ready, m.Member)
			}
		}
		if err := l.DeleteVM(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		if got := l.names(); !slices.Equal(got, []string{"cp-0 Running"}) {
			t.Errorf("after the copy is deleted there are %v", got)
		}
	})
}

// TestMove: a machine that moves runs on, in another failure domain.
func TestMove(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, CloudOptions{})
		cp := l.bootInit("cp-0")
		time.Sleep(time.Minute)
		if err := l.Move(cp.ID, "b"); err != nil {
			t.Fatal(err)
		}
		m := l.Facts().Machines[0]
		if m.FailureDomain != "b" || m.ID != cp.ID || !m.Ready {
			t.Errorf("it moved, and is %+v", m)
		}
	})
}

// TestRenameMember: members of etcd can have other names than their Nodes.
func TestRenameMember(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, CloudOptions{})
		cp := l.bootInit("cp-0")
		worker := l.bootWorker("md-0")
		time.Sleep(time.Minute)
		if err := l.RenameMember(cp.ID, "etcd-1"); err != nil {
			t.Fatal(err)
		}
		if members := l.Facts().Etcd[l.network.ID].Members; len(members) != 1 || members[0].Name != "etcd-1" || !members[0].Healthy {
			t.Errorf("the members are %+v", members)
		}
		wantKind(t, "renaming the member of a worker", l.RenameMember(worker.ID, "etcd-2"), fleet.NotFound, "it has none")
	})
}

// TestHide: a listing does not show machines that the account may not see.
func TestHide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, CloudOptions{})
		l.bootInit("cp-0")
		l.bootWorker("md-0")
		time.Sleep(time.Minute)
		l.faulty(Faults{Hide: []string{"md-*"}})
		if got, want := l.names(), []string{"cp-0 Running"}; !slices.Equal(got, want) {
			t.Errorf("the listing shows %v, want %v", got, want)
		}
		wantKind(t, "a bad pattern", l.SetFaults(context.Background(), Faults{Hide: []string{"["}}), fleet.Invalid, "pattern")
	})
}

// TestListTwice: a listing shows a machine twice, with one id.
func TestListTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, CloudOptions{})
		l.bootInit("cp-0")
		l.bootWorker("md-0")
		time.Sleep(time.Minute)
		l.faulty(Faults{ListTwice: []string{"cp-*"}})
		if got, want := l.names(), []string{"cp-0 Running", "cp-0 Running", "md-0 Running"}; !slices.Equal(got, want) {
			t.Errorf("the listing shows %v, want %v", got, want)
		}
		wantKind(t, "a bad pattern", l.SetFaults(context.Background(), Faults{ListTwice: []string{"["}}), fleet.Invalid, "pattern")
	})
}

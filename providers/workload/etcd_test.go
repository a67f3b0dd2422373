package workload_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
)

func startEtcd(t *testing.T) *cluster {
	c := start(t)
	for i, name := range []string{"cp-1", "cp-2", "cp-3"} {
		c.put(t, controlPlane(name)...)
		// Larger than a JSON number may be in many readers.
		c.etcd.members = append(c.etcd.members, fleet.Member{ID: 1<<63 + uint64(i), Name: name, Healthy: true, Leader: i == 0})
	}
	return c
}

func TestEtcd(t *testing.T) {
	c := startEtcd(t)
	c.etcd.members[1].Healthy = false
	c.etcd.members[2].Learner = true
	got, err := c.kubeadm.Members(t.Context(), c.access)
	if err != nil {
		t.Fatal(err)
	}
	want := []fleet.Member{
		{ID: 1 << 63, Name: "cp-1", Node: "cp-1", Healthy: true, Leader: true},
		{ID: 1<<63 + 1, Name: "cp-2", Node: "cp-2"},
		{ID: 1<<63 + 2, Name: "cp-3", Node: "cp-3", Healthy: true, Learner: true},
	}
	if d := cmp.Diff(want, got.Members); d != "" {
		t.Errorf("members (-want +got):\n%s", d)
	}
}

// A machine that joined twice left a member behind, of the name of the one that is in
// use: it is that one that answers.
func TestEtcdMembersOfOneName(t *testing.T) {
	c := startEtcd(t)
	c.etcd.members = append(c.etcd.members, fleet.Member{ID: 7, Name: "cp-2"})
	got, err := c.kubeadm.Members(t.Context(), c.access)
	if err != nil {
		t.Fatal(err)
	}
	healthy := map[uint64]bool{}
	for _, m := range got.Members {
		healthy[m.ID] = m.Healthy
	}
	if d := cmp.Diff(map[uint64]bool{1 << 63: true, 1<<63 + 1: true, 1<<63 + 2: true, 7: false}, healthy); d != "" {
		t.Errorf("healthy (-want +got):\n%s", d)
	}
	if err := c.kubeadm.RemoveMember(t.Context(), c.access, 7); err != nil || len(c.etcd.Members()) != 3 {
		t.Errorf("removed: %v, members %v", err, c.etcd.Members())
	}
}

// TestEtcdMemberOfAnotherName: a member whose name is not that of its Node is known by its id, which
// its etcd tells.
func TestEtcdMemberOfAnotherName(t *testing.T) {
	c := startEtcd(t)
	c.etcd.members[0].Name, c.etcd.members[0].Node = "host-77", "cp-1"
	got, err := c.kubeadm.Members(t.Context(), c.access)
	if err != nil {
		t.Fatal(err)
	}
	want := []fleet.Member{
		{ID: 1<<63 + 1, Name: "cp-2", Node: "cp-2", Healthy: true},
		{ID: 1<<63 + 2, Name: "cp-3", Node: "cp-3", Healthy: true},
		{ID: 1 << 63, Name: "host-77", Node: "cp-1", Healthy: true, Leader: true},
	}
	if d := cmp.Diff(want, got.Members); d != "" {
		t.Errorf("members (-want +got):\n%s", d)
	}
	if err := c.kubeadm.RemoveMember(t.Context(), c.access, 1<<63); err != nil || len(c.etcd.Members()) != 2 {
		t.Errorf("removed: %v, members %v", err, c.etcd.Members())
	}
}

func TestEtcdAsksAnotherMember(t *testing.T) {
	c := startEtcd(t)
	c.etcd.members[0].Healthy, c.etcd.members[0].Leader = false, false
	c.etcd.members[1].Leader = true
	got, err := c.kubeadm.Members(t.Context(), c.access)
	if err != nil {
		t.Fatal(err)
	}
	if m := got.Members[0]; m.Healthy {
		t.Errorf("the dead member: got %+v", m)
	}
	if m := got.Members[1]; !m.Healthy || !m.Leader {
		t.Errorf("the leader: got %+v", m)
	}
}

func TestEtcdAsksAVoter(t *testing.T) {
	c := startEtcd(t)
	c.etcd.members[0].Learner, c.etcd.members[0].Leader = true, false
	c.etcd.members[1].Leader = true
	if _, err := c.kubeadm.Members(t.Context(), c.access); err != nil {
		t.Errorf("beside a learner: %v", err)
	}
	for i := range c.etcd.members {
		c.etcd.members[i].Learner = true
	}
	if got, err := c.kubeadm.Members(t.Context(), c.access); err == nil {
		t.Errorf("learners alone: got %v, want an error: they list nothing", got)
	}
}

func TestEtcdOfWhichNobodyAnswers(t *testing.T) {
	c := startEtcd(t)
	c.etcd.members = nil
	if _, err := c.kubeadm.Members(t.Context(), c.access); fleet.KindOf(err) != fleet.Unavailable {
		t.Errorf("got %v, want the kind Unavailable", err)
	}
}

func TestEtcdWithAnotherAuthority(t *testing.T) {
	c := startEtcd(t)
	other := newAuthority(t, "etcd-ca")
	good := c.access.Secrets["etcd"]
	c.access.Secrets["etcd"] = fleet.SecretData{"tls.crt": fleet.NewSecret(other.certPEM), "tls.key": fleet.NewSecret(other.keyPEM)}
	if _, err := c.kubeadm.Members(t.Context(), c.access); fleet.KindOf(err) != fleet.Unauthorized {
		t.Errorf("got %v, want the kind Unauthorized", err)
	}
	c.access.Secrets["etcd"] = good
	if _, err := c.kubeadm.Members(t.Context(), c.access); err != nil {
		t.Errorf("with the right authority again: %v", err)
	}
}

func TestRemoveMember(t *testing.T) {
	cases := map[string]struct {
		reason  string
		change  func(e *etcd)
		remove  uint64
		members []uint64
		moves   []uint64
		kind    fleet.ErrorKind
	}{
		"follower": {
			reason: "nothing to hand on", remove: 1<<63 + 2, members: []uint64{1 << 63, 1<<63 + 1},
		},
		"leader": {
			reason: "it hands leadership on first", remove: 1 << 63,
			members: []uint64{1<<63 + 1, 1<<63 + 2}, moves: []uint64{1<<63 + 1},
		},
		"beside a learner": {
			reason: "it began to join after whoever asks for this had looked",
			change: func(e *etcd) { e.members[1].Learner = true },
			remove: 1 << 63, members: []uint64{1 << 63, 1<<63 + 1, 1<<63 + 2}, kind: fleet.Conflict,
		},
		"beside one that is not healthy": {
			reason: "it failed after whoever asks for this had looked: two of which one answers have no quorum",
			change: func(e *etcd) { e.members[1].Healthy = false },
			remove: 1 << 63, members: []uint64{1 << 63, 1<<63 + 1, 1<<63 + 2}, kind: fleet.Conflict,
		},
		"not healthy": {
			reason: "the others have a quorum without it",
			change: func(e *etcd) { e.members[1].Healthy = false },
			remove: 1<<63 + 1, members: []uint64{1 << 63, 1<<63 + 2},
		},
		"not there": {
			reason: "the wish is fulfilled", remove: 7, members: []uint64{1 << 63, 1<<63 + 1, 1<<63 + 2},
		},
		"last": {
			reason: "etcd would be gone",
			change: func(e *etcd) { e.members = e.members[:1] },
			remove: 1 << 63, members: []uint64{1 << 63}, kind: fleet.Conflict,
		},
		"refused": {
			reason: "etcd keeps its quorum",
			change: func(e *etcd) { e.refuse = fleet.Errorf(fleet.Conflict, "remove", "not enough started members") },
			remove: 1<<63 + 2, members: []uint64{1 << 63, 1<<63 + 1, 1<<63 + 2}, kind: fleet.Conflict,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := startEtcd(t)
			if tc.change != nil {
				tc.change(c.etcd)
			}
			err := c.kubeadm.RemoveMember(t.Context(), c.access, tc.remove)
			if (err == nil) != (tc.kind == "") || (err != nil && fleet.KindOf(err) != tc.kind) {
				t.Errorf("%s: got %v, want kind %q", tc.reason, err, tc.kind)
			}
			var ids []uint64
			for _, m := range c.etcd.Members() {
				ids = append(ids, m.ID)
			}
			if d := cmp.Diff(tc.members, ids); d != "" {
				t.Errorf("%s: members (-want +got):\n%s", tc.reason, d)
			}
			if d := cmp.Diff(tc.moves, c.etcd.moves); d != "" {
				t.Errorf("%s: moves of leadership (-want +got):\n%s", tc.reason, d)
			}
		})
	}
}

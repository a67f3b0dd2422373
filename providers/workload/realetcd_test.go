package workload_test

import (
	"os/exec"
	"strings"
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/distribution/kubeadm/inside"
)

// TestRealEtcd holds what is known of etcd's API against etcd itself, through
// the same tunnel: an API server that knows nothing but pods forwards ports.
func TestRealEtcd(t *testing.T) {
	r := newRealEtcd(t)
	var voters []string
	for _, name := range []string{"cp-1", "cp-2", "cp-3"} {
		voters = append(voters, name+"=https://"+r.add(name).peer)
	}
	for name := range r.members {
		r.run(name, "new", voters)
	}
	r.await("three voters and a leader", "cp-1 healthy", "cp-2 healthy", "cp-3 healthy")

	// A learner has no name before it has started, and its pod answers nothing
	// but the question for its status.
	learner := r.add("cp-0")
	r.post("cp-1", "/v3/cluster/member/add", map[string]any{"peerURLs": []string{"https://" + learner.peer}, "isLearner": true})
	r.await("a member that has not started", " learner", "cp-1 healthy", "cp-2 healthy", "cp-3 healthy")
	r.run("cp-0", "existing", append(voters, "cp-0=https://"+learner.peer))
	r.await("a learner that has started", "cp-0 healthy learner", "cp-1 healthy", "cp-2 healthy", "cp-3 healthy")

	r.remove("cp-0")
	delete(r.members, "cp-0")
	r.await("no learner", "cp-1 healthy", "cp-2 healthy", "cp-3 healthy")

	// One that never starts can be removed as well.
	r.post("cp-1", "/v3/cluster/member/add", map[string]any{"peerURLs": []string{"https://127.0.0.1:1"}, "isLearner": true})
	r.await("a member that has not started", " learner", "cp-1 healthy", "cp-2 healthy", "cp-3 healthy")
	r.remove("")
	r.await("no learner", "cp-1 healthy", "cp-2 healthy", "cp-3 healthy")

	// Whoever leads hands it on.
	leader := r.leader()
	gone := r.remove(leader)
	delete(r.members, leader)
	var left []string
	for _, name := range []string{"cp-1", "cp-2", "cp-3"} {
		if name != leader {
			left = append(left, name+" healthy")
		}
	}
	r.await("two voters", left...)
	if err := inside.New(r.Client).RemoveMember(t.Context(), r.access, gone); err != nil {
		t.Errorf("removal of what is gone: %v, want success", err)
	}

	// Without quorum there is no answer, least of all that nothing is there.
	r.stop(r.members[strings.TrimSuffix(left[0], " healthy")])
	eventually(t, "no answer without quorum", func() bool {
		_, err := inside.New(r.Client).Members(t.Context(), r.access)
		return fleet.KindOf(err) == fleet.Unavailable
	})
}

type realMember struct {
	client, peer string // addresses
	dir          string
	process      *exec.Cmd
}

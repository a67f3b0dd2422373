package ha

import (
	"syscall"
	"testing"
)

// TestReplicas kills and stops replicas while machines are created, beginning with the
// leader. Nothing is created twice, nothing that existed is deleted, and in the end
// everything is as in Git.
func TestReplicas(t *testing.T) {
	w := newWorld(t)
	for _, r := range []string{"r0", "r1", "r2"} {
		w.startReplica(r)
	}
	w.push(1)
	w.converged("the fleet is made")
	before, err := w.machines(t.Context())
	w.must(err)

	// The request succeeds, and its answer finds the replica dead.
	killed := w.inACreate(func(replica string) { w.signal(replica, syscall.SIGKILL) })
	w.push(3)
	first := <-killed
	w.newLeader(first)
	w.converged("a replica was killed while it made a machine")

	// A replica that is stopped for longer than its Lease gets the answer after
	// another replica has done its work.
	stopped := w.inACreate(func(replica string) { w.signal(replica, syscall.SIGSTOP) })
	w.push(4)
	second := <-stopped
	third := w.newLeader(second)
	w.converged("a replica was stopped while it made a machine")
	w.signal(second, syscall.SIGCONT)
	w.push(5)
	w.converged("the replica that was stopped goes on")
	if now := w.leader(); now != third {
		t.Errorf("%s leads, not %s", now, third)
	}
	for name, r := range w.replicas {
		if err := r.Process.Signal(syscall.Signal(0)); err != nil {
			t.Errorf("%s ended by itself: %v", name, err)
		}
	}
	after, err := w.machines(t.Context())
	w.must(err)
	for k, id := range before {
		if after[k] != id {
			t.Errorf("machine %s was %s and is %s", k, id, after[k])
		}
	}

	w.signal(third, syscall.SIGTERM)
	if err := w.replicas[third].Wait(); err != nil {
		t.Errorf("the leader ended with %v", err)
	}
	delete(w.replicas, third)
	w.newLeader(third)
	w.push(2)
	w.converged("the leader ended")
}

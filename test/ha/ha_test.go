package ha

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestReplicas kills and stops replicas while machines are being made, the
// leader first. Nothing is made twice, nothing that was there goes, and in the
// end all is as Git says.
func TestReplicas(t *testing.T) {
	for name, args := range map[string][]string{"OneWorks": nil, "AllWork": {"--shards", strconv.Itoa(shards)}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, args...)
			for _, r := range []string{"r0", "r1", "r2"} {
				w.startReplica(r)
			}
			w.push(1)
			w.converged("the fleet is made")
			before, err := w.machines(t.Context())
			w.must(err)
			if args != nil {
				w.shared(3)
			}

			first := w.newLeader("")
			w.push(3)
			w.eventually("the first of the new machines", func() string {
				if m, err := w.machines(t.Context()); err != nil || len(m) <= len(before) {
					return "there is none"
				}
				return ""
			})
			w.signal(first, syscall.SIGKILL)
			second := w.newLeader(first)
			w.converged("the leader was killed")
			if args != nil {
				w.shared(2)
			}

			w.signal(second, syscall.SIGSTOP)
			third := w.newLeader(second)
			w.push(4)
			w.converged("the leader was stopped")
			w.signal(second, syscall.SIGCONT)
			w.push(5)
			w.converged("the leader that was stopped goes on")
			if now := w.leader(); now != third {
				t.Errorf("%s leads, not %s", now, third)
			}
			for name, r := range w.replicas {
				if err := r.Process.Signal(syscall.Signal(0)); err != nil {
					t.Errorf("%s ended by itself: %v", name, err)
				}
			}
			if args != nil {
				w.shared(2)
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
		})
	}
}

const shards = 6

// shared waits until so many replicas share the shards evenly.
func (w *world) shared(replicas int) {
	w.t.Helper()
	w.eventually("the shards are shared", func() string {
		list, err := w.api.Leases.Leases(w.namespace).List(w.t.Context(), metav1.ListOptions{LabelSelector: "fairlead.dev/agent=" + lease})
		if err != nil {
			return err.Error()
		}
		held := map[string]int{}
		for _, l := range list.Items {
			if l.Labels["fairlead.dev/lease"] == "session" {
				held[l.Name] += 0
			}
		}
		for _, l := range list.Items {
			if strings.Contains(l.Name, "-shard-") {
				held[*l.Spec.HolderIdentity]++
			}
		}
		if got := slices.Collect(maps.Values(held)); len(got) != replicas || slices.Min(got) != shards/replicas {
			return "they are shared " + strings.Join(slices.Sorted(maps.Keys(held)), ", ")
		}
		return ""
	})
}

package replicas

import (
	"errors"
	"slices"
	"testing"
	"time"

	"fairlead.dev/agent/replicas/leasetest"
)

func TestSharing(t *testing.T) {
	run(t, 3, func(w *world) {
		expectShares(t, "three replicas", w.shares(), 2, 3, 3)
		w.everyCluster(8 * time.Second)
		if got := w.actors(5 * time.Second); len(got) != 3 {
			t.Errorf("only %v act", got)
		}
		list, of := w.leader().Shares()
		told := 0
		for _, s := range list {
			told += len(s.Shards)
		}
		if len(list) != 3 || list[0].Replica != "r0" || list[2].Replica != "r2" || told != shards || of != shards {
			t.Errorf("it tells of the shares %v of %d shards", list, of)
		}
		w.start("late")
		time.Sleep(30 * time.Second)
		expectShares(t, "a fourth gets its share", w.shares(), 2, 2, 2, 2)
		w.everyCluster(8 * time.Second)
		w.follower().end()
		time.Sleep(10 * time.Second)
		expectShares(t, "one that ends gives its shards back", w.shares(), 2, 3, 3)
		w.everyCluster(8 * time.Second)
	})
}

// TestAnotherNumberOfShards rolls out another number of shards while passes go
// on: that no two replicas act at once is looked at all the time. The new ones
// hold nothing until the last of the old ones is gone.
func TestAnotherNumberOfShards(t *testing.T) {
	run(t, 2, func(w *world) {
		old := []*replica{w.follower(), w.leader()}
		first, second := w.startWith("new0", shards+5), w.startWith("new1", shards+5)
		held := func(r *replica) int {
			r.mu.Lock()
			defer r.mu.Unlock()
			return len(r.shards)
		}
		time.Sleep(30 * time.Second)
		if held(first)+held(second) > 0 || held(old[0])+held(old[1]) != shards {
			t.Errorf("beside two old replicas with %d and %d shards the new ones hold %d and %d", held(old[0]), held(old[1]), held(first), held(second))
		}
		w.everyCluster(8 * time.Second)
		for _, r := range old {
			r.end()
			time.Sleep(30 * time.Second)
		}
		if a, b := held(first), held(second); a+b != shards+5 {
			t.Errorf("the new replicas hold %d and %d shards", a, b)
		}
		w.everyCluster(8 * time.Second)
	})
}

// TestMoreReplicasThanShards leaves some idle.
func TestMoreReplicasThanShards(t *testing.T) {
	run(t, 10, func(w *world) {
		expectShares(t, "ten replicas, eight shards", w.shares(), 0, 0, 1, 1, 1, 1, 1, 1, 1, 1)
		w.everyCluster(8 * time.Second)
	})
}

// TestCutOff cuts a replica off: it stops before others take its shards, and all
// clusters are looked after again. That no two act at once is looked at all the
// time.
func TestCutOff(t *testing.T) {
	for name, c := range map[string]struct {
		leader                bool
		fromAPI, fromReplicas bool
		stops                 bool // the replica acts no more
	}{
		"FollowerFromAll":      {false, true, true, true},
		"FollowerFromAPI":      {false, true, false, true},
		"FollowerFromReplicas": {false, false, true, true},
		"LeaderFromAll":        {true, true, true, true},
		"LeaderFromAPI":        {true, true, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, 3, func(w *world) {
				r := w.follower()
				if c.leader {
					r = w.leader()
				}
				w.cut(r, c.fromAPI, c.fromReplicas)
				time.Sleep(12 * time.Second)
				if got := w.actors(time.Second); slices.Contains(got, r.name) == c.stops {
					t.Errorf("after 12 s %v act, %s is cut off", got, r.name)
				}
				time.Sleep(28 * time.Second)
				if c.fromAPI {
					expectShares(t, "the others take over", w.shares(), 4, 4)
					w.everyCluster(8 * time.Second)
				}
				w.cut(r, false, false)
				time.Sleep(30 * time.Second)
				expectShares(t, "it comes back", w.shares(), 2, 3, 3)
				w.everyCluster(8 * time.Second)
			})
		})
	}
}

// TestHandedOver loses the fleet to another agent: all replicas stop, and begin
// again when it comes back.
func TestHandedOver(t *testing.T) {
	run(t, 3, func(w *world) {
		w.mu.Lock()
		w.lost = errors.New("another agent owns the fleet")
		w.mu.Unlock()
		time.Sleep(DefaultDeadline + tick)
		if got := w.actors(2 * tick); len(got) > 0 {
			t.Errorf("%v still act", got)
		}
		w.mu.Lock()
		w.lost = nil
		w.mu.Unlock()
		time.Sleep(10 * time.Second)
		w.everyCluster(8 * time.Second)
	})
}

// TestStaleAnswer: an answer proves only that the leader led after it was asked.
func TestStaleAnswer(t *testing.T) {
	run(t, 2, func(w *world) {
		r, leader := w.follower(), w.leader().name
		w.cut(r, false, true)
		time.Sleep(20 * time.Second)
		q, _, err := r.Heartbeat(t.Context(), leader, "")
		if err != nil || q == "" {
			t.Fatalf("question %q, error %v", q, err)
		}
		time.Sleep(DefaultDeadline)
		if r.accept(leader, q) {
			t.Error("an answer to a question of long ago permits to act")
		}
		q, _, _ = r.Heartbeat(t.Context(), leader, "")
		if r.accept("somebody", q) || !r.accept(leader, q) {
			t.Error("the answer of the leader counts, and no other")
		}
	})
}

// TestLostAnswersOfLeases keeps what was taken though nobody heard of it.
func TestLostAnswersOfLeases(t *testing.T) {
	run(t, 1, func(w *world) {
		r := w.start("late")
		r.client.Fail(leasetest.Faults{LoseAnswers: true})
		time.Sleep(time.Minute)
		r.client.Fail(leasetest.Faults{})
		time.Sleep(time.Minute)
		expectShares(t, "both have their share", w.shares(), 4, 4)
		w.everyCluster(8 * time.Second)
	})
}

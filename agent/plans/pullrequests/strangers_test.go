package pullrequests

import (
	"testing"

	"fairlead.dev/agent/plans/forge"
	"fairlead.dev/agent/plans/forge/forgetest"
)

// A stranger who proposes the head of somebody else's pull request takes nothing from its status.
func TestStrangerWithTheSameHead(t *testing.T) {
	w := newWorld()
	p := w.propose(1, w.fleets["base"])
	q := w.start()
	w.settled(t, q)
	s, _ := w.Of(p.Head)
	if s.Verdict != forge.Success {
		t.Fatal(s)
	}
	w.Put(forge.PullRequest{Number: 2, State: forge.Open, Head: p.Head, Base: "main", Fork: true, Author: "mallory"})
	w.settled(t, q)
	if s, _ := w.Of(p.Head); s.Verdict != forge.Success {
		t.Errorf("the status of the planned head is %+v", s)
	}
}

// Strangers cannot have the agent spend the requests that the forge allows.
func TestManyStrangers(t *testing.T) {
	w := newWorld()
	for n := 1; n <= 2000; n++ {
		w.Put(forge.PullRequest{Number: n, State: forge.Open, Head: forgetest.Hash(n), Base: "main", Fork: true})
	}
	calls := w.count()
	q := w.start()
	w.settled(t, q)
	if calls["status"] > 200 {
		t.Errorf("2,000 pull requests of strangers cost %v", calls)
	}
}

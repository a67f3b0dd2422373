package pullrequests

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"fairlead.dev/agent/plans/forge"
	"fairlead.dev/agent/plans/forge/forgetest"
	"fairlead.dev/fleet"
	"fairlead.dev/sources"
	"fairlead.dev/sources/status"
)

// calls has w note each call of the forge from now on.
func (w *world) calls() *[]string {
	var made []string
	w.Before = func(call string) error {
		made = append(made, call)
		return nil
	}
	return &made
}

// A list that does not show a comment yet makes no second one, however long it does not.
func TestStaleList(t *testing.T) {
	w := newWorld()
	w.propose(1, w.fleets["base"])
	w.Stale = 1
	q := w.start()
	for range 3 {
		q.Poll(t.Context())
	}
	if said := w.Said(1); len(said) != 1 {
		t.Errorf("there are %d comments: %q", len(said), said)
	}
}

// Another comment of who the agent asks as is somebody's word, too.
func TestOwnWordsWithoutTheMark(t *testing.T) {
	w := newWorld()
	w.propose(1, w.fleets["base"])
	w.Say(1, "fairlead", "written by hand")
	w.start().Poll(t.Context())
	if said := w.Said(1); len(said) != 2 || said[0].Text != "written by hand" {
		t.Errorf("%q", said)
	}
}

// Comments are not listed where nothing is to be said.
func TestNothingIsAskedForNothing(t *testing.T) {
	w := newWorld()
	w.propose(1, w.fleets["base"])
	q := w.start()
	for range 3 { // the second one sees that there is one comment, the third one records which
		q.Poll(t.Context())
	}
	made := w.calls()
	q.Poll(t.Context())
	if got := strings.Join(*made, ", "); got != "open" {
		t.Errorf("asked for %s", got)
	}
}

// The fleet may be lost between the list of comments and the comment.
func TestLostBeforeAComment(t *testing.T) {
	w := newWorld()
	w.propose(1, w.fleets["base"])
	w.Before = func(call string) error {
		w.lost = w.lost || call == "comments"
		return nil
	}
	w.start().Poll(t.Context())
	if said := w.Said(1); len(said) != 0 {
		t.Errorf("%q is said by who lost the fleet", said)
	}
}

// A status that was not taken is set again.
func TestStatusIsSetAgain(t *testing.T) {
	w := newWorld()
	p := w.propose(1, w.fleets["base"])
	failed := false
	w.Before = func(call string) error {
		if call != "status" || failed {
			return nil
		}
		failed = true
		return fleet.Errorf(fleet.Unavailable, call, "down")
	}
	q := w.start()
	q.Poll(t.Context())
	q.Poll(t.Context())
	if s, n := w.Of(p.Head); n != 1 || s.Verdict != forge.Success {
		t.Errorf("%d times %+v", n, s)
	}
}

// The forge is not asked by who does not own the fleet, or for a fleet that has nothing planned.
func TestNobodyAsks(t *testing.T) {
	for name, spoil := range map[string]func(w *world){
		"not the owner": func(w *world) { w.lost = true },
		"not planned": func(w *world) {
			is := w.fleets["base"]
			is.Config.PullRequests = fleet.PullRequests{}
			is.Revision.Digest = "sha1:" + forgetest.Hash(78)
			w.follow(is)
		},
	} {
		w := newWorld()
		w.propose(1, w.fleets["base"])
		spoil(w)
		made := w.calls()
		if w.start().Poll(t.Context()); len(*made) > 0 {
			t.Errorf("%s: %q", name, *made)
		}
	}
}

// TestWhichArePlanned: those onto what is followed, and forks where fleet.yaml says so.
func TestWhichArePlanned(t *testing.T) {
	w := newWorld()
	is := w.fleets["base"]
	is.Config.PullRequests.Forks = true
	w.state = newWorld().state
	w.fleets["base"] = is
	is.Revision.Digest = "sha1:" + forgetest.Hash(78)
	w.follow(is)
	for n := 1; n <= maxOpen+1; n++ {
		p := w.propose(n, is)
		switch n {
		case 2:
			p.Base = "other"
		case 3:
			p.Fork = true
		}
		w.Put(p)
	}
	w.start().Poll(t.Context())
	for n, want := range map[int]bool{1: true, 2: false, 3: true, 4: true, maxOpen + 1: true} {
		if _, planned := w.plans[n]; planned != want {
			t.Errorf("pull request %d is planned: %v", n, planned)
		}
	}
}

// Pull requests that are not planned take no place of one that is, and each head says why it is not.
func TestUnplannedTakeNoPlace(t *testing.T) {
	w := newWorld()
	p := w.propose(1, w.fleets["base"])
	for n := 1000; n < 1000+maxOpen; n++ {
		w.Put(forge.PullRequest{Number: n, State: forge.Open, Head: forgetest.Hash(n), Base: "main", Fork: true, Author: "mallory"})
	}
	q := w.start()
	q.Poll(t.Context())
	if s, _ := w.Of(p.Head); s.Verdict != forge.Success {
		t.Errorf("the status beside many forks is %+v", s)
	}
	if s, _ := w.Of(forgetest.Hash(1000)); s.Verdict != forge.Pending || s.Text != "not planned, its head is no branch of this repository: fairlead approve 1000 --plan --head "+forgetest.Hash(1000) {
		t.Errorf("the status of a fork is %+v", s)
	}
	for n := 2; n < 2+maxOpen; n++ {
		w.propose(n, w.fleets["base"])
	}
	q.Poll(t.Context())
	if s, _ := w.Of(p.Head); s.Verdict != forge.Pending || s.Text != "not planned: more than 200 pull requests are open, and others come first" {
		t.Errorf("the status of one that is left out is %+v", s)
	}
	newest := forge.PullRequest{Number: 2, State: forge.Closed, Head: forgetest.Hash(2), Base: "main"}
	w.Put(newest)
	q.Poll(t.Context())
	if s, _ := w.Of(p.Head); s.Verdict != forge.Success {
		t.Errorf("once there is a place again its status is %+v", s)
	}
}

// TestPlacesOfStrangers: those of strangers that are planned are the newest of them, as many as others leave.
func TestPlacesOfStrangers(t *testing.T) {
	q := newWorld().start()
	for own, strangers := range map[int]int{0: 200, 50: 150, 200: 0, 250: 0} {
		list := &poll{config: fleet.PullRequests{Forks: true}, base: base}
		for n := 1; n <= 250+own; n++ {
			list.all = append(list.all, proposal{PullRequest: forge.PullRequest{Number: n, State: forge.Open, Base: "main", Fork: n > own}})
		}
		q.choose(list)
		forks := slices.DeleteFunc(slices.Clone(list.open), func(p proposal) bool { return !p.Fork })
		if len(forks) != strangers || len(list.open) != 200 {
			t.Errorf("beside %d: %d of strangers are planned, of %d", own, len(forks), len(list.open))
		}
		if n := len(forks); n > 0 && forks[n-1].Number != 250+own {
			t.Errorf("beside %d: the newest that is planned is %d", own, forks[n-1].Number)
		}
	}
}

// A plan is made again when its head or what was approved of it changes, and else not.
func TestPlannedAgain(t *testing.T) {
	w := newWorld()
	p := w.propose(1, w.fleets["base"])
	plans := 0
	q := w.start()
	q.p.Done = func(string, time.Duration) { plans++ }
	for i, change := range []func(){
		func() {},
		func() {
			w.approvals = append(w.approvals, fleet.Approval{PullRequest: 1, Kind: fleet.ApproveChanges, Head: p.Head})
		},
		func() {
			p.Head = forgetest.Hash(2)
			w.merged[p.Head] = w.merged[forgetest.Hash(1)]
			w.approvals = nil
			w.Put(p)
		},
	} {
		change()
		q.Poll(t.Context())
		q.Poll(t.Context())
		if plans != i+1 {
			t.Fatalf("change %d: %d plans", i, plans)
		}
	}
	if s, _ := w.Of(p.Head); s.Name != "fairlead/plan" {
		t.Error(fmt.Sprint("the new head has no status: ", s))
	}
}

// What fails passes once somebody accepts it, and what could not be looked at never does.
func TestVerdicts(t *testing.T) {
	w := newWorld()
	after := w.fleets["base"]
	after.Problems = []fleet.Problem{{File: "clusters/x", Message: "it is broken"}}
	p := w.propose(1, after)
	says := func(what string, want forge.Verdict) {
		t.Helper()
		w.start().Poll(t.Context())
		if s, _ := w.Of(p.Head); s.Verdict != want {
			t.Errorf("%s: %+v, want %s", what, s, want)
		}
	}
	says("a problem", forge.Failure)
	w.approvals = append(w.approvals, fleet.Approval{PullRequest: 1, Kind: fleet.ApproveChanges, Head: p.Head, By: "Ada"})
	says("accepted", forge.Success)
	after.Clusters = []fleet.Cluster{{Key: fleet.Key{Namespace: "prod", Name: "a"}, Digest: "x", Fleet: "f"}}
	w.fleets["merge 1"] = after
	w.dark = fleet.Errorf(fleet.Unavailable, "look", "the cloud is away")
	says("not seen", forge.Error)
}

// What was merged is compared with what was planned: its head, and the machines that were to go.
func TestOutcomeDiffers(t *testing.T) {
	w := newWorld()
	k := fleet.Key{Namespace: "prod", Name: "a"}
	w.reports[k] = fleet.Report{Cluster: k, Phase: fleet.PhaseProvisioned, Machines: []fleet.MachineReport{{Machine: fleet.Machine{Name: "a-1"}}}}
	plan := status.Plan{Number: 1, Head: forgetest.Hash(2), Tree: "sha1:t", Changes: []status.PlannedChange{{Change: "delete", Cluster: k.String(), Machine: "a-1"}}}
	q := w.start()
	if got := q.differs(k, plan.Changes); len(got) != 1 || !strings.Contains(got[0], "machine a-1 was to be deleted, and is there") {
		t.Errorf("%q", got)
	}
	p := forge.PullRequest{Number: 1, State: forge.Merged, Head: forgetest.Hash(1), Base: "main", Result: forgetest.Hash(50)}
	w.merged[p.Result] = sources.Merged{Digest: "sha1:t", Contained: true}
	o, err := q.outcome(t.Context(), &poll{base: base}, p, plan)
	if err != nil || !o.Done || len(o.Differs) != 1 || !strings.Contains(o.Differs[0], "a later head") {
		t.Errorf("%+v, %v", o, err)
	}
}

package rollout

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
)

const (
	ada  = "Ada <ada@example.com>"
	bob  = "Bob <bob@example.com>"
	dora = "Dora <dora@example.com>"
)

// A person approves of what waits in prod.
func (w *wavy) approve(t *testing.T, r fleet.Request) fleet.Answer {
	t.Helper()
	r.Stage, r.Release, r.Of = "prod", fleet.ReleaseApprove, w.stage(t, "prod").Digest
	w.now = w.now.Add(time.Second)
	return w.ask(t, r)
}

func by(who string) fleet.Request { return fleet.Request{By: who} }

// wrote pushes what authors wrote.
func (w *wavy) wrote(f *fleet.Fleet, authors ...string) {
	w.decide(Input{Newest: &Revision{Revision: f.Revision, Fleet: f, Authors: authors}})
}

// approvals has prod need so many people.
func approvals(n int) fleet.Waves {
	waves := wavesOf()
	waves.Stages[1].Approval, waves.Stages[1].Approvals, waves.Stages[1].AtOnce = true, n, 9
	return waves
}

// approving has a change of ada wait in prod for so many people.
func approving(n int) *wavy {
	w := &wavy{now: time.Date(2026, 11, 25, 0, 0, 0, 0, time.UTC)}
	w.push(wavyFleet("1", "v1", 3, approvals(n)))
	w.rest("c0", "c1", "c2")
	w.wrote(wavyFleet("2", "v2", 3, approvals(n)), "ada@example.com")
	w.soaked()
	return w
}

// soaked has the canary done and soaked.
func (w *wavy) soaked() {
	w.rest("c0")
	w.now = w.now.Add(time.Hour)
	w.decide(Input{})
}

// TestApprovalsOfSeveral: so many different people approve who wrote no part of what waits.
func TestApprovalsOfSeveral(t *testing.T) {
	signed := func(who, key string) fleet.Request { return fleet.Request{By: who, Signer: key} }
	named := func(who, key string, names ...string) fleet.Request {
		return fleet.Request{By: who, Signer: key, Names: names}
	}
	for name, c := range map[string]struct {
		need  int
		asks  []fleet.Request
		last  string // a part of the last answer
		taken bool
	}{
		"one, and the stage does not say how many": {0, []fleet.Request{by(ada)}, "what waits in 2 clusters is approved", true},
		"one who wrote nothing":                    {1, []fleet.Request{by(bob)}, "what waits in 2 clusters is approved", true},
		"the author":                               {1, []fleet.Request{by(ada)}, "wrote a part of what waits in stage prod", false},
		"the author under another name":            {1, []fleet.Request{by("Somebody <ADA@example.com>")}, "wrote a part", false},
		"the author's key":                         {1, []fleet.Request{signed(bob, ada)}, "wrote a part", false},
		"one of two":                               {2, []fleet.Request{by(bob)}, "the approval counts for what waits in 2 clusters; 1 person more must approve", false},
		"one of them twice":                        {2, []fleet.Request{by(bob), by(bob)}, "approved already", false},
		"one of them with two addresses":           {2, []fleet.Request{signed(bob, "bob's laptop"), signed(dora, "bob's laptop")}, "approved already", false},
		"one of them with two keys":                {2, []fleet.Request{signed(bob, "bob's laptop"), signed(bob, "bob's token")}, "approved already", false},
		"one of them with two of both":             {2, []fleet.Request{named(bob, "bob's laptop", "bob's laptop", "bob's token"), named(dora, "bob's token", "bob's laptop", "bob's token")}, "approved already", false},
		"one principal of two":                     {2, []fleet.Request{signed(bob, "bob@laptop,bob@work"), signed(dora, "bob@work")}, "approved already", false},
		"the author's other key":                   {1, []fleet.Request{named(bob, "ada's token", "ada's token", "ada@example.com")}, "wrote a part", false},
		"two":                                      {2, []fleet.Request{by(bob), by(dora)}, "what waits in 2 clusters is approved", true},
		"two with keys":                            {2, []fleet.Request{signed(bob, "bob's laptop"), signed(dora, "dora's laptop")}, "what waits in 2 clusters is approved", true},
		"one and the author":                       {2, []fleet.Request{by(bob), by(ada)}, "wrote a part", false},
		"two reviews":                              {2, []fleet.Request{{By: "bob and dora, reviewing pull request 1", Reviewers: []string{"bob", "dora"}}}, "is approved", true},
		"one review of two":                        {2, []fleet.Request{{By: "bob, reviewing pull request 1", Reviewers: []string{"bob"}}}, "1 reviewed, and stage prod needs the approval of 2 people", false},
	} {
		t.Run(name, func(t *testing.T) {
			w := approving(c.need)
			var got fleet.Answer
			for _, r := range c.asks {
				got = w.approve(t, r)
			}
			if !strings.Contains(got.Message, c.last) {
				t.Errorf("the answer is %+v, want %q", got, c.last)
			}
			if (got.State == fleet.RequestRefused) != (strings.Contains(c.last, "wrote") || strings.Contains(c.last, "already") || strings.Contains(c.last, "reviewed,")) {
				t.Errorf("the answer is %+v", got)
			}
			if want := map[bool]string{true: "v2 v2 v2", false: "v2 v1 v1"}[c.taken]; w.held() != want {
				t.Errorf("held to %s, want %s", w.held(), want)
			}
		})
	}
}

// TestAcceptedApprovals: an answer that somebody wrote into the file makes no approval count.
func TestAcceptedApprovals(t *testing.T) {
	for name, r := range map[string]fleet.Request{
		"of the author":              {By: ada},
		"of one who did before":      {By: bob},
		"of too few reviews":         {By: "dora, reviewing pull request 1", Reviewers: []string{"dora"}},
		"of too few, and the author": {By: ada, Reviewers: []string{"dora"}},
	} {
		w := approving(2)
		w.approve(t, by(bob))
		r.Kind, r.Stage, r.Release, r.Of, r.At = fleet.RequestRelease, "prod", fleet.ReleaseApprove, w.stage(t, "prod").Digest, w.now
		r.Answer = fleet.Answer{State: fleet.RequestAccepted, At: w.now}
		w.decide(Input{Requests: &Requests{List: []fleet.Request{r}}})
		w.want(t, name, "v2 v1 v1")
	}
}

// TestWhoApproved: the stage tells who approved and how many are missing, and a new agent goes on from there.
func TestWhoApproved(t *testing.T) {
	w := approving(2)
	const before = "stage prod waits for the approval of 2 people who wrote no part of it"
	if st := w.stage(t, "prod"); st.Why != before || st.Approvals != 2 || len(st.Approved) > 0 {
		t.Errorf("before: %+v", st)
	}
	w.approve(t, by(bob))
	w.restart(wavyFleet("1", "v1", 3, approvals(2)), wavyFleet("2", "v2", 3, approvals(2)))
	w.decide(Input{})
	const after = "stage prod waits for the approval of 1 person who wrote no part of it, besides " + bob
	if st := w.stage(t, "prod"); st.Why != after || st.Approvals != 2 || cmp.Diff([]string{bob}, st.Approved) != "" || st.State != fleet.StageApproval {
		t.Errorf("after one approval: %+v", st)
	}
	for _, who := range []string{bob, ada} {
		if a := w.approve(t, by(who)); a.State != fleet.RequestRefused {
			t.Errorf("%s approves after a restart: %+v", who, a)
		}
	}
	w.approve(t, by(dora))
	w.want(t, "two approved", "v2 v2 v2")
	if st := w.stage(t, "prod"); st.Approvals != 0 || len(st.Approved) > 0 {
		t.Errorf("nothing waits for approval: %+v", st)
	}
}

// TestApprovalsOnTopOfWhatWaits: a newer change needs all approvals again, and not of those who wrote
// what waited before.
func TestApprovalsOnTopOfWhatWaits(t *testing.T) {
	w := approving(2)
	w.approve(t, by(bob))
	w.wrote(wavyFleet("3", "v3", 3, approvals(2)), "dora@example.com")
	w.soaked()
	if st := w.stage(t, "prod"); len(st.Approved) > 0 {
		t.Errorf("an approval of something else: %+v", st)
	}
	for _, who := range []string{ada, dora} {
		if a := w.approve(t, by(who)); a.State != fleet.RequestRefused {
			t.Errorf("%s, who wrote a part: %+v", who, a)
		}
	}
	w.approve(t, by(bob))
	w.wrote(wavyFleet("4", "v3", 3, approvals(2)), "carol@example.com") // changes nothing of what waits
	w.approve(t, by("Carol <carol@example.com>"))
	w.want(t, "two approved", "v3 v3 v3")
}

// TestAuthorsOfWhatCouldNotBeUsed: who wrote a revision that a problem kept from a cluster wrote a part of what
// waits once somebody else mended it.
func TestAuthorsOfWhatCouldNotBeUsed(t *testing.T) {
	for _, c := range []struct {
		name     string
		before   string // waits in prod, by bob; empty: nothing does
		restarts bool
	}{{"nothing waits", "", false}, {"nothing waits, and a new agent goes on", "", true}, {"something waits", "v1b", false}} {
		t.Run(c.name, func(t *testing.T) {
			w := &wavy{now: time.Date(2026, 11, 25, 0, 0, 0, 0, time.UTC)}
			w.push(wavyFleet("1", "v1", 3, approvals(1)))
			w.rest("c0", "c1", "c2")
			if c.before != "" {
				w.wrote(wavyFleet("1b", c.before, 3, approvals(1)), "bob@example.com")
				w.soaked()
			}
			broken := wavyFleet("2", "v2", 3, approvals(1))
			for _, is := range broken.Clusters {
				broken.Problems = append(broken.Problems, fleet.Problem{Cluster: is.Key, Overlay: is.Overlay, Message: "a patch does not apply"})
			}
			broken.Clusters = nil
			w.wrote(broken, "ada@example.com")
			if c.restarts {
				w.restart(wavyFleet("1", "v1", 3, approvals(1)), broken)
			}
			w.wrote(wavyFleet("3", "v2", 3, approvals(1)), "bob@example.com")
			w.soaked()
			for _, who := range []string{ada, bob} {
				if a := w.approve(t, by(who)); a.State != fleet.RequestRefused {
					t.Errorf("%s, who wrote a part: %+v", who, a)
				}
			}
			w.approve(t, by(dora))
			w.want(t, "approved", "v2 v2 v2")
		})
	}
}

// TestAuthorsOfARefusedVersion: who wrote a version that the control plane could not go to yet does not approve
// it once it can, and may approve what waited before.
func TestAuthorsOfARefusedVersion(t *testing.T) {
	w := &wavy{now: time.Date(2026, 11, 25, 0, 0, 0, 0, time.UTC)}
	serve := func(v string, names ...string) {
		for _, name := range names {
			target, _ := w.s.Target(keyOf(name))
			r := fleet.Report{Cluster: keyOf(name), Phase: fleet.PhaseProvisioned, Machines: []fleet.MachineReport{{Machine: fleet.Machine{Role: fleet.RoleControlPlane, Version: v}}}}
			r.Residence.ControlPlane = fleet.InitializedOnce
			w.decide(Input{Passes: []Pass{{Target: target, Report: r, AtRest: true}}})
		}
		w.now = w.now.Add(time.Hour)
		w.decide(Input{})
	}
	w.push(wavyFleet("1", "v1.33.0", 3, approvals(1)))
	serve("v1.33.0", "c0", "c1", "c2")
	w.wrote(wavyFleet("2", "v1.34.0", 3, approvals(1)), "bob@example.com")
	serve("v1.33.0", "c0")
	w.wrote(wavyFleet("3", "v1.35.0", 3, approvals(1)), "ada@example.com")
	w.want(t, "v1.35.0 is refused, and v1.34.0 waits", "v1.34.0 v1.33.0 v1.33.0")
	if a := w.approve(t, by(bob)); a.State != fleet.RequestRefused {
		t.Errorf("bob, who wrote v1.34.0: %+v", a)
	}
	if a := w.approve(t, by(ada)); a.State == fleet.RequestRefused {
		t.Errorf("ada, who wrote nothing of v1.34.0: %+v", a)
	}
	serve("v1.34.0", "c0")
	serve("v1.35.0", "c0")
	w.want(t, "the canary is done, and ada approved v1.34.0", "v1.35.0 v1.34.0 v1.34.0")
	serve("v1.34.0", "c1", "c2")
	w.want(t, "v1.35.0 waits", "v1.35.0 v1.34.0 v1.34.0")
	if a := w.approve(t, by(ada)); a.State != fleet.RequestRefused {
		t.Errorf("ada, who wrote v1.35.0: %+v", a)
	}
	w.approve(t, by(dora))
	w.want(t, "approved", "v1.35.0 v1.35.0 v1.35.0")
}

// TestApprovalsOfWhatWaited: approvals that are asked for while something waits are of people who wrote nothing of
// it, also if no agent was there when it came.
func TestApprovalsOfWhatWaited(t *testing.T) {
	for _, restarted := range []bool{false, true} {
		w := provisioned(2)
		w.wrote(wavyFleet("2", "v2", 2, wavesOf()))
		w.wrote(wavyFleet("3", "v3", 2, wavesOf()))
		if restarted {
			w.s = Recorded(Record{Fleet: "f", Applied: revision("3"), Rollout: w.s.Rollout(), Reports: []fleet.Report{{Cluster: keyOf("c1"), Digest: "v1", Revision: revision("1")}}})
		}
		if got := w.s.Unattributed(); !slices.Equal(got, []fleet.Revision{revision("1")}) {
			t.Errorf("restarted %t: not asked since %v", restarted, got)
		}
		w.wrote(wavyFleet("4", "v3", 2, approvals(1)), "ada@example.com")
		if got := w.s.Unattributed(); len(got) > 0 {
			t.Errorf("restarted %t: still not asked since %v", restarted, got)
		}
		if restarted { // of its people alone
			if got := w.s.clusters.of(keyOf("c1")).people().Authors; !slices.Equal(got, []string{"ada@example.com"}) {
				t.Errorf("the authors are %q", got)
			}
			continue
		}
		w.soaked()
		if a := w.approve(t, by("Ada <ada@example.com>")); a.State != fleet.RequestRefused {
			t.Errorf("the author's approval: %+v", a)
		}
		if a := w.approve(t, by("Bob <bob@example.com>")); a.State != fleet.RequestDone {
			t.Errorf("another one's approval: %+v", a)
		}
		w.want(t, "approved", "v3 v3")
		w.wrote(wavyFleet("5", "v4", 2, wavesOf()))
		if got := w.s.Unattributed(); !slices.Equal(got, []fleet.Revision{revision("4")}) {
			t.Errorf("what was taken is over, and not asked since %v", got)
		}
	}
}

// TestApprovalsThatPause: while no stage has approvals, nobody asks who wrote what is added to what waits, or
// cannot be used. Once one has, all of it is asked for.
func TestApprovalsThatPause(t *testing.T) {
	broken := wavyFleet("3", "v3", 2, wavesOf())
	broken.Problems = []fleet.Problem{{Overlay: broken.Clusters[1].Overlay, Cluster: keyOf("c1"), Message: "broken"}}
	broken.Clusters = broken.Clusters[:1]
	for name, third := range map[string]*fleet.Fleet{"added": wavyFleet("3", "v3", 2, wavesOf()), "broken": broken} {
		w := provisioned(2)
		w.wrote(wavyFleet("2", "v2", 2, approvals(1)), "ada@example.com")
		w.wrote(third)
		if got := w.s.Unattributed(); !slices.Contains(got, revision("1")) {
			t.Errorf("%s: not asked since %v", name, got)
		}
	}
	w := provisioned(2)
	w.wrote(broken)
	if got := w.s.Unattributed(); !slices.Contains(got, revision("1")) {
		t.Errorf("nothing waited: not asked since %v", got)
	}
	w.wrote(wavyFleet("4", "v4", 2, wavesOf()))
	if got := w.s.clusters.of(keyOf("c1")).wave.before; got != revision("1") {
		t.Errorf("what waits began to after %v", got)
	}
}

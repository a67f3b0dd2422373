package pullrequests

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"fairlead.dev/agent/plans/forge"
	"fairlead.dev/agent/plans/forge/forgetest"
	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/rollout"
	"fairlead.dev/sources"
)

// push has the fleet that is followed be at another commit, which changes nothing else.
func (w *world) push(n int) {
	next := w.fleets["base"]
	next.Revision.Digest = "sha1:" + forgetest.Hash(n)
	w.fleets["base"] = next
	w.follow(next)
}

// count has w count each kind of call from now on.
func (w *world) count() map[string]int {
	calls := map[string]int{}
	w.Before = func(call string) error {
		calls[call]++
		return nil
	}
	return calls
}

// settled polls until nothing is left to be said.
func (w *world) settled(t *testing.T, q *PullRequests) {
	t.Helper()
	for range 3 {
		q.Poll(t.Context())
	}
}

// TestCostOfAPush: what a commit to the followed branch costs at 200 open pull requests that it changes
// nothing of, and what it costs that all of them are new.
func TestCostOfAPush(t *testing.T) {
	w := newWorld()
	for n := 1; n <= 200; n++ {
		w.propose(n, w.fleets["base"])
	}
	q := w.start()
	calls := w.count()
	w.settled(t, q)
	want := map[string]int{"open": 3, "self": 2, "status": 200, "comments": 400, "write": 200, "write plans": 2}
	if !maps.Equal(calls, want) {
		t.Errorf("200 new pull requests cost %v, want %v", calls, want)
	}
	clear(calls)
	w.push(78)
	q.Poll(t.Context())
	if want := map[string]int{"open": 1}; !maps.Equal(calls, want) {
		t.Errorf("a push costs %v, want %v", calls, want)
	}
	if q.known["pull request 1"].plan.Base == q.known["pull request 1"].shown.Base {
		t.Error("nothing was planned again")
	}
	q = w.start() // another process
	clear(calls)
	w.push(79)
	w.settled(t, q)
	if want := map[string]int{"open": 3, "status": 200, "comment": 200}; !maps.Equal(calls, want) {
		t.Errorf("a push while the agent restarts costs %v, want %v", calls, want)
	}
}

// Plans that say something else are written, in one commit for all, and edit what is known.
func TestNewsIsWritten(t *testing.T) {
	w := newWorld()
	for n := 1; n <= 200; n++ {
		w.propose(n, w.fleets["base"])
	}
	q := w.start()
	w.settled(t, q)
	calls := w.count()
	next := w.fleets["base"]
	next.Revision.Digest = "sha1:" + forgetest.Hash(78)
	w.state = rollout.Decide(rollout.Input{Before: w.state, Now: time.Now(), Newest: &rollout.Revision{Revision: next.Revision, Refused: "a typing error"}}).State
	q.Poll(t.Context())
	if want := map[string]int{"open": 1, "write plans": 1, "status": 200, "edit": 200}; !maps.Equal(calls, want) {
		t.Errorf("it costs %v, want %v", calls, want)
	}
}

// What is seen of a cluster is no news alone: a plan that says the same is written nowhere.
func TestLookAloneIsNoNews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		k := fleet.Key{Namespace: "prod", Name: "a"}
		after := w.fleets["base"]
		after.Clusters = []fleet.Cluster{{Key: k, Digest: "x", Fleet: "f", Delete: true}}
		w.propose(1, after)
		q := w.start()
		w.settled(t, q)
		calls := w.count()
		w.reports[k], w.seen.Workload.Reachable = fleet.Report{Phase: fleet.PhaseProvisioned}, true
		time.Sleep(lookGap)
		q.Poll(t.Context())
		if p := q.known["pull request 1"]; len(w.looked) != 2 || p.plan.Look == p.shown.Look {
			t.Errorf("%d looks, the last sees %s, and the plan is of %s", len(w.looked), p.plan.Look, p.shown.Look)
		}
		if want := map[string]int{"open": 1}; !maps.Equal(calls, want) {
			t.Errorf("it costs %v, want %v", calls, want)
		}
	})
}

// A limit is no failure of a comment: it is written with the first poll after the time.
func TestLimitIsNoFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.propose(1, w.fleets["base"])
		q := w.start()
		limited := true
		w.Before = func(call string) error {
			if call != "write" || !limited {
				return nil
			}
			return fleet.Errorf(fleet.Unavailable, call, "%w", &forge.Limited{Until: time.Now().Add(time.Minute)})
		}
		for range 7 {
			q.Poll(t.Context())
			time.Sleep(time.Minute)
		}
		limited = false
		if q.Poll(t.Context()); len(w.own(1)) != 1 {
			t.Errorf("%d comments once there is no limit", len(w.own(1)))
		}
	})
}

// One refusal for a limit ends the poll, and the forge is not asked before the time that it names.
func TestLimitedForge(t *testing.T) {
	for _, at := range []string{"open", "status", "comments", "write", "edit", "pull request", "reviews"} {
		t.Run(at, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGated(t)
				w, q := g.world, g.q
				g.Review(t, 1, "bob", forgetest.Approve)
				g.merge()
				for n := 2; n < 5; n++ {
					p := w.propose(n, w.fleets["base"])
					g.merges[[2]string{g.to.Digest, "sha1:" + p.Head}] = w.merged[p.Head]
				}
				if at == "edit" {
					w.Say(2, "fairlead", mark("f")+"an older plan")
				}
				limited, refused, calls := false, 0, 0
				q.p.Limited = func(is bool) { limited = is }
				w.Before = func(call string) error {
					if call == "write plans" {
						return nil
					}
					if calls++; call != at {
						return nil
					}
					refused++
					return fleet.Errorf(fleet.Unavailable, call, "%w", &forge.Limited{Until: time.Now().Add(10 * time.Minute)})
				}
				q.Poll(t.Context())
				if refused != 1 || !limited {
					t.Fatalf("%d calls were refused, told %v", refused, limited)
				}
				calls = 0
				time.Sleep(10*time.Minute - time.Second)
				if q.Poll(t.Context()); calls != 0 {
					t.Errorf("%d calls before the time", calls)
				}
				time.Sleep(time.Second)
				if q.Poll(t.Context()); refused != 2 {
					t.Errorf("%d were refused after the time", refused)
				}
				w.Before = nil
				time.Sleep(10 * time.Minute)
				if q.Poll(t.Context()); limited || len(w.own(2)) != 1 {
					t.Errorf("once there is no limit it tells %v, and has %d comments", limited, len(w.own(2)))
				}
			})
		})
	}
}

// A comment whose id is known is read alone: a conversation may be too long to be read. What a forge
// trims is no other text.
func TestLongConversation(t *testing.T) {
	w := newWorld()
	w.propose(1, w.fleets["base"])
	w.settled(t, w.start())
	id := w.Said(1)[0].ID
	if err := w.Edit(t.Context(), 1, id, strings.ReplaceAll(strings.TrimSpace(w.Said(1)[0].Text), "\n", "\r\n")); err != nil {
		t.Fatal(err)
	}
	calls := map[string]int{}
	w.Before = func(call string) error {
		if calls[call]++; call == "comments" {
			return fleet.Errorf(fleet.Exhausted, call, "the answer has more than 8388608 bytes")
		}
		return nil
	}
	q := w.start() // another process
	w.settled(t, q)
	if want := map[string]int{"open": 3, "status": 1, "comment": 1}; !maps.Equal(calls, want) {
		t.Errorf("where all is said it costs %v, want %v", calls, want)
	}
	next := rollout.Revision{Revision: fleet.Revision{Ref: "main", Digest: "sha1:" + forgetest.Hash(80)}, Refused: "a typing error"}
	w.state = rollout.Decide(rollout.Input{Before: w.state, Now: time.Now(), Newest: &next}).State
	w.settled(t, w.start())
	if said := w.Said(1); len(said) != 1 || !strings.Contains(said[0].Text, "is refused") || calls["comments"] != 0 {
		t.Errorf("%d lists, and it says %q", calls["comments"], said)
	}
}

// What a merged pull request was is asked for once, however long it waits.
func TestMergedThatWait(t *testing.T) {
	w := newWorld()
	var all []forge.PullRequest
	for n := 1; n <= 40; n++ {
		all = append(all, w.propose(n, w.fleets["base"]))
	}
	q := w.start()
	w.settled(t, q)
	for _, p := range all {
		p.State, p.Result = forge.Merged, forgetest.Hash(91)
		w.Put(p)
	}
	w.state = rollout.Decide(rollout.Input{Before: w.state, Now: time.Now(), Newest: &rollout.Revision{
		Revision: fleet.Revision{Ref: "main", Digest: "sha1:" + forgetest.Hash(90)}, Refused: "a typing error",
	}}).State // so none of them is done
	calls := w.count()
	w.settled(t, q)
	if want := map[string]int{"open": 3, "pull request": 40, "edit": 40}; !maps.Equal(calls, want) {
		t.Errorf("three polls cost %v, want %v", calls, want)
	}
}

// The agent's comment stays one when its account is another one, in this process and in the next.
func TestAnotherAccount(t *testing.T) {
	w := newWorld()
	w.propose(1, w.fleets["base"])
	q := w.start()
	w.settled(t, q)
	refuse := func() {
		next := rollout.Revision{Revision: fleet.Revision{Ref: "main", Digest: "sha1:" + forgetest.Hash(80)}, Refused: "a typing error"}
		w.state = rollout.Decide(rollout.Input{Before: w.state, Now: time.Now(), Newest: &next}).State
	}
	w.Me = "fairlead-2"
	w.propose(2, w.fleets["base"])
	w.settled(t, q)
	refuse()
	w.settled(t, q)
	for n, author := range map[int]string{1: "fairlead", 2: "fairlead-2"} {
		if said := w.Said(n); len(said) != 1 || said[0].Author != author || !strings.Contains(said[0].Text, "is refused") {
			t.Errorf("pull request %d: %q", n, said)
		}
	}
	w.Me = "fairlead-3"
	w.push(81)
	w.settled(t, w.start())
	for n := 1; n <= 2; n++ {
		if said := w.Said(n); len(said) != 1 || strings.Contains(said[0].Text, "is refused") {
			t.Errorf("pull request %d, after a restart: %q", n, said)
		}
	}
}

// The account changes right after a comment was written, before a list showed it.
func TestAnotherAccountAtOnce(t *testing.T) {
	for _, mayEdit := range []bool{true, false} {
		w := newWorld()
		p := w.propose(1, w.fleets["base"])
		q := w.start()
		q.Poll(t.Context())
		w.Me = "fairlead-2"
		w.Before = func(call string) error {
			if call == "edit" && !mayEdit && len(w.Said(1)) == 1 {
				return fleet.Errorf(fleet.Unauthorized, call, "it is another account's")
			}
			return nil
		}
		m := w.merged[p.Head]
		p.Head = forgetest.Hash(300)
		w.merged[p.Head] = m
		w.Put(p)
		w.settled(t, q)
		said, want := w.Said(1), []string{"fairlead"}
		if !mayEdit {
			want = append(want, "fairlead-2")
		}
		if len(said) != len(want) || said[len(said)-1].Author != want[len(want)-1] || !strings.Contains(said[len(said)-1].Text, p.Head) {
			t.Errorf("may edit %v: %q", mayEdit, said)
		}
	}
}

// An account that may not edit the comment of the one before it writes its own.
func TestAnotherAccountWithoutRights(t *testing.T) {
	for name, restart := range map[string]bool{"the same process": false, "another one": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			w.propose(1, w.fleets["base"])
			q := w.start()
			w.settled(t, q)
			w.Me = "fairlead-2"
			w.Before = func(call string) error {
				if call == "edit" && len(w.Said(1)) == 1 {
					return fleet.Errorf(fleet.Unauthorized, call, "it is another account's")
				}
				return nil
			}
			next := rollout.Revision{Revision: fleet.Revision{Ref: "main", Digest: "sha1:" + forgetest.Hash(80)}, Refused: "a typing error"}
			w.state = rollout.Decide(rollout.Input{Before: w.state, Now: time.Now(), Newest: &next}).State
			if restart {
				q = w.start()
			}
			w.settled(t, q)
			if said := w.Said(1); len(said) != 2 || said[1].Author != "fairlead-2" || !strings.Contains(said[1].Text, "is refused") {
				t.Errorf("%q", said)
			}
		})
	}
}

// A comment whose id the status branch has is the agent's only with its mark.
func TestRecordedCommentOfSomebody(t *testing.T) {
	w := newWorld()
	w.propose(1, w.fleets["base"])
	w.settled(t, w.start())
	p := w.plans[1]
	p.Comment = w.Say(1, "mallory", "LGTM")
	w.plans[1] = p
	w.settled(t, w.start())
	if said := w.Said(1); len(said) != 2 || said[1].Text != "LGTM" {
		t.Errorf("%q", said)
	}
}

// Of two fleets in one repository, neither speaks for the other.
func TestTwoFleetsInOneRepository(t *testing.T) {
	w, other := newWorld(), newWorld()
	other.World = w.World // one forge
	is := fleet.Fleet{ID: "other", Revision: base, Config: w.fleets["base"].Config}
	is.Config.StatusBranch = "fairlead/other"
	is.Config.PullRequests.Revisions = true
	other.fleets["base"], other.state = is, rollout.State{}
	other.follow(is)
	p := w.propose(1, w.fleets["base"])
	w.merged[p.Head] = sources.Merged{Tree: tree{fstest.MapFS{}, "?"}, Digest: "sha1:" + forgetest.Hash(3)} // cannot be used
	other.merged[p.Head] = sources.Merged{Tree: tree{fstest.MapFS{}, "base"}, Digest: "sha1:" + forgetest.Hash(4)}
	names := map[string]forge.Verdict{}
	w.Set = func(s forge.Status) { names[s.Name] = s.Verdict }
	one, two := w.start(), other.start()
	for range 3 {
		one.Poll(t.Context())
		two.Poll(t.Context())
	}
	want := map[string]forge.Verdict{"fairlead/plan": forge.Failure, "fairlead/plan/other": forge.Success, "fairlead/revision/other": forge.Success}
	if !maps.Equal(names, want) {
		t.Errorf("the statuses are %v, want %v", names, want)
	}
	said := w.Said(1)
	if len(said) != 2 || !strings.Contains(said[0].Text, "### Fairlead plan: ") || !strings.Contains(said[1].Text, "### Fairlead plan of `other`: ") {
		t.Errorf("%q", said)
	}
}

// Of two fleets in one repository whose statuses have the same names, one is told of the other when it reads a
// conversation, until one of them names a status branch.
func TestFleetBeside(t *testing.T) {
	w, other := newWorld(), newWorld()
	other.World = w.World // one forge
	q := w.start()
	var seen []fleet.ID
	q.p.Beside = func(id fleet.ID) { seen = append(seen, id) }
	for i, names := range []struct{ own, other string }{{"", ""}, {"", "fairlead/other"}, {"", ""}, {"fairlead/own", ""}} {
		p := w.propose(i+1, w.fleets["base"])
		is := fleet.Fleet{ID: "other", Revision: base, Config: w.fleets["base"].Config}
		is.Config.StatusBranch = names.other
		other.fleets["base"], other.state = is, rollout.State{}
		other.follow(is)
		other.merged[p.Head] = sources.Merged{Tree: tree{fstest.MapFS{}, "base"}, Digest: "sha1:" + forgetest.Hash(50+i)}
		other.start().Poll(t.Context())
		is = w.fleets["base"]
		is.Config.StatusBranch = names.own
		w.follow(is)
		w.settled(t, q)
	}
	seen = slices.Compact(seen)
	if want := []fleet.ID{"other", "", "other", ""}; !slices.Equal(seen, want) {
		t.Errorf("the fleets beside are %q, want %q", seen, want)
	}
}

// A conversation that takes no comment is tried less and less often, and a merged pull request is done
// without one.
func TestLockedConversation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		p := w.propose(1, w.fleets["base"])
		q := w.start()
		calls := map[string]int{}
		w.Before = func(call string) error {
			if calls[call]++; call == "write" {
				return fleet.Errorf(fleet.Unauthorized, call, "the conversation is locked")
			}
			return nil
		}
		poll := func(d time.Duration) {
			for range d / (30 * time.Second) {
				q.Poll(t.Context())
				time.Sleep(30 * time.Second)
			}
		}
		poll(time.Hour)
		if s, _ := w.Of(p.Head); calls["write"] != 7 || s.Verdict != forge.Success {
			t.Errorf("tried %d times in an hour, the status is %+v", calls["write"], s)
		}
		p.State, p.Result = forge.Merged, forgetest.Hash(91)
		w.Put(p)
		w.merged[p.Result] = sources.Merged{Digest: "sha1:merge 1", Contained: true}
		if poll(5 * time.Minute); len(w.plans) != 1 {
			t.Error("it is done at once")
		}
		if poll(10 * time.Minute); len(w.plans) != 0 {
			t.Error("it is never done")
		}
	})
}

// What a cloud answers is told where the status branch is, which has it, too, and elsewhere not.
func TestWordsOfClouds(t *testing.T) {
	for apart, want := range map[bool]string{false: "cannot look: dial 10.0.0.7:6443", true: "cannot look at prod/a (Unavailable): see the log of the agent"} {
		w := newWorld()
		k := fleet.Key{Namespace: "prod", Name: "a"}
		after := w.fleets["base"]
		after.Clusters = []fleet.Cluster{{Key: k, Digest: "x", Fleet: "f"}}
		w.dark = fleet.Errorf(fleet.Unavailable, "look", "dial 10.0.0.7:6443")
		w.propose(1, after)
		q := w.start()
		q.p.Apart = apart
		q.Poll(t.Context())
		if said := w.plans[1]; len(said.Errors) != 1 || !strings.Contains(said.Errors[0], want) {
			t.Errorf("programs are told %+v", said.Errors)
		}
		text := strings.Join(w.own(1), "") + w.plans[1].Text + q.failureOf(fleet.Report{Failure: "dial 10.0.0.7:6443"})
		if !strings.Contains(text, want) || strings.Contains(text, "10.0.0.7") == apart {
			t.Errorf("apart %v: %s", apart, text)
		}
	}
}

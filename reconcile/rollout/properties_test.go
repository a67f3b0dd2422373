package rollout

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fairlead.dev/fleet"
	"fairlead.dev/test/run/short"
)

// TestMain lets the properties try the same histories each time, so that a change that
// fails is a change that broke something. -rapid.seed=0 tries new ones.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.seed", "1"); err != nil {
		panic(err)
	}
	short.Flag("rapid.checks", "30")
	os.Exit(m.Run())
}

// dump is all that a state says.
func dump(s State) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%+v\n%+v\n", s.Status(), s.MissingDefinitions())
	for _, k := range s.Keys() {
		t, _ := s.Target(k)
		held, err := json.Marshal(t.Cluster)
		fmt.Fprintf(&b, "%s %s %v %+v %+v\n", k, held, err, t.Requests, s.lastPasses[k])
	}
	return b.String()
}

// news draws what is new at revision n.
func news(t *rapid.T, n int) Input {
	in := Input{Now: time.Date(2026, 11, 21, 12, n, 0, 0, time.UTC)}
	all := []fleet.Key{keyA, keyB, keyC}
	some := func(what string) []fleet.Key {
		return slices.DeleteFunc(slices.Clone(all), func(k fleet.Key) bool { return rapid.Bool().Draw(t, what+" "+k.Name) })
	}
	rev := fmt.Sprint(n)
	switch rapid.IntRange(0, 5).Draw(t, "news") {
	case 0:
		in.Newest = &Revision{Revision: revision(rev), Unavailable: "no answer"}
	case 1:
		in.Newest = &Revision{Revision: revision(rev), Refused: "rubbish"}
	case 2, 3:
		f := fleetOf(rev, fleet.Prune{Enabled: rapid.Bool().Draw(t, "prune"), Limit: rapid.IntRange(0, 2).Draw(t, "limit")})
		for _, k := range some("declared") {
			if rapid.IntRange(0, 3).Draw(t, "broken") == 0 {
				f.Problems = append(f.Problems, fleet.Problem{Overlay: "clusters/" + k.String(), Message: "broken"})
				continue
			}
			c := clusterOf(k, rev, rapid.SampledFrom([]string{"x", "y"}).Draw(t, "content"))
			c.Protect = rapid.Bool().Draw(t, "protect")
			if c.Delete = rapid.IntRange(0, 4).Draw(t, "delete") == 0; c.Delete {
				c.Digest += " deleted"
			}
			if c.Protect {
				c.Digest += " protected"
			}
			f.Clusters = append(f.Clusters, c)
		}
		in.Newest = &Revision{Revision: revision(rev), Fleet: &f}
	case 4:
		in.Requests = &Requests{}
		for _, k := range some("asked") {
			in.Requests.List = append(in.Requests.List, fleet.Request{
				Kind: rapid.SampledFrom([]fleet.RequestKind{fleet.RequestSuspend, fleet.RequestReconcile, fleet.RequestAbandon}).Draw(t, "wish"), Cluster: k, At: in.Now,
				Answer: fleet.Answer{State: rapid.SampledFrom([]fleet.RequestState{"", fleet.RequestAccepted, fleet.RequestRefused}).Draw(t, "answer")},
			})
		}
	case 5:
		in.Gone = some("gone")
	}
	return in
}

// TestAnyHistory holds decisions on random histories against what is promised of them.
func TestAnyHistory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s State
		for n := range rapid.IntRange(1, 12).Draw(t, "length") {
			in := news(t, n)
			in.Before = s
			was := dump(s)
			d := Decide(in)
			if dump(s) != was {
				t.Fatalf("Decide changes what was before")
			}
			if again := Decide(in); dump(again.State) != dump(d.State) || !slices.Equal(again.Changed, d.Changed) {
				t.Fatalf("equal inputs give other decisions")
			}
			promised(t, in, d)
			s = d.State
		}
	})
}

// promised checks one decision.
func promised(t *rapid.T, in Input, d Decision) {
	pruned := 0
	for _, k := range d.State.Keys() {
		now, _ := d.State.Target(k)
		old, _ := in.Before.Target(k)
		switch {
		case in.Newest == nil || in.Newest.Fleet == nil:
			if now.Definition != old.Definition {
				t.Fatalf("LastGoodIsKept: %s has another definition without a revision", k)
			}
			continue
		case len(now.Problems) > 0 && now.Definition != old.Definition && !old.Pruned:
			t.Fatalf("LastGoodIsKept: %s is broken, and its definition is replaced", k)
		}
		broken := slices.ContainsFunc(in.Newest.Fleet.Problems, func(p fleet.Problem) bool { return p.Overlay == "clusters/"+k.String() })
		leftAlone := in.Before.clusters.of(k).orphan // a broken folder does not show that it is back
		if broken && !leftAlone && !now.InGit && d.State.Revision() == in.Newest.Revision {
			t.Fatalf("BrokenIsNotGone: %s", k)
		}
		if now.Pruned && !old.Pruned {
			pruned++
			if old.Definition != nil && old.Definition.Protect {
				t.Fatalf("ProtectedNeverDeleted: %s", k)
			}
		}
		asked := now.Definition != nil && now.Definition.Delete
		if declared := slices.IndexFunc(in.Newest.Fleet.Clusters, func(c fleet.Cluster) bool { return c.Key == k }); declared >= 0 && asked != in.Newest.Fleet.Clusters[declared].Delete {
			t.Fatalf("NothingDeletedThatGitHas: %s", k)
		}
	}
	if in.Newest != nil && in.Newest.Fleet != nil {
		if p := in.Newest.Fleet.Config.Prune; pruned > 0 && (!p.Enabled || pruned > p.Limit) {
			t.Fatalf("PruneLimit: %d are deleted, of %+v", pruned, p)
		}
	}
	for k, list := range d.State.accepted {
		for _, r := range list {
			if r.Answer.State != fleet.RequestAccepted {
				t.Fatalf("AnsweredBeforeDone: %s of %s stands as %q", r.Kind, k, r.Answer.State)
			}
		}
	}
	for _, k := range d.Forgotten {
		if c := in.Before.clusters.of(k); c.inGit {
			t.Fatalf("NothingForgottenThatGitHas: %s", k)
		}
	}
}

package forgetest

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/agent/plans/forge"
	"fairlead.dev/fleet"
)

// Hash returns a commit hash for a test.
func Hash(n int) string { return fmt.Sprintf("%06x%034x", n, n) }

// A Site is a repository on a forge as those see it who are not the agent.
type Site interface {
	// Pull makes the next pull request onto main, numbered from 1, with a head of its own,
	// and returns it.
	Pull(t testing.TB, state forge.State, fork bool) forge.PullRequest
	// Remark has somebody, who is not the agent, comment on a pull request.
	Remark(t testing.TB, number int, text string)
	// Review has bob or dora, who are not the agent, review the present state of a pull request.
	Review(t testing.TB, number int, author string, verb Verb)
	// Push gives a pull request another head, and returns it.
	Push(t testing.TB, p forge.PullRequest) forge.PullRequest
	// Status returns the newest status of that name on a commit.
	Status(t testing.TB, commit, name string) forge.Status
}

// Run holds the kind of forge that open opens on s to the contract of a forge.Forge. It
// makes so many pull requests and comments, which should be more than are on one page.
func Run(t *testing.T, s Site, many int, open func(t *testing.T) forge.Forge) {
	f := open(t)
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	if me, err := f.Self(ctx); err != nil || me == "" {
		t.Fatalf("the credential is %q's, %v", me, err)
	}
	var all, want []forge.PullRequest
	for n := 1; n <= many; n++ {
		state, fork := forge.Open, n%7 == 0
		switch n {
		case 3:
			state = forge.Merged
		case 4:
			state = forge.Closed
		}
		p := s.Pull(t, state, fork)
		if p.Number != n || p.State != state || p.Fork != fork || p.Head == "" {
			t.Fatalf("pull request %d was made as %+v", n, p)
		}
		if all = append(all, p); state == forge.Open {
			want = append(want, p)
		}
	}
	got, err := f.Open(ctx)
	must(err)
	if d := cmp.Diff(want, got); d != "" {
		t.Error("open pull requests: ", d)
	}
	for _, n := range []int{3, 4, 7} {
		p, err := f.PullRequest(ctx, n)
		must(err)
		if d := cmp.Diff(all[n-1], p); d != "" {
			t.Errorf("pull request %d: %s", n, d)
		}
	}
	if _, err := f.PullRequest(ctx, 9999); fleet.KindOf(err) != fleet.NotFound {
		t.Errorf("one that does not exist: %v", err)
	}
	for _, v := range []forge.Verdict{forge.Pending, forge.Pending, forge.Failure, forge.Success, forge.Success} {
		want := forge.Status{Name: "fairlead/plan", Verdict: v, Text: string(v) + " <b>"}
		must(f.SetStatus(ctx, all[0].Head, want))
		if got := s.Status(t, all[0].Head, want.Name); got != want {
			t.Errorf("the status is %+v, want %+v", got, want)
		}
	}
	alone := forge.Status{Name: "fairlead/revision", Verdict: forge.Failure, Text: "refused"}
	must(f.SetStatus(ctx, all[1].Head, alone))
	if got := s.Status(t, all[1].Head, alone.Name); got != alone {
		t.Errorf("the status of a commit alone is %+v, want %+v", got, alone)
	}
	runComments(t, s, many, f)
	runReviews(t, s, all[1], f)
}

// runReviews has bob and dora review p, and holds what the forge tells of it to the contract.
func runReviews(t *testing.T, s Site, p forge.PullRequest, f forge.Forge) {
	is := func(what string, want ...forge.Review) {
		t.Helper()
		got, err := f.Reviews(t.Context(), p)
		for i := range got { // a refusal counts whatever it is of
			if !got[i].Approves {
				got[i].Commit = ""
			}
		}
		if d := cmp.Diff(want, got); err != nil || d != "" {
			t.Errorf("%s: %v %s", what, err, d)
		}
	}
	const bob, dora = "bob", "dora"
	is("nobody reviewed it")
	s.Review(t, p.Number, bob, Remark)
	is("somebody commented")
	s.Review(t, p.Number, bob, Approve)
	is("somebody approved", forge.Review{Author: bob, Commit: p.Head, Approves: true})
	old := p.Head
	p = s.Push(t, p)
	got, err := f.Reviews(t.Context(), p)
	if err != nil || len(got) > 1 || len(got) == 1 && got[0].Approves && got[0].Commit == p.Head || p.Head == old {
		t.Errorf("what was said of an older head: %+v, %v", got, err)
	}
	s.Review(t, p.Number, bob, Approve)
	s.Review(t, p.Number, bob, Remark)
	is("the newer head was approved", forge.Review{Author: bob, Commit: p.Head, Approves: true})
	s.Review(t, p.Number, dora, Refuse)
	is("somebody else asked for changes", forge.Review{Author: bob, Commit: p.Head, Approves: true}, forge.Review{Author: dora})
	s.Review(t, p.Number, bob, Withdraw)
	is("the approval was dismissed, and none before it counts", forge.Review{Author: dora})
	s.Review(t, p.Number, dora, Approve)
	is("nothing is asked for any more", forge.Review{Author: dora, Commit: p.Head, Approves: true})
}

func runComments(t *testing.T, s Site, many int, f forge.Forge) {
	ctx := t.Context()
	for i := range many {
		s.Remark(t, 1, fmt.Sprint("noise ", i))
	}
	id, err := f.Write(ctx, 1, "mine: ä `x` | <!-- y -->")
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Edit(ctx, 1, id, "edited"); err != nil {
		t.Fatal(err)
	}
	me, err := f.Self(ctx)
	if err != nil {
		t.Fatal(err)
	}
	list, err := f.Comments(ctx, 1)
	if err != nil || len(list) != many+1 {
		t.Fatalf("%d comments, %v", len(list), err)
	}
	if first := list[0]; first.Author == me || first.Author == "" || first.Text != "noise 0" {
		t.Errorf("the oldest comment is %+v", first)
	}
	if last := list[many]; last != (forge.Comment{ID: id, Author: me, Text: "edited"}) {
		t.Errorf("what was written is %+v", last)
	}
	if one, err := f.Comment(ctx, 1, id); err != nil || one != list[many] {
		t.Errorf("the comment alone is %+v, %v", one, err)
	}
	for number, id := range map[int]string{1: "99999999", 2: id} {
		if _, err := f.Comment(ctx, number, id); fleet.KindOf(err) != fleet.NotFound {
			t.Errorf("a comment that pull request %d does not have: %v", number, err)
		}
	}
	if err := f.Edit(ctx, 1, "99999999", "x"); fleet.KindOf(err) != fleet.NotFound {
		t.Errorf("editing what does not exist: %v", err)
	}
}

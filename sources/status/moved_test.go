package status_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
	"fairlead.dev/sources/status"
)

// located returns what the branch says of where the status is.
func located(t *testing.T, b *branch) status.Location {
	t.Helper()
	_, files, _ := b.Read(t.Context())
	l, err := status.Locate(files)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// begunFor begins on a branch that has the status of a fleet.
func begunFor(t *testing.T, id string) *branch {
	t.Helper()
	b := &branch{}
	begun(t, b, false)
	saysFleet(t, b, id)
	return b
}

// saysFleet writes the first status.
func saysFleet(t *testing.T, b *branch, id string) {
	t.Helper()
	put(t, b, "fleet.yaml", "apiVersion: fairlead.dev/v1alpha1\nkind: FleetStatus\nfleet: "+id+"\n")
}

// TestMoveOfNoFleet: a status that does not say its fleet yet stays: a former branch of no fleet would be in the way
// of the next move.
func TestMoveOfNoFleet(t *testing.T) {
	from, to := &branch{}, &branch{}
	begun(t, from, false)
	if err := status.Move(t.Context(), from, to, "to"); fleet.KindOf(err) != fleet.Conflict {
		t.Errorf("it is moved: %v", err)
	}
	if l := located(t, from); l.MovedTo != "" {
		t.Errorf("the branch says %+v", l)
	}
}

// TestMoveKeepsFilesOfOthers: a branch that never had a status keeps what it has.
func TestMoveKeepsFilesOfOthers(t *testing.T) {
	from, to := begunFor(t, "f"), &branch{}
	put(t, to, "README.md", "of people")
	put(t, to, "requests/prod/eu-1/suspend.yaml", "of a person who was quicker than the agent")
	if err := status.Move(t.Context(), from, to, "to"); err != nil {
		t.Fatal(err)
	}
	_, files := to.head()
	for _, p := range []string{"README.md", "requests/prod/eu-1/suspend.yaml"} {
		if files[p] == nil {
			t.Errorf("%s is deleted", p)
		}
	}
}

// TestTwoFleetsMoveToOneBranch: of two fleets of one agent whose commits name one branch, the second one stays
// where it is.
func TestTwoFleetsMoveToOneBranch(t *testing.T) {
	f, g, to := begunFor(t, "f"), begunFor(t, "g"), &branch{}
	pushes := 0
	to.before = func() error {
		if pushes++; pushes == 2 { // f is decided, and is not copied yet
			to.before = nil
			to.mu.Unlock()
			defer to.mu.Lock()
			if err := status.Move(t.Context(), g, to, "to"); fleet.KindOf(err) != fleet.Conflict {
				t.Errorf("the second fleet: %v", err)
			}
		}
		return nil
	}
	if err := status.Move(t.Context(), f, to, "to"); err != nil {
		t.Fatal(err)
	}
	if l := located(t, g); l.MovedTo != "" || located(t, to).Fleet != "f" {
		t.Errorf("the second fleet is at %+v, and the branch has %+v", l, located(t, to))
	}
	if decided := (status.Location{Fleet: "g", MovedTo: "to", Move: 1}); located(t, to).HasArrived(decided) {
		t.Error("the status of the second fleet is taken to be there")
	}
}

// A slow branch does something before it is first read.
type slow struct {
	*branch
	before func()
}

func (s *slow) Read(ctx context.Context) (fleet.Revision, sources.Tree, error) {
	if f := s.before; f != nil {
		s.before = nil
		f()
	}
	return s.branch.Read(ctx)
}

// TestSlowMoveOverwritesNothing: a process that is slow does not lead back to a branch that the status left.
func TestSlowMoveOverwritesNothing(t *testing.T) {
	a, b, c := begunFor(t, "f"), &branch{}, &branch{}
	move := func(from, to *branch, name string) {
		if err := status.Move(t.Context(), from, to, name); err != nil {
			t.Fatal(err)
		}
		begun(t, to, false)
	}
	late := &slow{branch: b, before: func() {
		move(a, b, "b")
		put(t, b, "requests/prod/eu-1/suspend.yaml", "new")
		move(b, c, "c")
	}}
	err := status.Move(t.Context(), a, late, "b")
	if l := located(t, b); l.MovedTo != "c" {
		t.Errorf("the branch in the middle says %+v: %v", l, err)
	}
}

// TestMoveOverwritesNoNewerStatus: a branch with a newer status of the fleet keeps it, and nothing is decided.
func TestMoveOverwritesNoNewerStatus(t *testing.T) {
	from, to := begunFor(t, "f"), begunFor(t, "f")
	begin := status.NewArbiter(to)
	if _, _, err := begin.Begin(t.Context(), located(t, to).Owner); err != nil {
		t.Fatal(err)
	}
	put(t, to, "requests/prod/eu-1/suspend.yaml", "new")
	if err := status.Move(t.Context(), from, to, "to"); fleet.KindOf(err) != fleet.Conflict {
		t.Errorf("it ends with %v", err)
	}
	if l := located(t, from); l.MovedTo != "" || to.file(t, "requests/prod/eu-1/suspend.yaml") != "new" {
		t.Errorf("the former branch says %+v", l)
	}
}

// TestMoveIsDecidedOnce: of two processes that move the status to two branches, one decides.
func TestMoveIsDecidedOnce(t *testing.T) {
	from, a, b := begunFor(t, "f"), &branch{}, &branch{}
	late := &slow{branch: a, before: func() {
		if err := status.Move(t.Context(), from, b, "b"); err != nil {
			t.Fatal(err)
		}
	}}
	if err := status.Move(t.Context(), from, late, "a"); fleet.KindOf(err) != fleet.Conflict {
		t.Errorf("the second one ends with %v", err)
	}
	if l := located(t, from); l.MovedTo != "b" || located(t, a).Owner != (fleet.Owner{}) {
		t.Errorf("the former branch says %+v, and the second one has %+v", l, located(t, a))
	}
}

// TestDamagedOwnerOfFormerBranch: what is left of the owner on a former branch does not matter.
func TestDamagedOwnerOfFormerBranch(t *testing.T) {
	from, to := begunFor(t, "f"), &branch{}
	if err := status.Move(t.Context(), from, to, "to"); err != nil {
		t.Fatal(err)
	}
	put(t, from, "owner.yaml", "<<<<<<< HEAD\n")
	if l := located(t, from); l.MovedTo != "to" || !located(t, to).HasArrived(l) {
		t.Errorf("it says %+v", l)
	}
}

// TestNothingIsAskedOnFormerBranch: what is written on a branch that the status left would be answered by nobody.
func TestNothingIsAskedOnFormerBranch(t *testing.T) {
	from, to := begunFor(t, "f"), &branch{}
	if err := status.Move(t.Context(), from, to, "to"); err != nil {
		t.Fatal(err)
	}
	before, _ := from.head()
	for name, err := range map[string]error{
		"a request":             status.NewRequests(from).Ask(t.Context(), wish()),
		"a number of machines":  status.NewScales(from).Set(t.Context(), fleet.Scale{Cluster: wish().Cluster, Pool: "eu-1-md-0", Replicas: 3}),
		"an approval of a plan": status.NewApprovals(from).Approve(t.Context(), fleet.Approval{PullRequest: 7, Kind: fleet.ApprovePlan, Head: strings.Repeat("a", 40), By: wish().By, At: wish().At}),
	} {
		if !errors.Is(err, status.ErrMoved) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if after, _ := from.head(); after != before {
		t.Error("the former branch has a new commit")
	}
}

// TestStatusStays: a new branch that accepts no push has nothing decided.
func TestStatusStays(t *testing.T) {
	from, to := begunFor(t, "f"), &branch{}
	to.before = func() error { return fleet.Errorf(fleet.Unauthorized, "push", "protected branch hook declined") }
	if err := status.Move(t.Context(), from, to, "to"); !errors.Is(err, status.ErrStays) {
		t.Errorf("it ends with %v", err)
	}
	if l := located(t, from); l.MovedTo != "" {
		t.Errorf("the former branch says %+v", l)
	}
	pushes := 0
	to.before = func() error {
		if pushes++; pushes > 1 {
			return fleet.Errorf(fleet.Unauthorized, "push", "the file is too large")
		}
		return nil
	}
	if err := status.Move(t.Context(), from, to, "to"); fleet.KindOf(err) != fleet.Unauthorized || errors.Is(err, status.ErrStays) {
		t.Errorf("a move that is decided ends with %v", err)
	}
}

// TestMoveBackToADamagedBranch: the status comes back to a branch whose fleet.yaml was damaged after the status had left it,
// unless the branch is of another fleet.
func TestMoveBackToADamagedBranch(t *testing.T) {
	for _, of := range []string{"f", "g"} {
		at, former := begunFor(t, "f"), begunFor(t, of)
		if err := status.Move(t.Context(), former, &branch{}, "elsewhere"); err != nil {
			t.Fatal(err)
		}
		put(t, former, "arrived.yaml", "apiVersion: fairlead.dev/v1alpha1\nkind: Arrived\nfleet: "+of+"\nmove: 0\n")
		put(t, former, "fleet.yaml", "{")
		err := status.Move(t.Context(), at, former, "former")
		if l := located(t, former); (err == nil) != (of == "f") || err == nil && (l.Fleet != "f" || l.MovedTo != "") {
			t.Errorf("of fleet %s: it ends with %v, and the branch says %+v", of, err, l)
		}
	}
}

// TestMoveToASilentOwner: the status is not moved to a branch that an agent owns and that does not say of which fleet.
func TestMoveToASilentOwner(t *testing.T) {
	at, owned := begunFor(t, "f"), &branch{}
	begun(t, owned, false)
	if err := status.Move(t.Context(), at, owned, "owned"); fleet.KindOf(err) != fleet.Conflict || located(t, at).MovedTo != "" {
		t.Errorf("it ends with %v, and the former branch says %+v", err, located(t, at))
	}
}

// TestCompleteMoveIsLeftAlone: a process that completes a move which another one completed changes nothing, though
// reports on the former branch are older.
func TestCompleteMoveIsLeftAlone(t *testing.T) {
	const report = "clusters/prod/eu-1.yaml"
	from, to := begunFor(t, "f"), &branch{}
	put(t, from, report, "old")
	if err := status.Move(t.Context(), from, to, "to"); err != nil {
		t.Fatal(err)
	}
	put(t, to, report, "new")
	if err := status.Move(t.Context(), from, to, "to"); err != nil || contentOf(t, to, report) != "new" {
		t.Errorf("it ends with %v, and the report is %q", err, contentOf(t, to, report))
	}
}

// TestStatusStaysBesideAnotherFleet: a commit names a branch that has the status of another fleet, or that it is on
// its way to. Nothing is decided. A branch without an owner is no status that stays.
func TestStatusStaysBesideAnotherFleet(t *testing.T) {
	reserved := &branch{}
	put(t, reserved, "arrived.yaml", "apiVersion: fairlead.dev/v1alpha1\nkind: Arrived\nfleet: g\nmove: 0\n")
	for reason, to := range map[string]*branch{"it has it": begunFor(t, "g"), "it is on its way": reserved} {
		from := begunFor(t, "f")
		if err := status.Move(t.Context(), from, to, "to"); !errors.Is(err, status.ErrStays) {
			t.Errorf("%s: it ends with %v", reason, err)
		}
		if l := located(t, from); l.MovedTo != "" {
			t.Errorf("%s: the former branch says %+v", reason, l)
		}
		if err := status.Move(t.Context(), &branch{}, to, "to"); err != nil && errors.Is(err, status.ErrStays) {
			t.Errorf("%s: without an owner it ends with %v", reason, err)
		}
	}
}

// TestPushesThatAreNotAnswered: what a start waits for ends, and a move has nothing decided.
func TestPushesThatAreNotAnswered(t *testing.T) {
	for _, kind := range []fleet.ErrorKind{fleet.Unanswered, fleet.Unavailable, fleet.Conflict, fleet.Unknown} {
		synctest.Test(t, func(t *testing.T) {
			from, to := begunFor(t, "f"), &branch{}
			to.before = func() error { return fleet.Errorf(kind, "push", "502 Bad Gateway") }
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			if err := status.Move(ctx, from, to, "to"); !errors.Is(err, status.ErrUndecided) {
				t.Errorf("%s: the move ends with %v", kind, err)
			}
			if l := located(t, from); l.MovedTo != "" {
				t.Errorf("%s: the former branch says %+v", kind, l)
			}
			if err := status.Signpost(ctx, to, "f", "a"); fleet.KindOf(err) != kind {
				t.Errorf("%s: the signpost ends with %v", kind, err)
			}
			if ctx.Err() != nil {
				t.Errorf("%s: it takes an hour", kind)
			}
		})
	}
}

// TestFormerBranchTakesNoPush: a move is not decided as long as the former branch takes no push for a reason that
// passes.
func TestFormerBranchTakesNoPush(t *testing.T) {
	for _, kind := range []fleet.ErrorKind{fleet.Unanswered, fleet.Unavailable, fleet.Exhausted, fleet.Conflict, fleet.Unknown} {
		synctest.Test(t, func(t *testing.T) {
			from, to := begunFor(t, "f"), &branch{}
			from.before = func() error { return fleet.Errorf(kind, "push", "no space left on device") }
			if err := status.Move(t.Context(), from, to, "to"); !errors.Is(err, status.ErrUndecided) {
				t.Errorf("%s: the move ends with %v", kind, err)
			}
			if l := located(t, to); l.Owner != (fleet.Owner{}) {
				t.Errorf("%s: the other branch says %+v", kind, l)
			}
			from.before = nil
			if err := status.Move(t.Context(), from, to, "to"); err != nil || located(t, to).Owner == (fleet.Owner{}) {
				t.Errorf("%s: the next move ends with %v", kind, err)
			}
		})
	}
}

// TestDamagedStatusNamesItsFleet: of a damaged fleet.yaml the line that names the fleet is read, if there is one.
func TestDamagedStatusNamesItsFleet(t *testing.T) {
	const head = "apiVersion: fairlead.dev/v1alpha1\nkind: FleetStatus\n"
	for content, want := range map[string]fleet.ID{
		head + "fleet: prod\napplied: 1\n":            "prod",
		head + "fleet: \"42\"\nphases: {\n":           "42",
		head + "fleet: prod\r\n<<<<<<< HEAD\r\n":      "prod",
		head + "fleet: prod\n=======\nfleet: other\n": "",
		head + "phases: {\nfleet: prod":               "", // it may be cut off
		head + "problems: {\n- fleet: prod\n":         "",
		"\x1f\x8b":                                    "",
	} {
		b := &branch{}
		begun(t, b, false)
		put(t, b, "fleet.yaml", content)
		if l := located(t, b); l.Fleet != want || l.Damage == nil || !l.Applied.IsZero() {
			t.Errorf("%q: %+v, want fleet %q", content, l, want)
		}
	}
}

// TestNothingOfOthersIsReplaced: a commit names, as status branch, one that has an escrow, or what another agent follows.
// The status stays, no fleet is claimed where definitions are, and all that is there stays.
func TestNothingOfOthersIsReplaced(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"an escrow":   {"escrow.yaml": "kind: Escrow\n", "clusters/prod/eu-1.age": "age", "secrets/prod/token.age": "age"},
		"definitions": {"fleet.yaml": "apiVersion: fairlead.dev/v1alpha1\nkind: Fleet\nmetadata: {name: staging}\n", "clusters/staging/eu/cluster.yaml": "kind: Cluster\n"},
	} {
		from, to := begunFor(t, "f"), &branch{}
		for p, content := range files {
			put(t, to, p, content)
		}
		if err := status.Move(t.Context(), from, to, "to"); !errors.Is(err, status.ErrStays) {
			t.Errorf("%s: the move ends with %v", name, err)
		}
		if _, err := status.NewArbiter(to).Claim(t.Context(), "a", "here"); name == "definitions" && fleet.KindOf(err) != fleet.Conflict {
			t.Errorf("%s: a claim ends with %v", name, err)
		}
		for p, content := range files {
			if now := contentOf(t, to, p); now != content {
				t.Errorf("%s: %s is %q", name, p, now)
			}
		}
	}
}

// TestUndecidedCopyCountsForNothing: a move that was not decided leaves a copy of the reports. The fleet begins without it if it is
// claimed there later. Reports of a branch where a process began stay, although somebody deleted its owner.
func TestUndecidedCopyCountsForNothing(t *testing.T) {
	const report = "clusters/prod/eu-1.yaml"
	from, to := begunFor(t, "f"), &branch{}
	put(t, from, report, "old")
	from.before = func() error { return fleet.Errorf(fleet.Exhausted, "push", "no space left on device") }
	if err := status.Move(t.Context(), from, to, "to"); !errors.Is(err, status.ErrUndecided) || contentOf(t, to, report) == "" {
		t.Fatalf("the move ends with %v, and the copy is %q", err, contentOf(t, to, report))
	}
	if _, err := status.NewArbiter(to).Claim(t.Context(), "a", "here"); err != nil || contentOf(t, to, report) != "" {
		t.Errorf("the claim ends with %v, and the report is %q", err, contentOf(t, to, report))
	}

	from.before = nil
	moved := &branch{}
	if err := status.Move(t.Context(), from, moved, "moved"); err != nil {
		t.Fatal(err)
	}
	put(t, moved, "owner.yaml", "")
	if _, err := status.NewArbiter(moved).Claim(t.Context(), "a", "here"); err != nil || contentOf(t, moved, report) != "old" {
		t.Errorf("the claim ends with %v, and the report is %q", err, contentOf(t, moved, report))
	}
}

// TestStatusStaysBeforeItBegan: the status is moved back to a branch that accepts no push any more, before a
// process began on the other one.
func TestStatusStaysBeforeItBegan(t *testing.T) {
	a, b := begunFor(t, "f"), &branch{}
	if err := status.Move(t.Context(), a, b, "b"); err != nil {
		t.Fatal(err)
	}
	a.before = func() error { return fleet.Errorf(fleet.Unauthorized, "push", "protected branch hook declined") }
	if err := status.Move(t.Context(), b, a, "a"); !errors.Is(err, status.ErrStays) {
		t.Errorf("it ends with %v", err)
	}
	if l := located(t, b); l.MovedTo != "" {
		t.Errorf("the branch with the status says %+v", l)
	}
}

// A choosy branch accepts no push with a file of a cluster.
type choosy struct {
	*branch

	why fleet.ErrorKind // empty: it accepts all
}

func (c *choosy) Commit(ctx context.Context, base fleet.Revision, commit sources.Commit) (fleet.Revision, error) {
	for p := range commit.Edits {
		if c.why != "" && strings.HasPrefix(p, "clusters/") {
			return fleet.Revision{}, fleet.Errorf(c.why, "push", "file %s is refused", p)
		}
	}
	return c.branch.Commit(ctx, base, commit)
}

// TestBranchThatRefusesTheStatus: a branch that accepts a push, and not the status, has nothing decided.
func TestBranchThatRefusesTheStatus(t *testing.T) {
	const gone, request = "clusters/prod/gone.yaml", "requests/prod/eu-1/suspend.yaml"
	from, to := begunFor(t, "f"), &choosy{branch: &branch{}}
	put(t, from, gone, "a report")
	put(t, from, request, "by a person")
	for _, why := range []fleet.ErrorKind{fleet.Unauthorized, fleet.Exhausted} {
		to.why = why
		if err := status.Move(t.Context(), from, to, "to"); !errors.Is(err, status.ErrStays) {
			t.Errorf("it ends with %v", err)
		}
		if l := located(t, from); l.MovedTo != "" {
			t.Errorf("the former branch says %+v", l)
		}
	}
	to.why = ""
	from.before = func() error { return fleet.Errorf(fleet.Unavailable, "push", "no answer") }
	if err := status.Move(t.Context(), from, to, "to"); err == nil {
		t.Error("it was moved without a word of the former branch")
	}
	if l := located(t, to.branch); l.Owner.Agent != "" || !l.Reserved || contentOf(t, to.branch, request) != "" {
		t.Errorf("before the move is decided the new branch says %+v", l)
	}
	from.before = nil
	put(t, from, gone, "")
	if err := status.Move(t.Context(), from, to, "to"); err != nil {
		t.Fatal(err)
	}
	if got := contentOf(t, to.branch, gone) + contentOf(t, to.branch, request); got != "by a person" {
		t.Errorf("after the move the new branch has %q", got)
	}
}

// TestMoveWithoutOwner: a process that was about to claim the fleet on a branch which Git does not name any more
// finds that the status is elsewhere. A branch where nobody can claim it is left alone.
func TestMoveWithoutOwner(t *testing.T) {
	from, to := &branch{}, &branch{}
	from.before = func() error { return fleet.Errorf(fleet.Unauthorized, "push", "protected branch hook declined") }
	elected := func() error { return nil }
	if err := status.Move(t.Context(), status.Guarded(from, elected), to, "to"); fleet.KindOf(err) != fleet.Unauthorized || errors.Is(err, status.ErrUnmarked) {
		t.Errorf("a branch that nobody can claim is left with %v", err)
	}
	from.before = nil
	if err := status.Move(t.Context(), from, to, "to"); err != nil {
		t.Fatal(err)
	}
	if _, err := status.NewArbiter(from).Claim(t.Context(), "me", ""); !errors.Is(err, status.ErrMoved) {
		t.Errorf("the former branch is claimed: %v", err)
	}
	if err := status.Move(t.Context(), to, from, "from"); err != nil {
		t.Fatal(err)
	}
	if l := located(t, from); l.MovedTo != "" || l.Arrived != 2 {
		t.Errorf("after the move back the branch says %+v", l)
	}
	if _, err := status.NewArbiter(from).Claim(t.Context(), "me", ""); err != nil {
		t.Error(err)
	}
}

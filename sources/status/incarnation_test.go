package status_test

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
	"fairlead.dev/sources/status"
)

const incarnationPath = "incarnation.yaml"

// begun returns an arbiter of a new process of agent a, and the owner with its number.
func begun(t *testing.T, b sources.Branch, verified bool) (*status.Arbiter, fleet.Owner) {
	t.Helper()
	a := status.NewArbiter(b)
	if verified {
		a = arbiterOf(b, "a")
	}
	owner, err := a.Claim(t.Context(), "a", "here")
	if err == nil {
		owner, _, err = a.Begin(t.Context(), owner)
	}
	if err != nil {
		t.Fatal(err)
	}
	return a, owner
}

// TestTwoProcesses: of two processes of one agent the earlier one reads that it does not act
// any more, and its writer writes nothing.
func TestTwoProcesses(t *testing.T) {
	for name, verified := range map[string]bool{"without keys": false, "with keys": true} {
		t.Run(name, func(t *testing.T) {
			b := &branch{}
			a, first := begun(t, b, verified)
			before := b.file(t, ownerPath)
			_, second := begun(t, b, verified)
			if first.Incarnation != 1 || second.Incarnation != 2 {
				t.Errorf("the processes are %d and %d", first.Incarnation, second.Incarnation)
			}
			if now, err := a.Owner(t.Context()); err != nil || now != second {
				t.Errorf("the first process reads %+v, %v", now, err)
			}
			if b.file(t, ownerPath) != before {
				t.Errorf("owner.yaml changed to\n%s\nwhich agents of earlier versions may not read", b.file(t, ownerPath))
			}
			w := status.NewWriter(b, status.Options{Owner: first, OwnerIn: a.In, Now: clock})
			w.Put(report(fleet.PhaseWorkers))
			if _, err := w.Flush(t.Context()); !errors.Is(err, status.ErrDeposed) {
				t.Errorf("the first process writes: %v", err)
			}
		})
	}
}

// TestSameNumber: a number comes back if the branch is deleted, damaged or put back to an earlier
// state before a process begins. The process that began before reads that another one acts.
func TestSameNumber(t *testing.T) {
	for name, harm := range map[string]func(t *testing.T, b *branch){
		"deleted":  func(_ *testing.T, b *branch) { b.log = nil },
		"put back": func(_ *testing.T, b *branch) { b.log = b.log[:len(b.log)-1] },
		"damaged":  func(t *testing.T, b *branch) { put(t, b, incarnationPath, "<<<<<<< HEAD\n") },
	} {
		for _, verified := range []bool{false, true} {
			b := &branch{}
			a, first := begun(t, b, verified)
			harm(t, b)
			_, second := begun(t, b, verified)
			if first.Incarnation != 1 || second.Incarnation != 1 {
				t.Errorf("%s: the processes are %d and %d", name, first.Incarnation, second.Incarnation)
			}
			w := status.NewWriter(b, status.Options{Owner: first, OwnerIn: a.In, Now: clock})
			w.Put(report(fleet.PhaseWorkers))
			if _, err := w.Flush(t.Context()); !errors.Is(err, status.ErrDeposed) || !strings.Contains(err.Error(), "another process of this agent with the same number 1 does") {
				t.Errorf("%s: the first process writes: %v", name, err)
			}
			if now, err := a.Owner(t.Context()); err != nil || now != second || now == first {
				t.Errorf("%s: the first process %+v reads %+v, %v", name, first, now, err)
			}
		}
	}
}

// TestUnknownProcess: earlier versions write no process, and nobody without a key changes it.
func TestUnknownProcess(t *testing.T) {
	const signature = "\nprocessSignature: "
	for name, c := range map[string]struct {
		verified bool
		change   func(file string) string
	}{
		"an earlier version": {false, func(string) string {
			return "apiVersion: fairlead.dev/v1alpha1\nkind: Incarnation\nnumber: 1\n"
		}},
		"taken out": {true, func(file string) string { return regexp.MustCompile("(?m)^process:.*$").ReplaceAllString(file, "") }},
		"forged": {true, func(file string) string {
			return regexp.MustCompile("(?m)^process:.*$").ReplaceAllString(file, "process: X")
		}},
		"unsigned": {true, func(file string) string { return strings.Replace(file, signature, "\nother: ", 1) }},
	} {
		b := &branch{}
		a, owner := begun(t, b, c.verified)
		before := b.file(t, incarnationPath)
		after := c.change(before)
		if c.verified && !strings.Contains(before, signature) || after == before {
			t.Fatalf("%s: nothing changed of\n%s", name, before)
		}
		put(t, b, incarnationPath, after)
		if now, err := a.Owner(t.Context()); err != nil || now != owner {
			t.Errorf("%s: the process %+v reads %+v, %v", name, owner, now, err)
		}
	}
}

// TestSignatureOfNumber: earlier versions verify the signature of a number without the process.
func TestSignatureOfNumber(t *testing.T) {
	b := &branch{}
	a := arbiterOf(b, "a")
	var signed []string
	a.Sign = func(content []byte) (string, error) {
		signed = append(signed, string(content))
		return key("a").sign(content)
	}
	owner, err := a.Claim(t.Context(), "a", "here")
	if err == nil {
		_, _, err = a.Begin(t.Context(), owner)
	}
	if err != nil {
		t.Fatal(err)
	}
	if want := "fairlead-incarnation\n" + `{"apiVersion":"fairlead.dev/v1alpha1","kind":"Incarnation","number":1}`; !slices.Contains(signed, want) {
		t.Errorf("signed is %q, not %q", signed, want)
	}
}

// TestBeginAlwaysPushes: a process that begins pushes, and once more only if the push that was not answered is not on the branch.
func TestBeginAlwaysPushes(t *testing.T) {
	b := &branch{}
	a := status.NewArbiter(b)
	owner, err := a.Claim(t.Context(), "a", "here")
	if err != nil {
		t.Fatal(err)
	}
	lost := false
	b.after = func() error {
		if lost {
			return nil
		}
		lost = true
		return fleet.Errorf(fleet.Unanswered, "commit", "connection reset")
	}
	if owner, _, err = a.Begin(t.Context(), owner); err != nil || owner.Incarnation != 1 {
		t.Errorf("the process is %+v, %v", owner, err)
	}
	if now, err := a.Owner(t.Context()); err != nil || now != owner {
		t.Errorf("it reads %+v, %v", now, err)
	}
	pushes := b.commits
	if owner, _, err = a.Begin(t.Context(), owner); err != nil || owner.Incarnation != 2 || b.commits == pushes {
		t.Errorf("it begins once more as %+v, %v", owner, err)
	}
}

// TestBeginWithoutAnswers: a server that carries out all pushes and loses each answer has one process begin, once.
func TestBeginWithoutAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &branch{}
		owner, err := status.NewArbiter(b).Claim(t.Context(), "a", "here")
		if err != nil {
			t.Fatal(err)
		}
		b.after = func() error { return fleet.Errorf(fleet.Unanswered, "push", "504 Gateway Timeout") }
		a := status.NewArbiter(b)
		began, _, err := a.Begin(t.Context(), owner)
		if now, unread := a.Owner(t.Context()); err != nil || unread != nil || now != began || began.Incarnation != 1 {
			t.Errorf("process %+v begins, and the branch says %+v: %v %v", began, now, err, unread)
		}
		other := status.NewArbiter(b)
		if next, _, err := other.Begin(t.Context(), owner); err != nil || next.Incarnation != 2 || next.Process == began.Process {
			t.Errorf("another process begins as %+v, %v", next, err)
		}
		if again, _, err := a.Begin(t.Context(), owner); err != nil || again.Incarnation != 3 {
			t.Errorf("the first one begins again as %+v, %v", again, err)
		}
	})
}

// TestHandOverOfAProcess: a hand-over keeps the process until the next owner begins, also if the
// answer to its push is lost.
func TestHandOverOfAProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, yields := range []bool{false, true} {
			b := &branch{}
			a, owner := begun(t, b, false)
			want := fleet.Owner{Agent: "b", Epoch: 2, Incarnation: owner.Incarnation, Process: owner.Process}
			ready := fleet.Succession{ID: "1", To: "b", Step: fleet.StepReady}
			if yields {
				if err := a.Succeed(t.Context(), owner, fleet.Succession{}, ready); err != nil {
					t.Fatal(err)
				}
			}
			lose(b)
			var got fleet.Owner
			var err error
			if yields {
				got, err = a.Yield(t.Context(), owner, ready)
			} else {
				got, err = a.HandOver(t.Context(), owner, "b", "")
			}
			if err != nil || got != want {
				t.Errorf("yields %v: the owner is %+v, %v, want %+v", yields, got, err, want)
			}
		}
	})
}

// TestForgedIncarnation: with keys only a trusted key says which process acts.
func TestForgedIncarnation(t *testing.T) {
	b := &branch{}
	a, owner := begun(t, b, true)
	put(t, b, incarnationPath, "apiVersion: fairlead.dev/v1alpha1\nkind: Incarnation\nnumber: 9\n")
	if now, err := a.Owner(t.Context()); !errors.Is(err, status.ErrDistrusted) {
		t.Errorf("it is believed: %+v, %v", now, err)
	}
	if err := a.Restore(t.Context(), owner); err != nil {
		t.Fatal(err)
	}
	if now, err := a.Owner(t.Context()); err != nil || now != owner {
		t.Errorf("restored it is %+v, %v", now, err)
	}
}

// TestOwnersOnlyGrow: without keys, too, an owner that is gone or older than before is not
// believed, and the owner writes itself again.
func TestOwnersOnlyGrow(t *testing.T) {
	b := &branch{}
	first, _ := begun(t, b, false)
	put(t, b, ownerPath, strings.Replace(b.file(t, ownerPath), "epoch: 1", "epoch: 3", 1))
	old := b.file(t, incarnationPath)
	a, owner := begun(t, b, false)
	if _, err := first.Owner(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, file := range map[string][2]string{
		"an earlier epoch":   {ownerPath, strings.Replace(b.file(t, ownerPath), "epoch: 3", "epoch: 2", 1)},
		"an earlier process": {incarnationPath, old},
		"no process":         {incarnationPath, ""},
		"no owner":           {ownerPath, ""},
		"rubbish":            {ownerPath, "{"},
	} {
		put(t, b, file[0], file[1])
		for _, arbiter := range []*status.Arbiter{a, first} {
			if now, err := arbiter.Owner(t.Context()); !errors.Is(err, status.ErrDistrusted) {
				t.Errorf("%s: the owner is %+v, %v", name, now, err)
			}
		}
		if now, err := first.Claim(t.Context(), "standby", ""); !errors.Is(err, status.ErrDistrusted) {
			t.Errorf("%s: an agent that saw the owner claims the fleet: %+v, %v", name, now, err)
		}
		if err := a.Restore(t.Context(), owner); err != nil {
			t.Fatal(err)
		}
		if now, err := a.Owner(t.Context()); err != nil || now != owner {
			t.Errorf("%s: restored it is %+v, %v", name, now, err)
		}
	}
}

// TestDeletedBranchIsWrittenAgain: the owner writes all files again that the branch had, with
// those that it wrote since it last read the branch.
func TestDeletedBranchIsWrittenAgain(t *testing.T) {
	b := &branch{}
	w := status.Watch(b)
	a, owner := begun(t, w, false)
	put(t, b, "requests/prod/eu-1/suspend.yaml", "by a person")
	if _, err := a.Owner(t.Context()); err != nil {
		t.Fatal(err)
	}
	put(t, w, "clusters/prod/eu-1.yaml", "written here")
	want := map[string]string{}
	for _, p := range []string{ownerPath, incarnationPath, "requests/prod/eu-1/suspend.yaml", "clusters/prod/eu-1.yaml"} {
		want[p] = b.file(t, p)
	}
	b.log = nil
	if _, err := a.Owner(t.Context()); !errors.Is(err, status.ErrDistrusted) {
		t.Errorf("a deleted branch is %v", err)
	}
	if err := a.Restore(t.Context(), owner); err != nil {
		t.Fatal(err)
	}
	for p, content := range want {
		if got := contentOf(t, b, p); got != content {
			t.Errorf("%s is %q, want %q", p, got, content)
		}
	}
	if len(b.log) != 1 {
		t.Errorf("it took %d commits", len(b.log))
	}
}

// TestBeginIsOfAPlace: an agent of the same name in another place does not begin for the owner.
func TestBeginIsOfAPlace(t *testing.T) {
	b := &branch{}
	a, owner := begun(t, b, false)
	commits := len(b.log)
	owner.Place = "there"
	if now, _, err := a.Begin(t.Context(), owner); fleet.KindOf(err) != fleet.Conflict || len(b.log) != commits {
		t.Errorf("it begins: %+v, %v", now, err)
	}
}

// TestMoveBesideAnotherFleet: the status of another fleet of the same owner is not overwritten.
func TestMoveBesideAnotherFleet(t *testing.T) {
	from, to := &branch{}, &branch{}
	for id, b := range map[fleet.ID]*branch{"f": from, "g": to} {
		if _, err := status.NewArbiter(b).Claim(t.Context(), "a", "here"); err != nil {
			t.Fatal(err)
		}
		put(t, b, "fleet.yaml", "apiVersion: fairlead.dev/v1alpha1\nkind: FleetStatus\nfleet: "+string(id)+"\n")
	}
	if err := status.Move(t.Context(), from, to, "to"); fleet.KindOf(err) != fleet.Conflict || !strings.Contains(err.Error(), `it has the status of fleet "g"`) {
		t.Errorf("it is overwritten: %v", err)
	}
}

// TestMove: a status that is moved is whole on the new branch, and the old one says where it
// is. A branch with the status of another fleet is not overwritten.
func TestMove(t *testing.T) {
	from, to := &branch{}, &branch{}
	_, owner := begun(t, from, false)
	saysFleet(t, from, "f")
	put(t, from, "requests/prod/eu-1/suspend.yaml", "by a person")
	for range 2 { // it can be repeated
		if err := status.Move(t.Context(), from, to, "fleet/state"); err != nil {
			t.Fatal(err)
		}
	}
	locate := func(b *branch) status.Location {
		t.Helper()
		_, tree, err := b.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		l, err := status.Locate(tree)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	if l := locate(from); l.MovedTo != "fleet/state" || l.Owner != owner {
		t.Errorf("the old branch says %+v", l)
	}
	if l := locate(to); l.MovedTo != "" || l.Owner != owner || to.file(t, "requests/prod/eu-1/suspend.yaml") != "by a person" {
		t.Errorf("the new branch says %+v", l)
	}
	// Back again: the branch gets what is there now, and nothing else.
	put(t, to, "requests/prod/eu-1/suspend.yaml", "by another person")
	put(t, from, "clusters/prod/old.yaml", "of before")
	if err := status.Move(t.Context(), to, from, "fairlead/status"); err != nil {
		t.Fatal(err)
	}
	if l := locate(from); l.MovedTo != "" || l.Owner != owner || from.file(t, "requests/prod/eu-1/suspend.yaml") != "by another person" {
		t.Errorf("the branch that has the status again says %+v", l)
	}
	if _, files := from.head(); files["clusters/prod/old.yaml"] != nil || files["moved.yaml"] != nil {
		t.Error("what was left of before is there")
	}
	if l := locate(to); l.MovedTo != "fairlead/status" {
		t.Errorf("the branch that has it no more says %+v", l)
	}
	other := &branch{}
	if _, err := status.NewArbiter(other).Claim(t.Context(), "b", ""); err != nil {
		t.Fatal(err)
	}
	if err := status.Move(t.Context(), from, other, "other"); fleet.KindOf(err) != fleet.Conflict {
		t.Errorf("another fleet's status is overwritten: %v", err)
	}
}

// TestMoveIsDecidedFirst: nothing of the status is on the new branch before the former one says where it
// goes. A move that ended in between is completed, also onto what is left of an earlier stay, and once only.
func TestMoveIsDecidedFirst(t *testing.T) {
	from, to := &branch{}, &branch{}
	a, owner := begun(t, from, false)
	put(t, from, "fleet.yaml", "apiVersion: fairlead.dev/v1alpha1\nkind: FleetStatus\nfleet: f\n")
	away := errors.New("cut off")
	to.before = func() error {
		if to.commits > 1 {
			return away
		}
		return nil
	}
	if err := status.Move(t.Context(), from, to, "fleet/state"); !errors.Is(err, away) {
		t.Fatalf("it ends with %v", err)
	}
	locate := func(b *branch) status.Location {
		_, files, _ := b.Read(t.Context())
		l, err := status.Locate(files)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	half, there := locate(from), locate(to)
	if half.MovedTo != "fleet/state" || half.Move != 1 || there.Owner != (fleet.Owner{}) || there.HasArrived(half) {
		t.Fatalf("half of a move leaves %+v and %+v", half, there)
	}
	if _, _, err := a.Begin(t.Context(), owner); !errors.Is(err, status.ErrMoved) {
		t.Errorf("a process begins by the former branch: %v", err)
	}
	if _, err := status.NewArbiter(from).Claim(t.Context(), "a", ""); !errors.Is(err, status.ErrMoved) {
		t.Errorf("an agent claims by the former branch: %v", err)
	}
	to.before = nil
	for range 2 {
		if err := status.Move(t.Context(), from, to, "fleet/state"); err != nil {
			t.Fatal(err)
		}
	}
	arrived := locate(to)
	if !arrived.HasArrived(half) || !arrived.IsAhead(half) || arrived.Owner != half.Owner {
		t.Errorf("the whole move leaves %+v", arrived)
	}
	// A late call does not overwrite what was written since, even if somebody deletes arrived.yaml.
	if _, _, err := status.NewArbiter(to).Begin(t.Context(), arrived.Owner); err != nil {
		t.Fatal(err)
	}
	put(t, to, "requests/prod/eu-1/suspend.yaml", "by a person")
	head, _ := to.head()
	if _, err := to.Commit(t.Context(), head, sources.Commit{Edits: map[string][]byte{"arrived.yaml": nil}}); err != nil {
		t.Fatal(err)
	}
	if err := status.Move(t.Context(), from, to, "fleet/state"); err != nil || to.file(t, "requests/prod/eu-1/suspend.yaml") != "by a person" {
		t.Errorf("a late call: %v", err)
	}
}

// TestMoveFromProtectedBranch: a branch that takes no push any more keeps no status. The number of the move
// says which one is the newer one.
func TestMoveFromProtectedBranch(t *testing.T) {
	from, to := &branch{}, &branch{}
	begun(t, from, false)
	saysFleet(t, from, "f")
	from.before = func() error { return fleet.Errorf(fleet.Unauthorized, "push", "protected branch hook declined") }
	if err := status.Move(t.Context(), from, to, "fleet/state"); fleet.KindOf(err) != fleet.Unauthorized || errors.Is(err, status.ErrUnmarked) {
		t.Errorf("without leader election it ends with %v: another process may act by the former branch", err)
	}
	err := status.Move(t.Context(), status.Guarded(from, func() error { return nil }), to, "fleet/state")
	_, former, _ := from.Read(t.Context())
	_, files, _ := to.Read(t.Context())
	was, errWas := status.Locate(former)
	now, errNow := status.Locate(files)
	if !errors.Is(err, status.ErrUnmarked) || errors.Join(errWas, errNow) != nil || now.Owner != was.Owner || !now.IsAhead(was) {
		t.Errorf("it ends with %v and leaves %+v and %+v: %v, %v", err, was, now, errWas, errNow)
	}
	// A branch to that takes no push has nothing decided.
	from.before, to = nil, &branch{before: func() error { return fleet.Errorf(fleet.Unauthorized, "push", "protected branch hook declined") }}
	if err := status.Move(t.Context(), from, to, "other"); fleet.KindOf(err) != fleet.Unauthorized || errors.Is(err, status.ErrUnmarked) {
		t.Errorf("a protected new branch: %v", err)
	}
	_, former, _ = from.Read(t.Context())
	if l, err := status.Locate(former); err != nil || l.MovedTo != "" {
		t.Errorf("the status is said to be moved to a branch that takes no push: %+v, %v", l, err)
	}
}

// TestMovedStatusEndsItsProcess: a process that goes on with the branch that the status was moved
// from reads that another one took it along.
func TestMovedStatusEndsItsProcess(t *testing.T) {
	from, to := &branch{}, &branch{}
	a, owner := begun(t, from, false)
	saysFleet(t, from, "f")
	if err := status.Move(t.Context(), from, to, "fleet/state"); err != nil {
		t.Fatal(err)
	}
	now, _, err := a.Succession(t.Context())
	if err != nil || now.Incarnation <= owner.Incarnation {
		t.Errorf("the former branch says %+v of %+v: %v", now, owner, err)
	}
}

// TestNumbersCountUnsigned: the number of a process is above each in the file, so that an agent that
// gets keys ends the one that has none.
func TestNumbersCountUnsigned(t *testing.T) {
	b := &branch{}
	without, owner := begun(t, b, false)
	for range 3 {
		var err error
		if owner, _, err = without.Begin(t.Context(), owner); err != nil {
			t.Fatal(err)
		}
	}
	with := status.NewArbiter(b)
	with.Sign = func([]byte) (string, error) { return "signed", nil }
	with.Verify = func(_ []byte, signature string) (string, error) {
		if signature != "signed" {
			return "", errors.New("not signed")
		}
		return "me", nil
	}
	signed, err := with.Claim(t.Context(), owner.Agent, owner.Place)
	if err != nil {
		t.Fatal(err)
	}
	begun, _, err := with.Begin(t.Context(), signed)
	if err != nil || begun.Incarnation <= owner.Incarnation {
		t.Errorf("the process with keys is %+v, after %+v: %v", begun, owner, err)
	}
	if _, _, err := without.Begin(t.Context(), begun); fleet.KindOf(err) != fleet.Invalid {
		t.Errorf("a process without a key acts for a signed owner: %v", err)
	}
}

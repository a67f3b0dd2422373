// Package claimstest is the suite that a claims.Store passes.
//
//	claimstest.Run(t, claimstest.Options{
//		New:    func(t testing.TB) claims.Store { … },
//		Things: []string{"h0", "h1"},
//	})
package claimstest

import (
	"fmt"
	"maps"
	"sync"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/claims"
)

// Options say how to reach a store.
type Options struct {
	// New returns a store in which nothing is claimed.
	New func(t testing.TB) claims.Store
	// Things are two that it has.
	Things []string
	// Foreign has a thing be claimed by something else than Fairlead.
	Foreign func(t testing.TB, thing string)
	// Settle is how long a change may take to show.
	Settle time.Duration
}

// A Check is one test of the suite.
type Check struct {
	Name string
	Run  func(t testing.TB, o Options)
}

// Run runs the suite as subtests of t.
func Run(t *testing.T, o Options) {
	for _, c := range Checks() {
		t.Run(c.Name, func(t *testing.T) { c.Run(t, o) })
	}
}

// Checks returns the tests of the suite.
func Checks() []Check {
	return []Check{
		{"OneOfManyWins", oneWins},
		{"TheSameAgain", sameAgain},
		{"OthersStay", othersStay},
		{"ReleasedIsFree", releasedIsFree},
		{"ForeignStays", foreignStays},
	}
}

// claimOf is one of a machine of a fleet.
func claimOf(id int) claims.Claim {
	return claims.Claim{ID: fmt.Sprintf("%016x", id), Tags: map[string]string{
		fleet.TagFleet: "claimstest", fleet.TagCluster: "prod/eu-1", fleet.TagMachine: fmt.Sprintf("m-%d", id), fleet.TagRole: string(fleet.RoleWorker),
		fleet.TagPool: "md-0", fleet.TagTemplate: "1-abc", fleet.TagVersion: "v1.34.1",
	}}
}

func wantKind(t testing.TB, what string, err error, kind fleet.ErrorKind) {
	t.Helper()
	if err == nil || fleet.KindOf(err) != kind {
		t.Errorf("%s = %v, want kind %s", what, err, kind)
	}
}

func good(t testing.TB, what string, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s = %v, want no error", what, err)
	}
}

// await waits until the claims are as good says.
func await(t testing.TB, o Options, s claims.Store, what string, good func(map[string]claims.Claim) bool) {
	t.Helper()
	const rounds = 100
	var got map[string]claims.Claim
	for range rounds {
		var err error
		if got, err = s.Claims(t.Context()); err != nil {
			t.Fatal(err)
		}
		if good(got) {
			return
		}
		timer := time.NewTimer(max(o.Settle/10, time.Millisecond))
		<-timer.C
	}
	t.Errorf("claims %v, want %s", got, what)
}

// oneWins: of those that claim a thing at one time one gets it, and the others get an error.
func oneWins(t testing.TB, o Options) {
	s := o.New(t)
	const racers = 6
	errs := make([]error, racers)
	var wg sync.WaitGroup
	for i := range racers {
		wg.Go(func() { errs[i] = s.Claim(t.Context(), o.Things[0], claimOf(i)) })
	}
	wg.Wait()
	winner := -1
	for i, err := range errs {
		switch {
		case err == nil && winner >= 0:
			t.Errorf("%d and %d both have the thing", winner, i)
		case err == nil:
			winner = i
		default:
			wantKind(t, "Claim by one that lost", err, fleet.Conflict)
		}
	}
	if winner < 0 {
		t.Fatalf("nobody has the thing: %v", errs)
	}
	want := claimOf(winner)
	await(t, o, s, "that of the winner", func(got map[string]claims.Claim) bool {
		c := got[o.Things[0]]
		return len(got) == 1 && c.ID == want.ID && maps.Equal(c.Tags, want.Tags)
	})
}

// sameAgain: a claim that is repeated, as after an answer that was lost, is the same.
func sameAgain(t testing.TB, o Options) {
	s := o.New(t)
	for range 2 {
		good(t, "Claim", s.Claim(t.Context(), o.Things[0], claimOf(1)))
	}
	await(t, o, s, "one", func(got map[string]claims.Claim) bool { return len(got) == 1 })
}

// othersStay: what another one has is not taken, and not released.
func othersStay(t testing.TB, o Options) {
	s := o.New(t)
	good(t, "Claim", s.Claim(t.Context(), o.Things[0], claimOf(1)))
	wantKind(t, "Claim of what another one has", s.Claim(t.Context(), o.Things[0], claimOf(2)), fleet.Conflict)
	good(t, "Release of what another one has", s.Release(t.Context(), o.Things[0], claimOf(2).ID))
	good(t, "Claim of another thing", s.Claim(t.Context(), o.Things[1], claimOf(2)))
	await(t, o, s, "each its own", func(got map[string]claims.Claim) bool {
		return got[o.Things[0]].ID == claimOf(1).ID && got[o.Things[1]].ID == claimOf(2).ID
	})
}

// releasedIsFree: what is released is anybody's in time.
func releasedIsFree(t testing.TB, o Options) {
	s := o.New(t)
	good(t, "Claim", s.Claim(t.Context(), o.Things[0], claimOf(1)))
	for range 2 {
		good(t, "Release", s.Release(t.Context(), o.Things[0], claimOf(1).ID))
		await(t, o, s, "none", func(got map[string]claims.Claim) bool { return len(got) == 0 })
	}
	good(t, "Claim of what is free again", s.Claim(t.Context(), o.Things[0], claimOf(2)))
}

// foreignStays: what something else has is neither free nor Fairlead's.
func foreignStays(t testing.TB, o Options) {
	s := o.New(t)
	if o.Foreign == nil {
		t.Fatal("the hook Foreign is nil: what is claimed by something else has to be told from what is free")
	}
	o.Foreign(t, o.Things[0])
	wantKind(t, "Claim of what something else has", s.Claim(t.Context(), o.Things[0], claimOf(1)), fleet.Conflict)
	good(t, "Release of what something else has", s.Release(t.Context(), o.Things[0], claimOf(1).ID))
	await(t, o, s, "one without an id", func(got map[string]claims.Claim) bool {
		c, there := got[o.Things[0]]
		return there && c.ID == ""
	})
}

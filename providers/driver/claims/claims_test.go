package claims_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/claims"
	"fairlead.dev/providers/driver/claims/claimstest"
)

// A memory is a store in memory. Its faults are those that the suite is to notice.
type memory struct {
	mu      sync.Mutex
	claimed map[string]claims.Claim

	overwrites, refusesItself, releasesAny bool
}

func (m *memory) Claims(context.Context) (map[string]claims.Claim, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make(map[string]claims.Claim)
	for k, v := range m.claimed {
		out[k] = v
	}
	return out, nil
}

func (m *memory) Claim(_ context.Context, thing string, c claims.Claim) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if is, ok := m.claimed[thing]; ok && (is.ID != c.ID || m.refusesItself) && !m.overwrites {
		return fleet.Errorf(fleet.Conflict, "claim "+thing, "somebody has it")
	}
	m.claimed[thing] = c
	return nil
}

func (m *memory) Release(_ context.Context, thing, id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.claimed[thing].ID == id || m.releasesAny {
		delete(m.claimed, thing)
	}
	return nil
}

// options are for the memory that is made last.
func options(fault func(*memory)) claimstest.Options {
	var last *memory
	return claimstest.Options{
		Things: []string{"h0", "h1"},
		New: func(testing.TB) claims.Store {
			last = &memory{claimed: make(map[string]claims.Claim)}
			fault(last)
			return last
		},
		Foreign: func(_ testing.TB, thing string) { last.claimed[thing] = claims.Claim{} },
	}
}

func TestStore(t *testing.T) { claimstest.Run(t, options(func(*memory) {})) }

// A failing is a test that is expected to fail, and does so alone.
type failing struct {
	testing.TB
	failed bool
}

func (f *failing) Helper()               {}
func (f *failing) Errorf(string, ...any) { f.failed = true }
func (f *failing) Fatalf(string, ...any) { f.failed = true; panic(f) }

// TestEveryCheckHasAMutant: a check that nothing fails proves nothing.
func TestEveryCheckHasAMutant(t *testing.T) {
	for check, fault := range map[string]func(*memory){
		"OneOfManyWins":  func(m *memory) { m.overwrites = true },
		"TheSameAgain":   func(m *memory) { m.refusesItself = true },
		"OthersStay":     func(m *memory) { m.releasesAny = true },
		"ReleasedIsFree": func(m *memory) { m.refusesItself, m.claimed = true, map[string]claims.Claim{"h1": {ID: "stays"}} },
		"ForeignStays":   func(m *memory) { m.overwrites = true },
	} {
		i := slices.IndexFunc(claimstest.Checks(), func(c claimstest.Check) bool { return c.Name == check })
		f := &failing{TB: t}
		func() {
			defer func() {
				if v := recover(); v != nil && v != any(f) {
					panic(v)
				}
			}()
			claimstest.Checks()[i].Run(f, options(fault))
		}()
		if !f.failed {
			t.Errorf("%s does not notice its mutant", check)
		}
	}
	if len(claimstest.Checks()) != 5 {
		t.Error("there is a check without a mutant")
	}
}

func TestFirst(t *testing.T) {
	name := func(s string) string { return "host " + s }
	lost := errors.New("no answer")
	for reason, tc := range map[string]struct {
		things  []string
		claimed bool
		why     string
		err     error
	}{
		"the first that can be had": {[]string{"busy", "free", "never tried"}, true, "host busy is busy", nil},
		"none":                      {[]string{"busy", "busy", "busy", "busy"}, false, "host busy is busy; host busy is busy; and 2 more", nil},
		"nobody knows":              {[]string{"busy", "lost", "never tried"}, false, "host busy is busy", lost},
		"there is nothing":          {nil, false, "", nil},
	} {
		t.Run(reason, func(t *testing.T) {
			claimed, why, err := claims.First(tc.things, name, func(s string) (string, error) {
				switch s {
				case "busy":
					return "is busy", nil
				case "lost":
					return "", lost
				case "never tried":
					t.Error("one is tried after the end")
				}
				return "", nil
			})
			if claimed != tc.claimed || claims.Why(why, 2) != tc.why || !errors.Is(err, tc.err) {
				t.Errorf("%v, %q, %v, want %v, %q, %v", claimed, claims.Why(why, 2), err, tc.claimed, tc.why, tc.err)
			}
		})
	}
}

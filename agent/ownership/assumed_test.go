package ownership_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/agent/ownership"
	"fairlead.dev/fleet"
	"fairlead.dev/sources"
	"fairlead.dev/sources/dir"
	"fairlead.dev/sources/status"
)

// A refusing branch can be read, and accepts no push as long as it has an error.
type refusing struct {
	sources.Branch

	err   error
	hangs bool // pushes are not answered
	lands bool // pushes are carried out, and err is the answer
}

func (r *refusing) Commit(ctx context.Context, base fleet.Revision, c sources.Commit) (fleet.Revision, error) {
	if r.hangs {
		<-ctx.Done()
		return fleet.Revision{}, fleet.Errorf(fleet.Unanswered, "commit", "no answer")
	}
	if r.err != nil && r.lands {
		if _, err := r.Branch.Commit(ctx, base, c); err != nil {
			return fleet.Revision{}, err
		}
	}
	if r.err != nil {
		return fleet.Revision{}, r.err
	}
	return r.Branch.Commit(ctx, base, c)
}

func inFolder(t *testing.T) *refusing {
	t.Helper()
	f, err := dir.New(dir.Options{Path: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	return &refusing{Branch: f.Branch()}
}

// starts starts a process of agent me on b, and returns its claim, and whether it owns the fleet
// within that time.
func starts(t *testing.T, b sources.Branch, o ownership.Options, within time.Duration) (*ownership.Claim, bool) {
	t.Helper()
	o.Self, o.Interval = "me", time.Minute
	c := ownership.New(o, ownership.Parts{
		Place:   func(context.Context) (string, error) { return "here", nil },
		Metrics: unseen{}, Ready: func(string) {}, Log: slog.New(slog.DiscardHandler),
	})
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	owned, err := c.Acquire(ctx, ownership.Branch{Arbiter: status.NewArbiter(b), Read: func(context.Context) (status.Status, error) { return status.Status{}, nil }})
	if err != nil {
		t.Fatal(err)
	}
	return c, owned
}

// TestStartWithoutPush: the owner that starts while the server can be read and accepts no push acts
// after some minutes, tells so, and writes that it acts when it can. A process that began before
// ends then.
func TestStartWithoutPush(t *testing.T) {
	leads := ownership.Options{Guard: func() error { return nil }}
	for name, c := range map[string]struct {
		b    refusing
		o    ownership.Options
		acts bool
	}{
		"in maintenance":              {b: refusing{err: fleet.Errorf(fleet.Unavailable, "commit", "read-only")}, acts: true},
		"not answered":                {b: refusing{hangs: true}, acts: true},
		"disk full":                   {b: refusing{err: fleet.Errorf(fleet.Exhausted, "commit", "no space left on device")}, acts: true},
		"for no known reason":         {b: refusing{err: fleet.Errorf(fleet.Unknown, "commit", "the key is not authorized to write")}},
		"the same, and it leads":      {b: refusing{err: fleet.Errorf(fleet.Unknown, "commit", "the key is not authorized to write")}, o: leads, acts: true},
		"no right":                    {b: refusing{err: fleet.Errorf(fleet.Unauthorized, "commit", "denied")}},
		"no right, and it leads":      {b: refusing{err: fleet.Errorf(fleet.Unauthorized, "commit", "denied")}, o: leads, acts: true},
		"what it writes is not right": {b: refusing{err: fleet.Errorf(fleet.Invalid, "commit", "a bad file")}, o: leads},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := inFolder(t)
				former, _ := starts(t, b, ownership.Options{}, time.Minute)
				b.err, b.hangs = c.b.err, c.b.hangs
				if _, owned := starts(t, b, c.o, 4*time.Minute); owned {
					t.Error("it acts at once")
				}
				began := time.Now()
				claim, owned := starts(t, b, c.o, time.Hour)
				if owned != c.acts {
					t.Fatalf("after an hour it acts: %v", owned)
				}
				if !owned {
					return
				}
				if took := time.Since(began); took > 10*time.Minute {
					t.Errorf("care stops for %s", took)
				}
				if err := claim.Check(t.Context(), written); err != nil {
					t.Errorf("it ends: %v", err)
				}
				if p, _ := claim.Problem(); !strings.Contains(p.Message, `the status branch can be read and accepts no push: since `) || !strings.Contains(p.Message, `another process of agent "me" would not know of it`) {
					t.Errorf("told is %+v", p)
				}
				if err := former.Check(t.Context(), written); err != nil {
					t.Errorf("the former process ends: %v", err)
				}
				b.err, b.hangs = nil, false
				if err := claim.Check(t.Context(), written); err != nil {
					t.Errorf("it ends: %v", err)
				}
				if p, told := claim.Problem(); told {
					t.Errorf("told is still %+v", p)
				}
				if err := former.Check(t.Context(), written); err == nil {
					t.Error("two processes act")
				}
			})
		})
	}
}

// TestStartWithoutAnswers: a process whose pushes are carried out, and whose answers are lost, acts at once, and a process that
// began before ends.
func TestStartWithoutAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := inFolder(t)
		former, _ := starts(t, b, ownership.Options{}, time.Minute)
		b.err, b.lands = fleet.Errorf(fleet.Unanswered, "commit", "504 Gateway Timeout"), true
		claim, owned := starts(t, b, ownership.Options{}, 2*time.Minute)
		if !owned {
			t.Fatal("it does not act")
		}
		for range 3 {
			time.Sleep(time.Minute)
			if err := claim.Check(t.Context(), written); err != nil {
				t.Errorf("it ends: %v", err)
			}
		}
		if err := former.Check(t.Context(), written); err == nil {
			t.Error("two processes act")
		}
	})
}

// TestNoStartBesideAnother: a process that nothing can be pushed for does not act while others begin.
func TestNoStartBesideAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := inFolder(t)
		starts(t, b, ownership.Options{}, time.Minute)
		refused := &refusing{Branch: b.Branch, err: fleet.Errorf(fleet.Unavailable, "commit", "read-only")}
		done := make(chan bool)
		go func() {
			_, owned := starts(t, refused, ownership.Options{}, 20*time.Minute)
			done <- owned
		}()
		for range 10 {
			time.Sleep(2 * time.Minute)
			starts(t, b, ownership.Options{}, time.Minute)
		}
		if <-done {
			t.Error("it acts beside processes that began meanwhile")
		}
	})
}

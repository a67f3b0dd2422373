package ownership

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"fairlead.dev/fleet"
	"fairlead.dev/sources/status"
)

// viewer is a Looker with prepared answers.
type viewer struct {
	mu     sync.Mutex
	looks  []string
	failed map[fleet.Key]bool
	hangs  map[fleet.Key]bool // does not answer
}

func (v *viewer) Look(ctx context.Context, c *fleet.Cluster) (fleet.Observed, error) {
	v.mu.Lock()
	v.looks = append(v.looks, c.Key.String())
	failed, hangs := v.failed[c.Key], v.hangs[c.Key]
	v.mu.Unlock()
	if hangs {
		<-ctx.Done()
		return fleet.Observed{}, ctx.Err()
	}
	if failed {
		return fleet.Observed{}, errors.New("no cloud")
	}
	return fleet.Observed{}, nil
}

func (v *viewer) looked() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	out := v.looks
	v.looks = nil
	slices.Sort(out)
	return out
}

// TestRehearsalGoesOn: after an error a rehearsal goes on with what is left. A cluster that
// does not answer delays no other one. Another succession begins a new rehearsal.
func TestRehearsalGoesOn(t *testing.T) {
	key := func(name string) fleet.Key { return fleet.Key{Namespace: "prod", Name: name} }
	expect := func(reason string, got []string, want ...string) {
		t.Helper()
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", reason, got, want)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		v := &viewer{failed: map[fleet.Key]bool{key("a"): true}, hangs: map[fleet.Key]bool{key("b"): true}}
		opened := 0
		r := rehearsal{
			newest: func(context.Context) (fleet.Fleet, error) {
				return fleet.Fleet{
					Revision: fleet.Revision{Ref: "main", Digest: "sha1:1"},
					Clusters: []fleet.Cluster{{Key: key("a")}, {Key: key("b")}, {Key: key("c")}},
				}, nil
			},
			read: func(context.Context) (status.Status, error) { return status.Status{}, nil },
			open: func() Looker { opened++; return v },
		}
		next := fleet.Succession{ID: "1", To: "me", Step: fleet.StepMoved}
		if err := r.run(t.Context(), next); err == nil || err.Error() != "no cloud" {
			t.Errorf("the error is %v", err)
		}
		expect("all are looked at", v.looked(), "prod/a", "prod/b", "prod/c")
		v.failed, v.hangs = nil, nil
		if err := r.run(t.Context(), next); err != nil {
			t.Error(err)
		}
		expect("what was seen is not looked at again", v.looked(), "prod/a", "prod/b")
		if err := r.run(t.Context(), fleet.Succession{ID: "2", To: "me", Step: fleet.StepMoved}); err != nil {
			t.Error(err)
		}
		expect("another succession is another one", v.looked(), "prod/a", "prod/b", "prod/c")
		if opened != 2 {
			t.Errorf("%d lookers were opened, one for each succession is needed", opened)
		}
	})
}

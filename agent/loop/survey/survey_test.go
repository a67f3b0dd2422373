package survey_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/agent/loop/survey"
	"fairlead.dev/fleet"
	"fairlead.dev/providers"
)

var key = fleet.Key{Namespace: "prod", Name: "eu-1"}

// A cloud lists clusters, or hangs until it is given up.
type cloud struct {
	providers.Infrastructure
	mu      sync.Mutex
	hangs   bool
	asked   int
	watches int
}

// Abilities implements providers.Infrastructure.
func (c *cloud) Abilities() providers.Abilities { return providers.Abilities{Watcher: c, Lister: c} }

func (c *cloud) Clusters(ctx context.Context, _ fleet.ID) ([]fleet.Key, error) {
	c.mu.Lock()
	hangs := c.hangs
	c.asked++
	c.mu.Unlock()
	if hangs {
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}
	return []fleet.Key{key}, nil
}

func (c *cloud) Watch(_ context.Context, changed func(fleet.Key)) error {
	c.mu.Lock()
	c.watches++
	c.mu.Unlock()
	changed(key)
	return errors.New("it ended")
}

// TestSurvey: a cloud that does not answer is given up after two minutes and asked again
// after one, and nothing is taken for what it says meanwhile.
func TestSurvey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &cloud{}
		var found [][]fleet.Key
		var changed int
		s := survey.New(survey.Parts{
			Providers: func() []string { return []string{"cloud"} }, Fleet: func() fleet.ID { return "f" },
			Infrastructure: func(string) (providers.Infrastructure, error) { return c, nil },
			Found:          func(_ string, keys []fleet.Key) { found = append(found, keys) },
			Changed:        func(fleet.Key) { changed++ },
			Log:            slog.New(slog.DiscardHandler),
		})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- s.Run(ctx) }()
		look := func(after time.Duration, asked, answers int) {
			t.Helper()
			time.Sleep(after)
			synctest.Wait()
			if c.asked != asked || len(found) != answers {
				t.Errorf("asked %d times, %d answers, want %d and %d", c.asked, len(found), asked, answers)
			}
		}
		look(time.Hour, 0, 0)
		s.Again()
		look(0, 1, 1)
		c.mu.Lock()
		c.hangs = true
		c.mu.Unlock()
		s.Again()
		look(2*time.Minute+30*time.Second, 2, 1)
		look(time.Minute, 3, 1)
		if diff := cmp.Diff([][]fleet.Key{{key}}, found); diff != "" {
			t.Errorf("found (-want +got)\n%s", diff)
		}
		if c.watches < 3 || c.watches > 10 || changed != c.watches {
			t.Errorf("a watch that ends was begun %d times, and told %d changes", c.watches, changed)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// half is a cloud of two places, of which one does not answer now.
type half struct {
	providers.Infrastructure
	keys []fleet.Key
	err  error
}

// Abilities implements providers.Infrastructure.
func (h *half) Abilities() providers.Abilities { return providers.Abilities{Lister: h} }

func (h *half) Clusters(context.Context, fleet.ID) ([]fleet.Key, error) { return h.keys, h.err }

// TestPartOfAnAnswer: if one place does not answer, the clusters of the others are told, and those
// that were known are not forgotten.
func TestPartOfAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		other := fleet.Key{Namespace: "prod", Name: "eu-2"}
		h := &half{keys: []fleet.Key{key}}
		var found []fleet.Key
		s := survey.New(survey.Parts{
			Providers: func() []string { return []string{"cloud"} }, Fleet: func() fleet.ID { return "f" },
			Infrastructure: func(string) (providers.Infrastructure, error) { return h, nil },
			Found:          func(_ string, keys []fleet.Key) { found = keys },
			Log:            slog.New(slog.DiscardHandler),
		})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- s.Run(ctx) }()
		for _, step := range []struct {
			keys []fleet.Key
			err  error
			want []fleet.Key
		}{
			{[]fleet.Key{key}, nil, []fleet.Key{key}},
			{[]fleet.Key{other}, errors.New("a place is silent"), []fleet.Key{other, key}},
			{nil, errors.New("all are silent"), []fleet.Key{other, key}},
			{[]fleet.Key{other}, nil, []fleet.Key{other}},
		} {
			h.keys, h.err = step.keys, step.err
			s.Again()
			synctest.Wait()
			if d := cmp.Diff(step.want, found); d != "" {
				t.Errorf("%v, %v: -want +got: %s", step.keys, step.err, d)
			}
		}
		cancel()
		<-done
	})
}

// Package survey asks providers which clusters they have with tags of the fleet, beside
// the polls: a cloud that does not answer holds up nothing but the answer about itself.
// It has providers that can tell when machines change do so.
//
//	s := survey.New(survey.Parts{Providers: used, Found: found, …})
//	go s.Run(ctx)
//	s.Again() // after each new revision
package survey

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"fairlead.dev/agent/loop/backoff"
	"fairlead.dev/fleet"
	"fairlead.dev/providers"
)

const (
	// deadline bounds one listing of the clusters that a provider has.
	deadline = 2 * time.Minute
	// retryAfter is when a provider that could not be asked is asked again.
	retryAfter = time.Minute
)

// Parts are what a Survey is put together from. All are required.
type Parts struct {
	// Providers returns the names of the providers in use, and Fleet whose clusters are
	// asked for.
	Providers func() []string
	Fleet     func() fleet.ID
	// Infrastructure returns the provider of that name.
	Infrastructure func(name string) (providers.Infrastructure, error)
	// Found takes which clusters a provider has, and Changed one whose machines changed.
	Found   func(provider string, clusters []fleet.Key)
	Changed func(fleet.Key)
	Log     *slog.Logger
}

// A Survey asks the providers of one fleet.
type Survey struct {
	p     Parts
	again chan struct{} // holds one where providers are to be asked
	asked sync.WaitGroup
}

// New returns a survey that has made no request yet.
func New(p Parts) *Survey { return &Survey{p: p, again: make(chan struct{}, 1)} }

// Again has all providers in use asked. It does not wait.
func (s *Survey) Again() { signal(s.again) }

func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Run asks until ctx ends, and waits for the providers that are being asked. Each has a
// goroutine of its own.
func (s *Survey) Run(ctx context.Context) error {
	defer s.asked.Wait()
	asked := make(map[string]chan struct{})
	for {
		select {
		case <-s.again:
		case <-ctx.Done():
			return nil
		}
		for _, name := range s.p.Providers() {
			again, ok := asked[name]
			if !ok {
				again = make(chan struct{}, 1)
				asked[name] = again
				s.asked.Go(func() { s.ask(ctx, name, again) })
			}
			signal(again)
		}
	}
}

// ask asks the provider called name whenever again says so, and watches its machines.
func (s *Survey) ask(ctx context.Context, name string, again <-chan struct{}) {
	watched := false
	var known []fleet.Key
	var retry <-chan time.Time
	for {
		select {
		case <-again:
		case <-retry:
		case <-ctx.Done():
			return
		}
		retry = nil
		infra, err := s.p.Infrastructure(name)
		if err != nil {
			retry = time.After(retryAfter) // the passes over its clusters report it
			continue
		}
		can := providers.AbilitiesOf(infra)
		if w := can.Watcher; w != nil && !watched {
			watched = true
			s.asked.Go(func() { s.watch(ctx, name, w) })
		}
		if can.Lister == nil {
			continue
		}
		known, err = s.list(ctx, name, can.Lister, known)
		if err != nil && ctx.Err() == nil {
			s.p.Log.Warn("cannot list clusters for orphans, keeping the last result", "provider", name, "error", err)
			retry = time.After(retryAfter)
		}
	}
}

// list finds out which clusters of the fleet the provider called name has, after those that are known.
// If a place of it does not answer, what the others have is added, and nothing is forgotten.
func (s *Survey) list(ctx context.Context, name string, lister providers.Lister, known []fleet.Key) ([]fleet.Key, error) {
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	keys, err := lister.Clusters(ctx, s.p.Fleet())
	if err != nil && len(keys) == 0 {
		return known, err
	}
	if err != nil {
		for _, k := range known {
			if !slices.Contains(keys, k) {
				keys = append(keys, k)
			}
		}
	}
	s.p.Found(name, keys)
	return keys, err
}

// watch has the provider called name tell when machines change.
func (s *Survey) watch(ctx context.Context, name string, w providers.Watcher) {
	failures := backoff.New(time.Second, time.Minute)
	for ctx.Err() == nil {
		started := time.Now()
		err := w.Watch(ctx, s.p.Changed)
		if ctx.Err() != nil {
			return
		}
		if time.Since(started) > time.Minute {
			failures = backoff.New(time.Second, time.Minute)
		}
		wait := failures.Step()
		s.p.Log.Warn("watch of machines ended, restarting", "provider", name, "error", err, "after", wait)
		backoff.Sleep(ctx, wait)
	}
}

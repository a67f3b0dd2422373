package agent

import (
	"context"
	"time"

	"fairlead.dev/agent/backoff"
	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/reconcile/rollout"
)

const (
	// surveyDeadline bounds one listing of the clusters that a provider has.
	surveyDeadline = 2 * time.Minute
	// surveyAgain is when a provider that could not be surveyed is asked again.
	surveyAgain = time.Minute
)

// surveys looks at what each provider in use has of the fleet, beside the polls: a
// cloud that does not answer holds up nothing but the answer about itself. Each
// provider is asked by one goroutine, after each new revision.
func (a *Agent) surveys(ctx context.Context) error {
	asked := make(map[string]chan struct{})
	for {
		select {
		case <-a.survey:
		case <-ctx.Done():
			return nil
		}
		for _, name := range a.targets.now().Providers() {
			again, ok := asked[name]
			if !ok {
				again = make(chan struct{}, 1)
				asked[name] = again
				a.watches.Go(func() { a.surveyed(ctx, name, again) })
			}
			poke(again)
		}
	}
}

// surveyed surveys the provider called name whenever again says so, and has it
// tell when machines change.
func (a *Agent) surveyed(ctx context.Context, name string, again <-chan struct{}) {
	watched := false
	var retry <-chan time.Time
	for {
		select {
		case <-again:
		case <-retry:
		case <-ctx.Done():
			return
		}
		retry = nil
		infra, err := a.p.Infrastructure(name)
		if err != nil {
			retry = time.After(surveyAgain) // the passes over its clusters report it
			continue
		}
		can := providers.AbilitiesOf(infra)
		if w := can.Watcher; w != nil && !watched {
			watched = true
			a.watches.Go(func() { a.follows(ctx, name, w) })
		}
		if can.Lister == nil {
			continue
		}
		if err := a.list(ctx, name, can.Lister); err != nil && ctx.Err() == nil {
			a.p.Log.Warn("cannot list clusters for orphans, keeping what is known", "provider", name, "error", err)
			retry = time.After(surveyAgain)
		}
	}
}

// list takes in which clusters of the fleet the provider called name has.
func (a *Agent) list(ctx context.Context, name string, lister providers.Lister) error {
	ctx, cancel := context.WithTimeout(ctx, surveyDeadline)
	defer cancel()
	keys, err := lister.Clusters(ctx, a.targets.now().ID())
	if err != nil {
		return err
	}
	a.decide(rollout.Input{Tagged: map[string][]fleet.Key{name: keys}}, a.queue.AddBulk)
	return nil
}

func (a *Agent) follows(ctx context.Context, name string, w providers.Watcher) {
	for wait := time.Second; ctx.Err() == nil; wait = min(2*wait, time.Minute) {
		started := time.Now()
		err := w.Watch(ctx, a.queue.Add)
		if ctx.Err() != nil {
			return
		}
		if time.Since(started) > time.Minute {
			wait = time.Second
		}
		a.p.Log.Warn("the watch of machines ended, beginning again", "provider", name, "error", err, "after", wait)
		backoff.Sleep(ctx, wait)
	}
}

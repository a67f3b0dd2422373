package snapshot

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"fairlead.dev/fleet"
)

// The rhythm of a Watch.
const (
	idleTicks   = 3         // between two looks at a place in which nothing is on its way
	failures    = 3         // looks in a row that fail before clusters are notified: a cloud may fail now and then
	forgetAfter = time.Hour // how long a cluster is watched after the last look at it
)

// A Watch reports clusters whose observed state changed. It observes the places P that this
// process uses. It is safe for concurrent use.
type Watch[P comparable] struct {
	mu       sync.Mutex
	clusters map[Owner]used[P]
}

// used is when a cluster was observed, and its places.
type used[P comparable] struct {
	at     time.Time
	places []P
}

// A View is the observed state of a place.
type View struct {
	Prints map[Owner]string // equal for a cluster of which nothing changed
	Busy   bool             // something is on its way: the next look comes soon
}

// NewWatch returns a Watch of no cluster.
func NewWatch[P comparable]() *Watch[P] { return &Watch[P]{clusters: make(map[Owner]used[P])} }

// Looked records that o was observed in places, and is in no others.
func (w *Watch[P]) Looked(o Owner, places []P) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.clusters[o] = used[P]{time.Now(), slices.Clone(places)}
}

// Places returns the places of clusters, each once, in no order.
func (w *Watch[P]) Places() []P {
	w.mu.Lock()
	defer w.mu.Unlock()
	maps.DeleteFunc(w.clusters, func(_ Owner, u used[P]) bool { return time.Since(u.at) > forgetAfter })
	var out []P
	for _, u := range w.clusters {
		for _, p := range u.places {
			if !slices.Contains(out, p) {
				out = append(out, p)
			}
		}
	}
	return out
}

// In returns the clusters that are in p.
func (w *Watch[P]) In(p P) map[Owner]bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := make(map[Owner]bool)
	for o, u := range w.clusters {
		if slices.Contains(u.places, p) {
			out[o] = true
		}
	}
	return out
}

// Run calls changed for clusters whose observed state changed, and for all clusters of a place
// that can no longer be observed, until ctx ends. It observes each place once a tick while a
// change is pending there, otherwise seldom. A place that does not answer delays no other.
func (w *Watch[P]) Run(ctx context.Context, tick time.Duration, look func(context.Context, P) (View, error), changed func(fleet.Key)) error {
	var running sync.WaitGroup
	defer running.Wait()
	stops := make(map[P]context.CancelFunc)
	defer func() {
		for _, stop := range stops {
			stop()
		}
	}()
	for {
		places := w.Places()
		maps.DeleteFunc(stops, func(p P, stop context.CancelFunc) bool {
			unused := !slices.Contains(places, p)
			if unused {
				stop()
			}
			return unused
		})
		for _, p := range places {
			if stops[p] != nil {
				continue
			}
			within, stop := context.WithCancel(ctx)
			stops[p] = stop
			running.Go(func() { w.follow(within, p, tick, look, changed) })
		}
		if !sleep(ctx, tick) {
			return ctx.Err()
		}
	}
}

// follow observes p repeatedly until ctx ends.
func (w *Watch[P]) follow(ctx context.Context, p P, tick time.Duration, look func(context.Context, P) (View, error), changed func(fleet.Key)) {
	var last map[Owner]string // nil: p was not seen yet
	failed := 0
	for {
		began, rest := time.Now(), tick
		switch now, err := look(ctx, p); {
		case ctx.Err() != nil:
			return
		case err != nil:
			if failed++; failed == failures {
				for o := range w.In(p) {
					changed(o.Cluster)
				}
			}
		default:
			if last != nil && !now.Busy {
				rest = idleTicks * tick
			}
			w.compare(p, last, now.Prints, changed)
			last, failed = now.Prints, 0
		}
		if !sleep(ctx, rest-time.Since(began)) {
			return
		}
	}
}

// compare calls changed for the clusters in p whose observed state changed.
func (w *Watch[P]) compare(p P, last, now map[Owner]string, changed func(fleet.Key)) {
	if last == nil {
		return
	}
	for o := range w.In(p) {
		if last[o] != now[o] {
			changed(o.Cluster)
		}
	}
}

// sleep waits for a time, and reports false if ctx ended before.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

package cloud

import (
	"context"
	"maps"
	"sync"
	"time"

	"fairlead.dev/fleet"
)

// A shelf keeps the newest snapshot, and has at most one made at a time.
type shelf struct {
	mu       *sync.Mutex
	latest   *Snapshot
	flight   *flight
	seq      uint64           // counts changes
	changes  map[Owner]uint64 // the last change: of a machine, or of what machines share
	latestOf map[Owner]uint64 // the last change of anything of a cluster
}

// A flight is a look that is under way.
type flight struct {
	seq  uint64
	done chan struct{}
	got  *Snapshot
	err  error
}

func newShelf() shelf {
	return shelf{mu: new(sync.Mutex), changes: make(map[Owner]uint64), latestOf: make(map[Owner]uint64)}
}

func (s *shelf) changed(o Owner) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seq++
	s.changes[o] = s.seq
	s.latestOf[o.Shared()] = s.seq
}

// needed is the change that a snapshot for o must have seen: of a cluster any,
// of a machine its own and those of what all machines share.
func (s *shelf) needed(o Owner) uint64 {
	if o.Machine == "" {
		return s.latestOf[o]
	}
	return max(s.changes[o], s.changes[o.Shared()])
}

// get returns a snapshot that is good enough for o.
func (s *shelf) get(ctx context.Context, tick time.Duration, o Owner, look func(context.Context, uint64) (*Snapshot, error)) (*Snapshot, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, fleet.Errorf(fleet.Unavailable, "list what is in the project", "%w", err)
		}
		got, f := s.shareOrStart(ctx, tick, o, look)
		if got != nil {
			return got, nil
		}
		select {
		case <-f.done:
		case <-ctx.Done():
			return nil, fleet.Errorf(fleet.Unavailable, "list what is in the project", "%w", ctx.Err())
		}
		if good, err := s.take(f, o); good {
			return f.got, err
		}
	}
}

// shareOrStart returns a snapshot that is good for o, or a flight to wait for:
// one that will be good, or one that has to land before the next can start.
func (s *shelf) shareOrStart(ctx context.Context, tick time.Duration, o Owner, look func(context.Context, uint64) (*Snapshot, error)) (*Snapshot, *flight) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.latest; l != nil && l.seq >= s.needed(o) && time.Since(l.Began) <= tick {
		return l, nil
	}
	if s.flight != nil {
		return nil, s.flight
	}
	f := &flight{seq: s.seq, done: make(chan struct{})}
	s.flight = f
	// The look goes on when the first that asked for it gives up: others wait.
	// Each request in it is bounded.
	look = s.landed(f, look)
	go func() { _, _ = look(context.WithoutCancel(ctx), f.seq) }()
	return nil, f
}

func (s *shelf) landed(f *flight, look func(context.Context, uint64) (*Snapshot, error)) func(context.Context, uint64) (*Snapshot, error) {
	return func(ctx context.Context, seq uint64) (*Snapshot, error) {
		got, err := look(ctx, seq)
		s.mu.Lock()
		defer s.mu.Unlock()
		f.got, f.err, s.flight = got, err, nil
		if err == nil {
			s.latest = got
			old := func(_ Owner, seq uint64) bool { return seq <= f.seq } // every snapshot from now on has seen it
			maps.DeleteFunc(s.changes, old)
			maps.DeleteFunc(s.latestOf, old)
		}
		close(f.done)
		return got, err
	}
}

// take reports whether f was good for o: begun after o's last change.
func (s *shelf) take(f *flight, o Owner) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return f.seq >= s.needed(o), f.err
}

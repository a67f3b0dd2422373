package git

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"fairlead.dev/fleet"
)

// sharedFor is how long the refs of a poll are shared: in one tick an agent reads the
// fleet's branch once, and the status branch for the owner, the requests and the numbers of
// machines.
const sharedFor = time.Second

// A lister is a remote that remembers the refs of a poll for a moment. It is safe for
// concurrent use.
type lister struct {
	remote

	mu     sync.Mutex
	at     time.Time
	known  *listing
	pushes int             // pushes that began or ended: a list asked for before one is not kept
	wanted map[string]bool // prefixes of the refs that are asked for

	old atomic.Bool // the server offers version 2 and does not speak it
}

// want adds prefixes of full names of refs to ask for.
func (l *lister) want(prefixes ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.wanted == nil {
		l.wanted = make(map[string]bool)
	}
	for _, p := range prefixes {
		l.wanted[p] = true
	}
	l.known = nil
}

// poll asks the server for the wanted refs, and keeps the answer for a moment.
func (l *lister) poll(ctx context.Context) (listing, error) {
	l.mu.Lock()
	asked, pushes, wanted := time.Now(), l.pushes, len(l.wanted)
	l.mu.Unlock()
	ar, err := l.askWanted(ctx)
	if err != nil {
		return listing{}, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.pushes == pushes && len(l.wanted) == wanted {
		l.at, l.known = asked, &ar
	}
	return ar, nil
}

// next returns the refs of a poll a moment before, or asks the server.
func (l *lister) next(ctx context.Context) (listing, error) {
	l.mu.Lock()
	known := l.known
	if time.Since(l.at) > sharedFor {
		known = nil
	}
	l.mu.Unlock()
	if known != nil {
		return *known, nil
	}
	return l.askWanted(ctx)
}

// askWanted asks the server for the wanted refs. The answer may have more.
func (l *lister) askWanted(ctx context.Context) (listing, error) {
	l.mu.Lock()
	prefixes := slices.Sorted(maps.Keys(l.wanted))
	l.mu.Unlock()
	return l.ask(ctx, prefixes)
}

// all asks the server for all refs.
func (l *lister) all(ctx context.Context) (listing, error) { return l.ask(ctx, nil) }

// ask asks the server for refs, in version 0 where the server turned out to know no other.
func (l *lister) ask(ctx context.Context, prefixes []string) (listing, error) {
	var failed error // the error in version 2
	if !l.old.Load() {
		ar, err := l.list(ctx, prefixes)
		if !is[*version2Error](err) || !worthAnother(ctx, err) {
			if err == nil {
				err = usesSHA1(ar.AdvRefs)
			}
			return ar, sha256Error(err)
		}
		failed = err
	}
	s, err := l.open(ctx, uploadPack)
	if err != nil {
		return listing{}, err
	}
	defer s.close()
	ar, err := refs(ctx, s)
	switch {
	case failed == nil:
	case err != nil && !isEmpty(err):
		return listing{}, failed
	default:
		l.old.Store(true)
	}
	return listing{AdvRefs: ar}, err
}

// worthAnother reports whether a request that failed in version 2 may succeed in version 0:
// the server answered, and not with an error that both versions share.
func worthAnother(ctx context.Context, err error) bool {
	kind := fleet.KindOf(classify(ctx, "list", err))
	return ctx.Err() == nil && (kind == fleet.Unknown || kind == fleet.NotFound)
}

// outdated drops the refs of a poll, since the server has newer ones.
func (l *lister) outdated() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.known = nil
}

// forget drops the refs, since a push changed them or found them changed.
func (l *lister) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.known = nil
	l.pushes++
}

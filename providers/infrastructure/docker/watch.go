package docker

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver"
	"fairlead.dev/providers/driver/snapshot"
)

// longestQuiet is how long events are trusted: a daemon may lose one.
const longestQuiet = 5 * time.Minute

// Watch implements providers.Watcher. While user data is carried out or images are pulled, which is no event, and
// while the daemon sends no events, containers are listed once in a while. Otherwise they are listed after an event.
func (p *Provider) Watch(ctx context.Context, changed func(fleet.Key)) error {
	w := &watcher{p: p}
	ctx, stop := context.WithCancel(ctx)
	var following sync.WaitGroup
	defer following.Wait()
	defer stop()
	following.Go(func() { w.follow(ctx) })
	return p.watch.Run(ctx, p.o.Tick, w.look, changed)
}

// A watcher waits for the events of a daemon.
type watcher struct {
	p    *Provider
	told atomic.Bool // events arrive
	idle atomic.Bool // nothing that is no event was pending in the last listing
}

// follow receives events until ctx ends.
func (w *watcher) follow(ctx context.Context) {
	for ctx.Err() == nil {
		opened := func() {
			w.told.Store(true)
			w.changed()
		}
		err := w.p.client.Events(ctx, fleet.TagFleet, opened, w.changed)
		w.told.Store(false)
		w.changed()
		if ctx.Err() == nil {
			w.p.o.Log.Debug("listing containers since the daemon sends no events", "error", err)
		}
		wait(ctx, nil, w.p.o.Tick)
	}
}

// changed has the next look list containers again.
func (w *watcher) changed() {
	w.p.listings.Changed(snapshot.Owner{})
	w.p.wakeUp()
}

// wakeUp ends a wait for events.
func (p *Provider) wakeUp() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// wait returns after d, or before when ctx ends or something is received.
func wait(ctx context.Context, wake <-chan struct{}, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-wake:
	case <-t.C:
	case <-ctx.Done():
	}
}

// look returns what there is now, once there may be something new.
func (w *watcher) look(ctx context.Context, _ string) (snapshot.View, error) {
	if w.told.Load() && w.idle.Load() {
		wait(ctx, w.p.wake, longestQuiet)
	}
	l, err := w.p.listings.Get(ctx, snapshot.Owner{})
	if err != nil {
		return snapshot.View{}, err
	}
	out := snapshot.View{Prints: make(map[snapshot.Owner]string)}
	for i := range l.containers {
		x := &l.containers[i]
		if o, ok := driver.OwnerOf(x.Labels); ok {
			r, ended := w.p.ended.Of(x.ID)
			out.Busy = out.Busy || !ended && x.Labels[labelPart] == ""
			out.Prints[o] += fmt.Sprintln(x.ID, x.State, r.words, x.Addresses(), x.Labels)
		}
	}
	w.p.see(ctx, &out)
	w.idle.Store(!out.Busy)
	return out, nil
}

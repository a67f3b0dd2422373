package docker_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/docker/dockertest"
)

// TestWatchByEvents: a change is known at once, and without changes nothing is asked. A daemon that sends no events
// is asked instead.
func TestWatchByEvents(t *testing.T) {
	for name, events := range map[string]bool{"events": true, "no events": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLife(t)
				l.until(true)
				l.observe()
				if !events {
					l.d.Inject(dockertest.Fault{Path: "/events", Status: 500})
				}
				var changes, lists atomic.Int32
				l.d.Watch(func(c dockertest.Call) {
					if c.Path == "/containers/json" {
						lists.Add(1)
					}
				})
				ctx, stop := context.WithCancel(t.Context())
				var watching sync.WaitGroup
				defer watching.Wait()
				defer stop()
				watching.Go(func() { _ = l.p.Watch(ctx, func(fleet.Key) { changes.Add(1) }) })
				time.Sleep(time.Minute)
				lists.Store(0)
				ours := l.d.Containers()[0].ID
				l.d.Add("theirs") // a container of somebody else
				time.Sleep(time.Minute)
				if n := lists.Load(); events && n > 0 || !events && n < 100 {
					t.Errorf("containers were listed %d times in a minute without changes", n)
				}
				for _, hungUp := range []bool{false, true} {
					if hungUp {
						l.d.HangUp()
						time.Sleep(10 * tick)
					}
					changes.Store(0)
					l.d.Change(ours, func(c *dockertest.Container) { c.State = "paused" })
					time.Sleep(5 * tick)
					if changes.Load() == 0 {
						t.Errorf("a container that changed is not noticed (hung up before: %t)", hungUp)
					}
					l.d.Change(ours, func(c *dockertest.Container) { c.State = "running" })
					time.Sleep(5 * tick)
				}
			})
		})
	}
}

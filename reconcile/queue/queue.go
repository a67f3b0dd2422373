// Package queue hands clusters to workers: one cluster, one worker. Adding a
// cluster that already waits changes nothing; adding one that is being worked
// on makes it come again when that work is done.
//
// There are two lanes. What is under way goes first, so that a fleet of a
// thousand new clusters comes up one after another and not all at the end; the
// other lane still gets a share.
//
// The waiting and the de-duplication are client-go's work queue; this package
// gives it the lanes, and workers that end with their context.
package queue

import (
	"context"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"

	"fairlead.dev/fleet"
)

// A Queue holds the keys of clusters that are to be looked at.
type Queue struct {
	q     workqueue.TypedDelayingInterface[fleet.Key]
	lanes *lanes
}

// New returns an empty queue that tells m how long clusters wait and passes
// last; nil: no metrics.
func New(m workqueue.MetricsProvider) *Queue {
	l := &lanes{bulk: make(map[fleet.Key]bool)}
	name := "clusters"
	if m == nil {
		name = "" // a work queue without a name counts nothing
	}
	return &Queue{
		lanes: l,
		q: workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[fleet.Key]{
			Queue: workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[fleet.Key]{Name: name, Queue: l, MetricsProvider: m}),
		}),
	}
}

// Add makes k ready at once.
func (q *Queue) Add(k fleet.Key) { q.q.Add(k) }

// AddBulk makes k ready behind what Add and AddAfter brought: for the clusters
// of a new revision.
func (q *Queue) AddBulk(k fleet.Key) {
	q.lanes.mark(k)
	q.q.Add(k)
}

// AddAfter makes k ready after d, or earlier where it was already to be.
func (q *Queue) AddAfter(k fleet.Key, d time.Duration) { q.q.AddAfter(k, d) }

// Len returns how many clusters are ready and not yet taken by a worker.
func (q *Queue) Len() int { return q.q.Len() }

// Run calls work for each key with so many workers, until ctx ends and the
// calls under way have returned. A queue runs once.
func (q *Queue) Run(ctx context.Context, workers int, work func(context.Context, fleet.Key)) {
	stop := context.AfterFunc(ctx, q.q.ShutDown)
	defer stop()
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for {
				k, shutdown := q.q.Get()
				if shutdown {
					return
				}
				if ctx.Err() == nil {
					work(ctx, k)
				}
				q.q.Done(k)
			}
		})
	}
	wg.Wait()
}

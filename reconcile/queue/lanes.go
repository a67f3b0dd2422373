package queue

import (
	"sync"

	"k8s.io/client-go/util/workqueue"

	"fairlead.dev/fleet"
)

// lanes is the order of a work queue: first in, first out in each of two lanes.
// The slow lane has its turn when the fast one is empty, and every few keys
// anyway: clusters that always wait for something must not keep a push from
// the others. The work queue calls it with its own lock held, and never pushes
// a key that is in it.
type lanes struct {
	mu   sync.Mutex
	bulk map[fleet.Key]bool // keys whose next Push goes to the slow lane
	fast []fleet.Key
	slow []fleet.Key
	run  int // keys in a row from the fast lane
}

// turn is how many keys of the fast lane go before one of the slow lane.
const turn = 4

var _ workqueue.Queue[fleet.Key] = (*lanes)(nil)

// mark sends the next Push of k to the slow lane.
func (l *lanes) mark(k fleet.Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.bulk[k] = true
}

// Touch is called when a key that waits is added again.
func (l *lanes) Touch(k fleet.Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.bulk, k)
}

// Push implements workqueue.Queue.
func (l *lanes) Push(k fleet.Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.bulk[k] {
		delete(l.bulk, k)
		l.slow = append(l.slow, k)
		return
	}
	l.fast = append(l.fast, k)
}

// Len implements workqueue.Queue.
func (l *lanes) Len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.fast) + len(l.slow)
}

// Pop implements workqueue.Queue.
func (l *lanes) Pop() fleet.Key {
	l.mu.Lock()
	defer l.mu.Unlock()
	lane := &l.fast
	l.run++
	if len(l.fast) == 0 || (len(l.slow) > 0 && l.run > turn) {
		lane, l.run = &l.slow, 0
	}
	k := (*lane)[0]
	*lane = (*lane)[1:]
	return k
}

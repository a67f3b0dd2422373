package machine

import (
	"sync"
	"time"

	"fairlead.dev/providers/infrastructure/openstack/cloud"
)

// A Keeper makes and removes servers, one thing at a time for each machine, and
// remembers which servers it saw. It is safe for concurrent use.
type Keeper struct {
	settle time.Duration

	floating sync.Mutex // held while a floating IP is chosen

	mu    sync.Mutex
	busy  map[cloud.Owner]bool
	first map[cloud.Owner]time.Time // when parts without a server were first seen
	had   map[cloud.Owner]bool      // had a server, so that parts without one are leftovers
}

// NewKeeper returns a Keeper for a cloud that shows every change after settle.
func NewKeeper(settle time.Duration) *Keeper {
	return &Keeper{
		settle: settle, busy: make(map[cloud.Owner]bool),
		first: make(map[cloud.Owner]time.Time), had: make(map[cloud.Owner]bool),
	}
}

// begin takes a machine for the caller, or reports that somebody has it.
func (k *Keeper) begin(o cloud.Owner) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.busy[o] {
		return false
	}
	k.busy[o] = true
	return true
}

func (k *Keeper) end(o cloud.Owner) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.busy, o)
}

// expect forgets what was known of an earlier machine of that name.
func (k *Keeper) expect(o cloud.Owner) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.had, o)
	delete(k.first, o)
}

// gone notes that the servers of o were asked to go.
func (k *Keeper) gone(o cloud.Owner) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.had[o] = true
}

// judge sorts the parts that the machines of cluster o have without a server
// into those that may still get theirs and those that are left over. now is when
// the look began.
func (k *Keeper) judge(o cloud.Owner, without map[cloud.Owner]*parts, with map[cloud.Owner]bool, now time.Time) (awaited, left map[cloud.Owner]*parts) {
	k.mu.Lock()
	defer k.mu.Unlock()
	awaited, left = make(map[cloud.Owner]*parts), make(map[cloud.Owner]*parts)
	for m := range k.first {
		if m.Shared() == o && without[m] == nil {
			delete(k.first, m)
		}
	}
	for m := range k.had {
		if m.Shared() == o && without[m] == nil && !with[m] {
			delete(k.had, m)
		}
	}
	for m := range with {
		k.had[m] = true
	}
	for m, p := range without {
		if _, ok := k.first[m]; !ok {
			k.first[m] = now
		}
		if k.busy[m] || !k.lapsed(m, now) {
			awaited[m] = p
		} else {
			left[m] = p
		}
	}
	return awaited, left
}

// lapsed reports whether no server is to be awaited for the parts of m.
func (k *Keeper) lapsed(m cloud.Owner, now time.Time) bool {
	first, seen := k.first[m]
	return k.had[m] || seen && now.Sub(first) >= k.settle
}

func (k *Keeper) isLeft(m cloud.Owner, now time.Time) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.lapsed(m, now)
}

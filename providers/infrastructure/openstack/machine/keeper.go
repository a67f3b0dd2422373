package machine

import (
	"maps"
	"slices"
	"sync"
	"time"

	"fairlead.dev/providers/infrastructure/openstack/cloud"
	"fairlead.dev/providers/snapshot"
)

// A Keeper makes and removes servers, one thing at a time for each machine, and
// remembers which servers it saw. It is safe for concurrent use.
type Keeper struct {
	settle time.Duration

	mu    sync.Mutex
	busy  map[at]bool
	first map[at]time.Time // when parts without a server were first seen
	had   map[at]bool      // had a server, so that parts without one are leftovers
	asked map[string]at    // servers, by id, that were asked to go
	left  map[string]bool  // servers, by id, that Nova does not let go before their time
}

// at is a machine in a project.
type at struct {
	project *cloud.Project
	machine snapshot.Owner
}

// NewKeeper returns a Keeper for a cloud that shows every change after settle.
func NewKeeper(settle time.Duration) *Keeper {
	return &Keeper{
		settle: settle, busy: make(map[at]bool), first: make(map[at]time.Time), had: make(map[at]bool),
		asked: make(map[string]at), left: make(map[string]bool),
	}
}

// begin takes a machine for the caller, or reports that somebody has it.
func (k *Keeper) begin(m at) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.busy[m] {
		return false
	}
	k.busy[m] = true
	return true
}

func (k *Keeper) end(m at) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.busy, m)
}

// Only forgets what is known of machines of o in other projects than those, as of
// a credential that was rotated away.
func (k *Keeper) Only(o snapshot.Owner, projects []*cloud.Project) {
	k.mu.Lock()
	defer k.mu.Unlock()
	elsewhere := func(m at) bool { return m.machine.Shared() == o && !slices.Contains(projects, m.project) }
	maps.DeleteFunc(k.first, func(m at, _ time.Time) bool { return elsewhere(m) })
	maps.DeleteFunc(k.had, func(m at, _ bool) bool { return elsewhere(m) })
	maps.DeleteFunc(k.asked, func(_ string, m at) bool { return elsewhere(m) })
}

// expect forgets what was known of an earlier machine of that name.
func (k *Keeper) expect(m at) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.had, m)
	delete(k.first, m)
}

// gone notes that the servers of m were asked to go, the one with id now.
func (k *Keeper) gone(m at, id string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.had[m] = true
	if id != "" {
		k.asked[id] = m
	}
}

// leave notes that Nova does not let the server with id go before its time.
func (k *Keeper) leave(id string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.left[id] = true
}

// purges reports whether a server that Nova keeps is to be asked to go for good:
// this process asked for its deletion, or the whole cluster goes. One that somebody
// else deleted may be restored.
func (k *Keeper) purges(id string, all bool) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	_, asked := k.asked[id]
	return (asked || all) && !k.left[id]
}

// bury forgets the servers of cluster o in p that s has no more.
func (k *Keeper) bury(p *cloud.Project, o snapshot.Owner, s *cloud.Snapshot) {
	k.mu.Lock()
	defer k.mu.Unlock()
	maps.DeleteFunc(k.asked, func(id string, m at) bool {
		gone := m.project == p && m.machine.Shared() == o && s.Servers.Get(id) == nil
		if gone {
			delete(k.left, id)
		}
		return gone
	})
}

// judge sorts the parts that the machines of cluster o have without a server
// into those that may still get theirs and those that are left over. Between the
// two are those of a machine that the plan knows to be missing by now: it may be
// created again, and takes them. now is when the look began.
func (k *Keeper) judge(p *cloud.Project, o snapshot.Owner, without map[snapshot.Owner]*parts, with map[snapshot.Owner]bool, now time.Time) (awaited, left map[snapshot.Owner]*parts) {
	k.mu.Lock()
	defer k.mu.Unlock()
	awaited, left = make(map[snapshot.Owner]*parts), make(map[snapshot.Owner]*parts)
	here := func(m at) bool { return m.project == p && m.machine.Shared() == o && without[m.machine] == nil }
	maps.DeleteFunc(k.first, func(m at, _ time.Time) bool { return here(m) })
	maps.DeleteFunc(k.had, func(m at, _ bool) bool { return here(m) && !with[m.machine] })
	for owner := range with {
		k.had[at{p, owner}] = true
	}
	for owner, all := range without {
		m := at{p, owner}
		if _, ok := k.first[m]; !ok {
			k.first[m] = now
		}
		switch {
		case k.busy[m] || !k.lapsed(m, now, k.settle):
			awaited[owner] = all
		case k.lapsed(m, now, 2*k.settle):
			left[owner] = all
		}
	}
	return awaited, left
}

// lapsed reports whether the parts of m never get a server, or got none for d.
func (k *Keeper) lapsed(m at, now time.Time, d time.Duration) bool {
	first, seen := k.first[m]
	return k.had[m] || seen && now.Sub(first) >= d
}

func (k *Keeper) isLeft(m at, now time.Time) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.lapsed(m, now, 2*k.settle)
}

package machine

import (
	"slices"
	"time"

	"fairlead.dev/providers/driver"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/infrastructure/openstack/cloud"
)

// A Keeper makes and removes servers. It remembers which machines had a server: parts without one
// are left over then, and otherwise may still get theirs. It is safe for concurrent use.
type Keeper struct {
	settle time.Duration
	busy   *driver.Locks[snapshot.Owner] // machines that something is done to

	firstSeen driver.Memory[machineID, time.Time] // when parts without a server were first seen
	hadServer driver.Memory[machineID, bool]      // a server was seen: parts without one are leftovers
	deleting  driver.Memory[string, machineID]    // servers, by id, whose deletion was asked for
	retained  driver.Memory[string, bool]         // servers, by id, that Nova does not delete before their time
}

// machineID is a machine in a project.
type machineID struct {
	project *cloud.Project
	machine snapshot.Owner
}

// NewKeeper returns a Keeper for a cloud that shows every change after settle. busy locks machines that
// something is done to: the caller of Create, Delete or DeleteParts has the lock.
func NewKeeper(settle time.Duration, busy *driver.Locks[snapshot.Owner]) *Keeper {
	return &Keeper{settle: settle, busy: busy}
}

// Forget drops what is known of machines of o in other projects than projects, such as
// that of a credential that was rotated away.
func (k *Keeper) Forget(o snapshot.Owner, projects []*cloud.Project) {
	elsewhere := func(m machineID) bool { return m.machine.Shared() == o && !slices.Contains(projects, m.project) }
	k.firstSeen.ForgetIf(func(m machineID, _ time.Time) bool { return elsewhere(m) })
	k.hadServer.ForgetIf(func(m machineID, _ bool) bool { return elsewhere(m) })
	k.deleting.ForgetIf(func(_ string, m machineID) bool { return elsewhere(m) })
}

// forget drops what is known of an earlier machine of that name.
func (k *Keeper) forget(m machineID) {
	k.hadServer.Forget(m)
	k.firstSeen.Forget(m)
}

// noteDeletion notes that the deletion of m was asked for; id is that of its server, or
// empty.
func (k *Keeper) noteDeletion(m machineID, id string) {
	k.hadServer.Note(m, true)
	if id != "" {
		k.deleting.Note(id, m)
	}
}

// mayPurge reports whether a server that Nova keeps after its deletion is to be deleted
// permanently: this process asked for the deletion, or the whole cluster goes (all). One
// that somebody else deleted may be restored.
func (k *Keeper) mayPurge(id string, all bool) bool {
	return (all || k.deleting.Has(id)) && !k.retained.Has(id)
}

// forgetGone drops the servers of cluster o in p that s does not have any more.
func (k *Keeper) forgetGone(p *cloud.Project, o snapshot.Owner, s *cloud.Snapshot) {
	k.deleting.ForgetIf(func(id string, m machineID) bool {
		gone := m.project == p && m.machine.Shared() == o && s.Servers.Get(id) == nil
		if gone {
			k.retained.Forget(id)
		}
		return gone
	})
}

// classifyParts sorts the parts that machines of cluster o have without a server.
// Awaited parts are younger than the settle window: their server may still appear. Left parts are
// orphans. Parts between both are kept for the planner's next create. now is when the observation
// began.
func (k *Keeper) classifyParts(p *cloud.Project, o snapshot.Owner, without map[snapshot.Owner]*parts, with map[snapshot.Owner]bool, now time.Time) (awaited, left map[snapshot.Owner]*parts) {
	awaited, left = make(map[snapshot.Owner]*parts), make(map[snapshot.Owner]*parts)
	here := func(m machineID) bool { return m.project == p && m.machine.Shared() == o && without[m.machine] == nil }
	k.firstSeen.ForgetIf(func(m machineID, _ time.Time) bool { return here(m) })
	k.hadServer.ForgetIf(func(m machineID, _ bool) bool { return here(m) && !with[m.machine] })
	for owner := range with {
		k.hadServer.Note(machineID{p, owner}, true)
	}
	for owner, all := range without {
		m := machineID{p, owner}
		k.firstSeen.NoteFirst(m, now)
		switch {
		case k.busy.Locked(owner) || !k.overdue(m, now, k.settle):
			awaited[owner] = all
		case k.overdue(m, now, 2*k.settle):
			left[owner] = all
		}
	}
	return awaited, left
}

// overdue reports whether the parts of m get no server any more, or got none for d.
func (k *Keeper) overdue(m machineID, now time.Time, d time.Duration) bool {
	first, seen := k.firstSeen.Of(m)
	return k.hadServer.Has(m) || seen && now.Sub(first) >= d
}

func (k *Keeper) isLeftover(m machineID, now time.Time) bool { return k.overdue(m, now, 2*k.settle) }

package simulation

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/inmemory"
)

// A turn is one pass over one cluster.
type turn struct {
	cluster *fleet.Cluster // as it was wished for
	began   time.Time
	clock   time.Time // of the agent, then
	away    bool      // the credentials lead elsewhere
}

// A judgement looks at one change, against what is true at the moment it is made.
type judgement struct {
	life *life
	in   *incarnation
	what string
	tags map[string]string
	key  fleet.Key
	turn turn
	at   time.Time // when it was asked for
}

// judge returns what is to judge a change, which the agent asks for now, of
// something with those tags.
func (in *incarnation) judge(what string, tags map[string]string) *judgement {
	k, _ := fleet.ParseKey(tags[fleet.TagCluster])
	in.mu.Lock()
	defer in.mu.Unlock()
	return &judgement{life: in.life, in: in, what: what, tags: tags, key: k, turn: in.turns[k], at: time.Now()}
}

func (in *incarnation) tags(k fleet.Key) map[string]string {
	return map[string]string{fleet.TagFleet: theFleet, fleet.TagCluster: k.String()}
}

func (j *judgement) violates(guard, format string, args ...any) {
	j.life.violate("%s: %s: %s", guard, j.what, fmt.Sprintf(format, args...))
}

// change checks what holds for every change.
func (j *judgement) change() {
	j.life.changes.Add(1)
	c := j.turn.cluster
	switch {
	case j.tags[fleet.TagFleet] != theFleet:
		j.violates("NothingForeignTouched", "its tags are %v", j.tags)
		return
	case c == nil:
		j.violates("NothingForeignTouched", "there is no pass over %s", j.key)
		return
	case j.turn.away:
		j.violates("NothingInTheWrongPlace", "the cluster lives elsewhere than the pass looked")
	case c.Paused, c.Suspension != nil && !c.Suspension.Over(j.turn.clock):
		j.violates("SuspendedUntouched", "the cluster is paused")
	}
	said := j.life.said(c.Revision, j.key)
	latest, at := j.in.latest()
	if j.life.pausedFrom(c.Revision, latest, j.key) {
		j.violates("SuspendedUntouched", "it is paused in %s", c.Revision)
	}
	if !at.IsZero() && j.turn.began.After(at.Add(time.Second)) {
		if j.life.said(latest, j.key).gone && !said.deleted {
			j.violates("OrphansUntouched", "it vanished with %s", latest)
		}
	}
	if j.life.suspended(j.in, j.key, j.turn) {
		j.violates("SuspendedUntouched", "a request that was accepted keeps it as it is")
	}
	if owner := j.life.owner(); owner != j.in.name {
		j.violates("OneOwner", "%s owns the fleet, not %s", owner, j.in.name)
	}
}

// reapplies takes a change back that is none: addons are applied once an hour,
// whether that is needed or not.
func (j *judgement) reapplies() {
	j.life.mu.Lock()
	defer j.life.mu.Unlock()
	if last, ok := j.life.applied[j.key]; ok && time.Since(last) >= time.Hour-2*mostSkew {
		j.life.changes.Add(-1)
	}
	j.life.applied[j.key] = time.Now()
}

// deletesAll checks what only the deletion of a cluster may do.
func (j *judgement) deletesAll() {
	said := j.life.said(j.turn.cluster.Revision, j.key)
	latest, _ := j.in.latest()
	switch {
	case !said.deleted && j.life.said(latest, j.key).gone:
		j.violates("OrphansUntouched", "it vanished with %s", latest)
	case !said.deleted:
		j.violates("NothingDeletedThatGitHas", "nobody asked for the deletion in %s", j.turn.cluster.Revision)
	case said.protected:
		j.violates("ProtectedNeverDeleted", "it is protected in %s", j.turn.cluster.Revision)
	}
}

func (j *judgement) deleteNetwork(n inmemory.Network) {
	seen := 0
	for _, o := range j.life.cloud.Facts().Networks {
		if o.Tags[fleet.TagCluster] == n.Tags[fleet.TagCluster] && o.Tags[fleet.TagFleet] == theFleet {
			seen++
		}
	}
	if seen == 1 {
		j.deletesAll()
	}
}

// deleting reports whether the pass deletes the whole cluster.
func (j *judgement) deleting() bool { return j.turn.cluster != nil && j.turn.cluster.Delete }

// upset reports whether the world changed by itself since the pass looked, so
// that what is true now cannot be held against it.
func (j *judgement) upset() bool { return j.life.upsetAt(j.key).After(j.turn.began.Add(-time.Second)) }

// pool returns the machine's pool as it was wished for.
func (j *judgement) pool(name string) (fleet.Pool, bool) {
	if j.turn.cluster == nil {
		return fleet.Pool{}, false
	}
	p, ok := j.turn.cluster.Pool(fleet.PoolName(name))
	if ok {
		j.life.mu.Lock()
		j.life.pools[poolOf{j.key, p.Name}] = p
		j.life.mu.Unlock()
	}
	return p, ok
}

// created checks a machine that was just made.
func (j *judgement) created(vm inmemory.VM) {
	p, ok := j.pool(vm.Tags[fleet.TagPool])
	if !ok {
		j.violates("TotalNeverAboveMaximum", "there is no pool %s", vm.Tags[fleet.TagPool])
		return
	}
	facts := j.life.truth()
	total := 0
	for _, m := range ours(facts, j.key) {
		if j.life.isCopy(m.ID) {
			continue
		}
		if m.ID != vm.ID && !m.Deleted && m.Name == vm.Name && !j.life.outOfSight(m, j.turn.began) { // seesAll judges that
			j.violates("OneMachinePerName", "%s and %s are called so", m.ID, vm.ID)
		}
		d := j.life.damageAt(m.ID, j.turn.began) // without one of these it was not known to be of the pool
		if m.Tags[fleet.TagPool] == string(p.Name) && d.tag != fleet.TagPool && d.tag != fleet.TagRole {
			total++
		}
	}
	if most := p.Replicas + p.MaxSurge; total > most {
		j.violates("TotalNeverAboveMaximum", "pool %s has %d machines, %d may be", p.Name, total, most)
	}
	if p.Role == fleet.RoleControlPlane {
		j.joins(facts, vm)
		j.steps(vm)
	}
}

// takes checks that machine id may be taken away now: for good, or drained.
func (j *judgement) takes(id string, forGood bool) {
	facts := j.life.truth()
	i := slices.IndexFunc(facts.Machines, func(m inmemory.MachineFacts) bool { return m.ID == id })
	if i < 0 || facts.Machines[i].Deleted {
		return
	}
	if j.deleting() {
		j.deletesAll()
		return
	}
	m := facts.Machines[i]
	p, ok := j.pool(m.Tags[fleet.TagPool])
	if j.upset() || j.doomed(id) {
		return
	}
	if !ok {
		j.departs(facts, m)
		return
	}
	j.leavesLiving(facts, m, p)
	if p.Role == fleet.RoleControlPlane {
		j.takesControlPlane(facts, m, forGood)
		return
	}
	switch wish := j.life.askedOf(m.Name, m.Provider); {
	case wish == fleet.RequestRemediate, wish == fleet.RequestReplace && p.Strategy == fleet.OnDelete:
		return // whoever asks for that has it go first
	}
	if since := j.life.availableSince(id); since.IsZero() || since.After(j.turn.began.Add(-5*time.Second)) {
		return // it was not available when the pass looked
	}
	left := 0
	for _, o := range ours(facts, j.key) {
		if o.Tags[fleet.TagPool] == string(p.Name) && o.ID != id && available(o) {
			left++
		}
	}
	if least := p.Replicas - p.MaxUnavailable; left < least {
		j.violates("AvailableNeverBelowMinimum", "pool %s is left with %d available, %d must stay", p.Name, left, least)
	}
}

// dooms notes that machine id goes with the whole cluster, where it does.
func (j *judgement) dooms(id string) {
	j.in.mu.Lock()
	defer j.in.mu.Unlock()
	if j.deleting() {
		j.in.doomed[id] = true
	}
}

// doomed reports whether the agent asked for machine id to be deleted when the whole
// cluster was to go: it goes on with that when the cluster is to stay after all.
func (j *judgement) doomed(id string) bool {
	j.in.mu.Lock()
	defer j.in.mu.Unlock()
	return j.in.doomed[id]
}

// drains checks that node may be drained now.
func (j *judgement) drains(node string) {
	for _, m := range ours(j.life.cloud.Facts(), j.key) {
		if m.Node == node && !m.Deleted {
			j.leavesHeld(m.ID)
			j.takes(m.ID, false)
			return
		}
	}
}

// deletesNode checks that nobody lives on the Node.
func (j *judgement) deletesNode(node string) {
	for _, m := range ours(j.life.cloud.Facts(), j.key) {
		if m.Node == node && !m.Deleted {
			j.leavesHeld(m.ID)
		}
		if m.Node == node && !m.Deleted && m.Ready && !j.deleting() && !j.upset() {
			j.violates("NodeOfMachineKept", "machine %s is there and ready", m.Name)
		}
	}
	j.removesMemberOn(node)
}

// ours returns the machines of a cluster of the fleet, without those that never were: their
// request failed after it was taken.
func ours(f inmemory.Facts, k fleet.Key) []inmemory.MachineFacts {
	return slices.DeleteFunc(slices.Clone(f.Machines), func(m inmemory.MachineFacts) bool {
		return m.Refused != "" || m.Tags[fleet.TagFleet] != theFleet || m.Tags[fleet.TagCluster] != k.String()
	})
}

func available(m inmemory.MachineFacts) bool {
	return !m.Deleted && !m.Stopped && m.Ready && !m.Cordoned && m.State == fleet.MachineRunning
}

// foreign returns what others have in the cloud, a line each.
func foreign(f inmemory.Facts) string {
	var b strings.Builder
	for _, m := range f.Machines {
		if m.Tags[fleet.TagFleet] != theFleet {
			fmt.Fprintf(&b, "machine %s %s %v\n", m.ID, m.Name, m.Tags)
		}
	}
	for _, n := range f.Networks {
		if n.Tags[fleet.TagFleet] != theFleet {
			fmt.Fprintf(&b, "network %s %s %v\n", n.ID, n.Name, n.Tags)
		}
	}
	return b.String()
}

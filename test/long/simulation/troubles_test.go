package simulation

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/inmemory"
)

// Troubles are what is wrong in a life besides the weather. Each life has few of
// them, so that what one does is not hidden by another.
type troubles struct {
	tags      bool // machines lose their tags, or are given wrong ones
	exile     bool // credentials lead to an empty place for a while
	drains    bool // drains do not end
	first     bool // first machines of control planes never boot, and agents restart meanwhile
	elsewhere *inmemory.Cloud

	infra  time.Duration   // the clock of the cloud is ahead by that
	ahead  time.Duration   // those of all agents are
	differ time.Duration   // most that the clock of one agent is off from that
	clocks []time.Duration // that agents had

	away    bool // where passes look that begin now
	forgot  bool // the empty place says that it is the one that was left: it lost its records
	damaged map[string]damage
	mended  map[string]damage // which was put right, as it was last
	jammed  map[string]bool   // networks on which something keeps Nodes from being drained
	dead    map[string]bool   // machines that never get their power back
}

// A damage is what people or tools did to the tags of a machine.
type damage struct {
	tag    string
	whole  map[string]string // the tags before
	since  time.Time
	mended time.Time
}

// bother draws the troubles of a life.
func (l *life) bother() {
	l.damaged, l.mended, l.jammed, l.dead = make(map[string]damage), make(map[string]damage), make(map[string]bool), make(map[string]bool)
	l.tags, l.exile, l.drains, l.first = l.chance(2), l.chance(4), l.chance(4), l.chance(3)
	l.elsewhere = inmemory.NewCloud(inmemory.CloudOptions{ID: "elsewhere", Listen: l.net.Listen})
	l.drains = l.drains && !l.hosted // what keeps Nodes from being drained would outlive its network
	l.differ = mostSkew
	if l.chance(3) {
		l.infra, l.differ = l.within(-mostWrong, mostWrong), time.Minute
	}
	if l.chance(3) {
		l.ahead, l.differ = l.within(-mostBehind, mostWrong), time.Minute
	}
}

// mostWrong is how far clocks of different machines are off: far more than health
// checks wait, and less than a fleet has time for to come to rest.
const mostWrong = 45 * time.Minute

// mostBehind is how far the clocks of agents are behind: more than health checks
// wait, and less than the bootstrap tokens that they make are good for, without which
// no machine joins.
const mostBehind = 13 * time.Minute

// trouble makes one of the troubles of the life come, or go.
func (l *life) trouble() {
	var all []func()
	if l.tags {
		all = append(all, l.damage, l.damage, l.mendOne)
	}
	if l.exile {
		all = append(all, l.exchange)
	}
	if l.drains {
		all = append(all, l.jam)
	}
	if l.hosted {
		all = append(all, l.changePlane)
	}
	if l.reboots {
		all = append(all, l.cutPower)
	}
	all = append(all, l.possible()...)
	if len(all) > 0 {
		all[l.random.IntN(len(all))]()
	}
}

// better ends all troubles but wrong clocks that only have things come later.
func (l *life) better() {
	for _, id := range slices.Sorted(maps.Keys(l.damaged)) {
		l.mend(id)
	}
	l.comeBack()
	for n := range l.jammed {
		l.free(n)
	}
	l.first = false
	l.mendPlanes()
	l.endAccidents()
	if l.ahead > 0 {
		l.logf("the clocks of agents are put right")
		l.ahead = 0
		if l.agent != nil {
			l.crash()
		}
	}
}

// damage has people, or one of their tools, spoil a tag of a machine.
func (l *life) damage() {
	m, k, ok := l.anyMachine(func(m inmemory.MachineFacts) bool { return l.damaged[m.ID].since.IsZero() })
	if !ok {
		return
	}
	tag := []string{fleet.TagRole, fleet.TagRole, fleet.TagPool, fleet.TagPool, fleet.TagMachine, fleet.TagTemplate, fleet.TagVersion}[l.random.IntN(7)]
	tags := maps.Clone(m.Tags)
	control := tags[fleet.TagRole] == string(fleet.RoleControlPlane)
	switch n := l.random.IntN(3); {
	case n == 0:
		delete(tags, tag)
	case n == 1 && tag == fleet.TagRole && control:
		tags[tag] = string(fleet.RoleWorker)
	case n == 1 && tag == fleet.TagRole:
		tags[tag] = string(fleet.RoleControlPlane)
	case n == 1 && tag == fleet.TagPool && control:
		tags[tag] = k.Name + "-md-0"
	case n == 1 && tag == fleet.TagPool && !l.hosted: // it has no such pool
		tags[tag] = k.Name + "-cp"
	default:
		tags[tag] = "?" + tags[tag]
	}
	l.retag(m, k, tags, fmt.Sprintf("has its tag %s %q instead of %q", tag, tags[tag], m.Tags[tag]))
	l.mu.Lock()
	defer l.mu.Unlock()
	l.damaged[m.ID] = damage{tag: tag, whole: m.Tags, since: time.Now()}
}

// mendOne has people put back the tags of one machine.
func (l *life) mendOne() {
	ids := slices.Sorted(maps.Keys(l.damaged))
	if len(ids) > 0 {
		l.mend(ids[l.random.IntN(len(ids))])
	}
}

func (l *life) mend(id string) {
	l.mu.Lock()
	d := l.damaged[id]
	d.mended = time.Now()
	delete(l.damaged, id)
	l.mended[id] = d
	l.mu.Unlock()
	if m, ok := l.machine(id); ok && !m.Deleted {
		k, _ := fleet.ParseKey(d.whole[fleet.TagCluster])
		l.retag(m, k, d.whole, "has its tags back")
	}
}

func (l *life) retag(m inmemory.MachineFacts, k fleet.Key, tags map[string]string, what string) {
	l.disturbed(k)
	l.logf("machine %s %s %s", m.Name, m.ID, what)
	if err := l.cloud.SetTags(context.Background(), m.ID, tags); err != nil {
		l.violate("cannot set tags: %v", err)
	}
}

// damageOf returns what is wrong with the tags of machine id.
func (l *life) damageOf(id string) (damage, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	d, ok := l.damaged[id]
	return d, ok
}

// damageAt returns what was wrong with the tags of machine id at a time, or is since.
func (l *life) damageAt(id string, at time.Time) damage {
	l.mu.Lock()
	defer l.mu.Unlock()
	if d, ok := l.damaged[id]; ok {
		return d
	}
	if d := l.mended[id]; d.mended.After(at) {
		return d
	}
	return damage{}
}

// anyMachine returns one of our machines that are as they have to be.
func (l *life) anyMachine(is func(inmemory.MachineFacts) bool) (inmemory.MachineFacts, fleet.Key, bool) {
	all := slices.DeleteFunc(l.cloud.Facts().Machines, func(m inmemory.MachineFacts) bool {
		return m.Tags[fleet.TagFleet] != theFleet || m.Deleted || !is(m)
	})
	if len(all) == 0 {
		return inmemory.MachineFacts{}, fleet.Key{}, false
	}
	m := all[l.random.IntN(len(all))]
	k, _ := fleet.ParseKey(m.Tags[fleet.TagCluster])
	return m, k, true
}

// exchange has the credentials lead to an empty place, once all clusters are known
// to live where they do, or back.
func (l *life) exchange() {
	if l.away {
		l.comeBack()
		return
	}
	if l.problems() != "" { // read the status
		return
	}
	forgets := !l.hosted
	for i, w := range l.wishes {
		c, ok := l.told.status.Cluster(key(i))
		forgets = forgets && c.Report.Residence.ControlPlane == fleet.InitializedOnce
		if w.gone || w.deleted || !ok || len(c.Report.Residence.Places) == 0 || c.Report.Phase == fleet.PhaseDeleting || c.Report.Phase == fleet.PhaseDeleted {
			return
		}
	}
	l.away = true
	if l.forgot = forgets && l.chance(2); l.forgot {
		l.logf("the cloud lost its records")
		return
	}
	l.logf("the credentials lead elsewhere")
}

func (l *life) comeBack() {
	if l.away {
		l.logf("the credentials are put back")
		l.away = false
	}
}

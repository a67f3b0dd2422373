package simulation

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/inmemory"
)

// Accidents are what places, hosts and people do to machines that live. Each life has few of
// them.
type accidents struct {
	twins     bool // listings show machines twice, as where two names lead to one place
	restores  bool // people restore backups of machines beside them
	moves     bool // machines move to another host
	strangers bool // members of etcd get names that no Node has
	skips     bool // people push versions that skip a minor one
	leaves    bool // pools leave Git by mistake, and come back
	silences  bool // a place takes calls and does not answer
	pooled    bool // machines have addresses of pools, which overlap
	hides     bool // the account sees less for a while

	twice   map[fleet.MachineName]time.Time // machines that listings show twice, since when
	copies  map[string]bool                 // restored machines, by id
	hidden  map[fleet.MachineName]time.Time // machines that no listing shows, since when
	renamed map[string]bool                 // machines whose members have another name, by id
}

// befall draws the accidents of a life.
func (l *life) befall() {
	l.twice, l.hidden = make(map[fleet.MachineName]time.Time), make(map[fleet.MachineName]time.Time)
	l.copies, l.renamed = make(map[string]bool), make(map[string]bool)
	l.twins, l.restores, l.moves, l.silences = l.chance(5), l.chance(5), l.chance(5), l.chance(3)
	l.strangers = l.chance(5) && !l.others && !l.hosted // K3s and RKE2 name members themselves
	l.skips = l.chance(4) && !l.hosted && !l.waving
	l.leaves = l.chance(4) && !l.waving
	l.pooled = l.chance(6) && !l.others && !l.hosted && !l.waving
	l.hides = l.chance(4)
}

// possible returns the accidents that may happen in this life.
func (l *life) possible() []func() {
	var out []func()
	for _, a := range []struct {
		may bool
		do  func()
	}{{l.twins, l.listTwice}, {l.restores, l.restore}, {l.moves, l.move}, {l.strangers, l.rename}, {l.skips, l.skip}, {l.leaves, l.leave}, {l.silences, l.silence}, {l.hides, l.hide}} {
		if a.may {
			out = append(out, a.do)
		}
	}
	return out
}

// listTwice has listings show a machine twice, or each once again.
func (l *life) listTwice() {
	m, k, ok := l.anyMachine(func(m inmemory.MachineFacts) bool { return l.twice[fleet.MachineName(m.Name)].IsZero() })
	if !ok || len(l.twice) > 0 && l.chance(2) {
		l.listOnce()
		return
	}
	l.disturbed(k)
	l.logf("listings show machine %s twice", m.Name)
	l.mu.Lock()
	l.twice[fleet.MachineName(m.Name)] = time.Now()
	l.mu.Unlock()
	l.resetFaults()
}

func (l *life) listOnce() {
	l.mu.Lock()
	n := len(l.twice)
	clear(l.twice)
	l.mu.Unlock()
	if n == 0 {
		return
	}
	l.logf("listings show each machine once")
	for i := range l.wishes {
		l.disturbed(key(i))
	}
	l.resetFaults()
}

// hide has listings leave out a machine that the agent knows and that works, or shows all again.
func (l *life) hide() {
	if len(l.hidden) > 0 && l.chance(2) {
		l.showAll()
		return
	}
	m, k, ok := l.anyMachine(func(m inmemory.MachineFacts) bool {
		return l.isKnown(m) && m.Ready && l.hidden[fleet.MachineName(m.Name)].IsZero()
	})
	if !ok {
		return
	}
	l.disturbed(k)
	l.logf("listings do not show machine %s", m.Name)
	l.mu.Lock()
	l.hidden[fleet.MachineName(m.Name)] = time.Now()
	l.mu.Unlock()
	l.resetFaults()
}

// isKnown reports whether the Node of m tells that the agent saw m.
func (l *life) isKnown(m inmemory.MachineFacts) bool {
	node, there := l.cloud.Object(m.Network, corev1.SchemeGroupVersion.WithKind("Node"), "", m.Node)
	return there && node.GetAnnotations()[clusterv1.MachineAnnotation] != ""
}

func (l *life) showAll() {
	l.mu.Lock()
	n := len(l.hidden)
	clear(l.hidden)
	l.mu.Unlock()
	if n == 0 {
		return
	}
	l.logf("listings show all machines")
	for i := range l.wishes {
		l.disturbed(key(i))
	}
	l.resetFaults()
}

// resetFaults has listings show what l.twice and l.hidden say.
func (l *life) resetFaults() {
	f, err := l.cloud.Faults(context.Background())
	if err != nil {
		l.violate("cannot read faults: %v", err)
	}
	l.set(f)
}

// names returns the names of machines since when something is so, sorted.
func names(of map[fleet.MachineName]time.Time) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(of)) {
		out = append(out, string(name))
	}
	return out
}

// restore has people restore a backup of a machine beside it, or delete one of these copies. Of a
// cluster that never came up nobody has backups.
func (l *life) restore() {
	if len(l.copies) > 0 && l.chance(3) {
		l.deleteCopies()
		return
	}
	facts := l.cloud.Facts()
	m, k, ok := l.anyMachine(func(m inmemory.MachineFacts) bool {
		_, initialised := facts.Etcd[m.Network]
		return m.State == fleet.MachineRunning && !l.copies[m.ID] && (initialised || l.hosted)
	})
	if !ok {
		return
	}
	l.disturbed(k)
	id, err := l.cloud.Copy(m.ID)
	if err != nil {
		l.violate("cannot restore a backup: %v", err)
		return
	}
	l.logf("a backup of machine %s %s is restored as %s", m.Name, m.ID, id)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.copies[id] = true
	l.dead[id] = true // nobody switches it on
}

// deleteCopies has people delete the restored machines.
func (l *life) deleteCopies() {
	for _, id := range slices.Sorted(maps.Keys(l.copies)) {
		if m, ok := l.machine(id); ok && !m.Deleted {
			l.logf("the restored machine %s %s is deleted", m.Name, id)
			k, _ := fleet.ParseKey(m.Tags[fleet.TagCluster])
			l.disturbed(k)
			_ = l.cloud.DeleteVM(context.Background(), id) // it may be gone by now
		}
	}
}

func (l *life) isCopy(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.copies[id]
}

// move has a machine run on another host.
func (l *life) move() {
	m, k, ok := l.anyMachine(func(m inmemory.MachineFacts) bool { return m.State == fleet.MachineRunning })
	if !ok {
		return
	}
	l.disturbed(k)
	domain := fmt.Sprintf("host-%d", l.random.IntN(3))
	l.logf("machine %s moves to %s", m.Name, domain)
	_ = l.cloud.Move(m.ID, domain) // it may be gone by now
}

// rename gives the etcd member of a machine a name that no Node has, or its own again.
func (l *life) rename() {
	m, k, ok := l.anyMachine(func(m inmemory.MachineFacts) bool { return m.Member != 0 && m.Node != "" })
	if !ok {
		return
	}
	l.disturbed(k)
	name := "etcd-" + m.ID[:8]
	if l.renamed[m.ID] {
		name = m.Node
	}
	l.logf("the etcd member of machine %s is called %s", m.Name, name)
	if l.cloud.RenameMember(m.ID, name) == nil {
		l.renamed[m.ID] = !l.renamed[m.ID]
	}
}

// nameMembers gives all members their own names again.
func (l *life) nameMembers() {
	for _, id := range slices.Sorted(maps.Keys(l.renamed)) {
		if m, ok := l.machine(id); ok && l.renamed[id] {
			k, _ := fleet.ParseKey(m.Tags[fleet.TagCluster])
			l.disturbed(k)
			l.logf("the etcd member of machine %s is called %s", m.Name, m.Node)
			_ = l.cloud.RenameMember(id, m.Node) // it may have left by now
		}
	}
	clear(l.renamed)
}

// skip has people push a version that skips a minor one, to a cluster that serves.
func (l *life) skip() {
	i := l.random.IntN(len(l.wishes))
	w := &l.wishes[i]
	if w.skips {
		w.skips = false
		l.push(fmt.Sprintf("%s: the version put back", key(i)))
		return
	}
	serves := slices.ContainsFunc(ours(l.cloud.Facts(), key(i)), func(m inmemory.MachineFacts) bool {
		return m.Member != 0 && m.Ready && m.Tags[fleet.TagVersion] == w.release()
	})
	if w.version != older || w.gone || w.deleted || w.broken || !serves || !l.initialised(i) {
		return
	}
	w.skips = true
	l.push(fmt.Sprintf("%s: a version that skips a minor one", key(i)))
}

// initialised reports whether the status tells that the control plane of cluster i answered.
func (l *life) initialised(i int) bool {
	l.problems() // read the status
	c, ok := l.told.status.Cluster(key(i))
	return ok && c.Report.Residence.ControlPlane == fleet.InitializedOnce
}

// leave has a pool leave Git by mistake, or come back.
func (l *life) leave() {
	i := l.random.IntN(len(l.wishes))
	w := &l.wishes[i]
	p := &w.pools[l.random.IntN(len(w.pools))]
	if w.gone || w.deleted || l.tags {
		return // a tag that names a pool which left Git may be that of a former control plane
	}
	p.away = !p.away
	l.push(fmt.Sprintf("%s: pool %s is away: %v", key(i), p.name, p.away))
}

// silence has the cloud, or the API server of a cluster, take calls and not answer for a while.
func (l *life) silence() {
	until := time.Now().Add(l.within(time.Minute, 30*time.Minute))
	if l.chance(2) {
		l.logf("the cloud is silent until %s", until.Sub(l.began))
		l.weather.silent = until
		return
	}
	k := key(l.random.IntN(len(l.wishes)))
	l.logf("the API server of %s is silent until %s", k, until.Sub(l.began))
	l.weather.hung = map[fleet.Key]time.Time{k: until}
}

// endAccidents undoes what is left of them.
func (l *life) endAccidents() {
	l.listOnce()
	l.showAll()
	l.deleteCopies()
	l.nameMembers()
}

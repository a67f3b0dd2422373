package simulation

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/reconcile"
	"fairlead.dev/sources/status"
)

// A waveStage is a stage of a fleet with waves: so many of its clusters, which come in order
// of their numbers, are changed at once.
type waveStage struct {
	name     string
	clusters []int
	atOnce   int
}

// Waves are how what changes comes to the clusters of a life with four of them.
type waves struct {
	stages   []waveStage
	windowed bool          // the last stage begins in the first half of an hour alone
	freezes  []frost       // nothing begins in
	deadline time.Duration // after that a cluster has failed, and nothing more begins
}

// A frost is a freeze of one stage.
type frost struct {
	stage       int
	from, until time.Time
}

// windowOpen is how long a window is open, from each full hour on.
const windowOpen = 30 * time.Minute

func (l *life) newWaves() *waves {
	w := &waves{
		stages:   []waveStage{{"first", []int{0}, 1}, {"last", []int{1, 2, 3}, 1 + l.random.IntN(2)}},
		windowed: l.chance(2), deadline: l.within(4*time.Minute, 12*time.Minute).Truncate(time.Second),
	}
	for range l.random.IntN(3) {
		from := time.Now().Add(l.within(time.Minute, 90*time.Minute)).UTC().Truncate(time.Second)
		w.freezes = append(w.freezes, frost{l.random.IntN(2), from, from.Add(l.within(5*time.Minute, 90*time.Minute)).Truncate(time.Second)})
	}
	return w
}

// frozen reports whether nothing of a stage begins at t.
func (w *waves) frozen(stage int, t time.Time) bool {
	return slices.ContainsFunc(w.freezes, func(f frost) bool { return f.stage == stage && !t.Before(f.from) && t.Before(f.until) })
}

// config is what fleet.yaml says of w, below spec.
func (w *waves) config() string {
	if w == nil {
		return ""
	}
	var b strings.Builder
	b.WriteString("  rollout:\n    stages:\n")
	for _, s := range w.stages {
		fmt.Fprintf(&b, "    - {name: %s, select: %s, atOnce: %d, deadline: %s}\n", s.name, s.selector(), s.atOnce, w.deadline)
	}
	if w.windowed {
		fmt.Fprintf(&b, "  windows:\n  - {select: %s, cron: \"0 * * * *\", duration: %s, name: hourly}\n", w.stages[1].selector(), windowOpen)
	}
	for i, f := range w.freezes {
		if i == 0 {
			b.WriteString("  freezes:\n")
		}
		fmt.Fprintf(&b, "  - {select: %s, from: %q, until: %q, reason: stocktaking}\n", w.stages[f.stage].selector(), f.from.Format(time.RFC3339), f.until.Format(time.RFC3339))
	}
	return b.String()
}

// selector selects the clusters by the label that each has for its addons.
func (s waveStage) selector() string {
	var names []string
	for _, i := range s.clusters {
		names = append(names, key(i).Name)
	}
	return fmt.Sprintf("{matchExpressions: [{key: addons, operator: In, values: [%s]}]}", strings.Join(names, ", "))
}

// stageOf returns the number of the stage of cluster k.
func (w *waves) stageOf(k fleet.Key) int {
	for at, s := range w.stages {
		for _, i := range s.clusters {
			if key(i) == k {
				return at
			}
		}
	}
	return len(w.stages)
}

// A wave is how far a cluster is, by the passes over it.
type wave struct {
	target  string          // what the last pass of this agent worked towards; empty: there was none yet
	arrived map[string]bool // what passes found it at rest at; empty: it is being made
	since   time.Time       // when a pass first worked towards something else; zero: it is there
	excused bool            // it was suspended, paused or deleted since: nobody waits for it
	began   time.Time       // the last pass
	ended   time.Time
	// Somebody asked that it comes now, by itself or with its stage. Until it came neither
	// stages, windows, freezes nor a halt are in its way, and by itself no number is.
	released, alone bool
	asked           time.Time // for the last release: it is of what came later than what was under way then
}

// moving reports whether the cluster is being changed, and counts.
func (w *wave) moving() bool {
	return w.target != "" && len(w.arrived) > 0 && !w.arrived[w.target] && !w.excused
}

// said returns what of w comes in waves, in a fleet with a class of that template.
func (w wish) said(class int) string {
	text := fmt.Sprintf("%s cp%d addons%d lone%d", w.version, w.template, w.addons, w.lone)
	for _, p := range w.pools {
		text += fmt.Sprintf(" %s=%d", p.name, p.template)
	}
	if w.classy {
		text += fmt.Sprintf(" class%d", class)
	}
	return text
}

// saidIn returns what revision rev says of cluster k that comes in waves.
func (l *life) saidIn(rev fleet.Revision, k fleet.Key) string {
	for n, wishes := range l.history {
		if revision(n+1).Digest != rev.Digest {
			continue
		}
		for i, w := range wishes {
			if key(i) == k {
				return w.said(l.classes[n])
			}
		}
	}
	return ""
}

// excuse notes of which clusters nobody waits any more, until they are at rest again.
func (l *life) excuse() {
	for i, w := range l.history[len(l.history)-1] {
		_, stands := l.stands[key(i)]
		if at := l.wave(key(i)); w.paused || w.deleted || w.gone || stands {
			at.excused = true
		}
	}
}

// wave returns that of cluster k.
func (l *life) wave(k fleet.Key) *wave {
	if l.waved[k] == nil {
		l.waved[k] = new(wave)
	}
	return l.waved[k]
}

// unsureWaves forgets what the agent that ended worked towards: the next one decides anew.
func (l *life) unsureWaves() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, w := range l.waved {
		w.target, w.since = "", time.Time{}
	}
}

// passBegins holds what the agent now works towards against the waves.
func (in *incarnation) passBegins(c *fleet.Cluster) {
	l := in.life
	if l.waves == nil || in.dead.Load() {
		return
	}
	latest, _ := in.latest()
	l.takeSuspensions() // the agent may have said yes just now, and gone on at once
	l.mu.Lock()
	wrong := l.passBegan(c, latest)
	l.mu.Unlock()
	if wrong != "" {
		l.violate("%s", wrong)
	}
}

func (l *life) passBegan(c *fleet.Cluster, latest fleet.Revision) string {
	w, now := l.wave(c.Key), time.Now()
	before, target := w.target, l.saidIn(c.Revision, c.Key)
	decided := now.Add(-2 * time.Second) // not before that
	if now.Sub(w.ended) < 2*time.Second {
		decided = w.began
	}
	w.target, w.began = target, now
	switch {
	case w.arrived[target]:
		w.since = time.Time{}
	case w.since.IsZero() || before != target:
		w.since = now
	}
	if before == "" || before == target || !w.moving() {
		return ""
	}
	return l.begins(c.Key, decided, latest)
}

// begins says what is wrong with that cluster k begins, which was decided at that time or
// later.
func (l *life) begins(k fleet.Key, decided time.Time, latest fleet.Revision) string {
	if l.wave(k).alone {
		return ""
	}
	own, released := l.waves.stageOf(k), l.wave(k).released
	moving := 0
	for i := range l.history[len(l.history)-1] {
		o := key(i)
		w, at := l.wave(o), l.waves.stageOf(o)
		if w.moving() && at == own && !w.alone {
			moving++
		}
		if o == k || released || !w.moving() || !w.since.Before(decided) || at > own {
			continue
		}
		if at < own {
			return fmt.Sprintf("StagesInOrder: %s begins to be changed, and %s of the stage before it is not done", k, o)
		}
		if late := decided.Sub(w.since) - l.waves.deadline; late > time.Minute && w.target == l.saidIn(latest, o) {
			return fmt.Sprintf("HaltsAtFailure: %s begins to be changed, and %s failed %s ago", k, o, late)
		}
	}
	if most := l.waves.stages[own].atOnce; moving > most {
		return fmt.Sprintf("NoMoreThanAllowed: with %s %d clusters of its stage are changed, and %d may be", k, moving, most)
	}
	if released {
		return ""
	}
	if now := time.Now(); l.waves.frozen(own, now) && l.waves.frozen(own, decided) {
		return fmt.Sprintf("NoneBeginsInAFreeze: %s begins to be changed at %s, decided after %s", k, now.UTC().Format(time.TimeOnly), decided.UTC().Format(time.TimeOnly))
	}
	if now := time.Now(); l.waves.windowed && own == 1 && !openAt(now) && !openAt(decided) {
		return fmt.Sprintf("BeginsInItsWindow: %s begins to be changed at %s, decided after %s", k, now.UTC().Format(time.TimeOnly), decided.UTC().Format(time.TimeOnly))
	}
	return ""
}

// openAt reports whether a window is open.
func openAt(t time.Time) bool {
	return t.Sub(t.Truncate(time.Hour)) < windowOpen
}

// passEnds takes in what a pass found.
func (in *incarnation) passEnds(c *fleet.Cluster, res reconcile.Result) {
	l := in.life
	if l.waves == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	w := l.wave(c.Key)
	w.ended = time.Now()
	atRest := res.Report.Phase == fleet.PhaseProvisioned && res.Err == nil && len(res.Plan.Actions)+len(res.Plan.Waiting) == 0
	switch {
	case res.Report.Phase == fleet.PhaseDeleted || res.Report.Phase == fleet.PhaseDeleting:
		*w = wave{ended: w.ended, began: w.began}
	case atRest && w.target != "" && w.target == l.saidIn(c.Revision, c.Key):
		if w.arrived == nil {
			w.arrived = make(map[string]bool)
		}
		if w.since.After(w.asked) { // what was released came
			w.released, w.alone = false, false
		}
		w.arrived[w.target], w.since, w.excused = true, time.Time{}, false
		l.excuse()
	}
}

// wavesDone says what waits for its turn still, by the status branch.
func (l *life) wavesDone() string {
	if l.waves == nil {
		return ""
	}
	for _, w := range l.told.status.Fleet.Rollout.Waiting {
		return fmt.Sprintf("%s waits: %s", w.Cluster, w)
	}
	return ""
}

// release has people ask that what waits comes now: a stage that is halted, or one of the clusters.
func (l *life) release() {
	l.problems() // read the status
	rollout := l.told.status.Fleet.Rollout
	r := fleet.Request{
		Kind: fleet.RequestRelease, Release: fleet.ReleaseNow, Reason: "it cannot wait", By: "You <you@example.com>", At: time.Now().UTC().Truncate(time.Second),
	}
	i := slices.IndexFunc(rollout.Stages, func(s fleet.StageStatus) bool { return s.State == fleet.StageHalted && s.Waiting > 0 })
	switch {
	case i >= 0 && l.chance(2):
		r.Stage, r.Of = rollout.Stages[i].Name, rollout.Stages[i].Digest
	case len(rollout.Waiting) > 0:
		w := rollout.Waiting[l.random.IntN(len(rollout.Waiting))]
		r.Cluster, r.Of = w.Cluster, w.Digest
	default:
		return
	}
	err := status.NewRequests(&l.branch).Ask(context.Background(), r)
	l.logf("asked: %s: %v", r, err)
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, w := range rollout.Waiting {
		if w.Cluster == r.Cluster || w.Stage == r.Stage {
			at := l.wave(w.Cluster)
			at.released, at.alone, at.asked = true, at.alone || r.Stage == "", time.Now()
		}
	}
}

// releasesHold holds what the status branch says of what people released against that.
func (l *life) releasesHold() {
	l.problems() // read the status
	rollout := l.told.status.Fleet.Rollout
	for _, w := range rollout.Waiting {
		i := slices.IndexFunc(rollout.Standings, func(s fleet.Standing) bool { return s.Cluster == w.Cluster })
		if i < 0 || rollout.Standings[i].Release.Way != fleet.ReleaseNow || rollout.Standings[i].Release.Of != w.Digest {
			continue
		}
		for _, overruled := range []string{"is halted", "is not done", "it is frozen", "its window is closed"} {
			if strings.Contains(w.Why, overruled) {
				l.violate("WhatIsReleasedGoesOn: %s was released, and waits: %s", w.Cluster, w)
			}
		}
	}
}

// changeMany has people change what many clusters are made of at once.
func (l *life) changeMany() {
	if l.chance(2) {
		l.class++
		l.push("another template of the class")
		return
	}
	for i := range l.wishes {
		if w := &l.wishes[i]; !w.gone && !w.deleted {
			w.template++
		}
	}
	l.push("another template of all control planes")
}

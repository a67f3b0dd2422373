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

// A waveStage is a stage of a fleet with waves. Its clusters have its name as label ring; atOnce of
// them are changed at the same time.
type waveStage struct {
	name   string
	atOnce int
}

// Waves are how what changes comes to the clusters of a life with four of them.
type waves struct {
	stages   []waveStage
	windowed bool          // the last stage begins in the first half of an hour alone
	freezes  []frost       // nothing begins in
	deadline time.Duration // after that a cluster has failed, and nothing more begins

	rewrites   bool                    // history is rewritten once a cluster waits
	hinderedAt time.Time               // when something was last in the way of the agent
	waiting    map[fleet.Key]time.Time // clusters that wait, by since when
	skipped    map[fleet.Key]time.Time // clusters that people went on without, by when each took what it left with
	late       map[fleet.Key]bool      // clusters that the status reports as late
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
		stages:   []waveStage{{"first", 1}, {"last", 1 + l.random.IntN(2)}},
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

// selector selects the clusters of a stage.
func (s waveStage) selector() string { return "{matchLabels: {ring: " + s.name + "}}" }

// stage returns the index of the stage of clusters with that label; -1: there is none.
func (w *waves) stage(ring string) int {
	return slices.IndexFunc(w.stages, func(s waveStage) bool { return s.name == ring })
}

// stageOf returns the stage that the newest revision has cluster k in, as its index, and whether passes
// already work towards that label.
func (l *life) stageOf(k fleet.Key) (at int, settled bool) {
	for i, w := range l.history[len(l.history)-1] {
		if key(i) == k {
			return l.waves.stage(w.ring), w.ring == l.wave(k).ring
		}
	}
	return 0, false
}

// A wave is how far a cluster is, by the passes over it.
type wave struct {
	target  string          // what the last pass of this agent worked towards; empty: there was none yet
	arrived map[string]bool // what passes found it at rest at; empty: it is being made
	since   time.Time       // when a pass first worked towards something else; zero: it is there
	stage   int             // in which its change began, as its index + 1; 0: it is at rest, or not known
	excused bool            // it was suspended, paused or deleted since: nobody waits for it
	ring    string          // label in the definition of the last pass; empty: there was none yet
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
	latest, known := in.latest()
	l.takeSuspensions() // the agent may have said yes just now, and gone on at once
	l.mu.Lock()
	wrong := l.passBegan(c, latest, known)
	l.mu.Unlock()
	if wrong != "" {
		l.violate("%s", wrong)
	}
}

func (l *life) passBegan(c *fleet.Cluster, latest fleet.Revision, known time.Time) string {
	w, now := l.wave(c.Key), time.Now()
	before, target := w.target, l.saidIn(c.Revision, c.Key)
	decided := now.Add(-2 * time.Second) // not before that
	if now.Sub(w.ended) < 2*time.Second {
		decided = w.began
	}
	moved := w.moving()
	w.target, w.began = target, now
	switch {
	case w.arrived[target]:
		w.since = time.Time{}
	case w.since.IsZero() || before != target:
		w.since = now
	}
	own := max(l.waves.stage(w.ring), l.waves.stage(c.Labels["ring"])) // the later one of a cluster that is relabelled
	w.ring = c.Labels["ring"]
	if w.moving() && w.stage == 0 {
		w.stage = own + 1
	}
	if before == "" || before == target || !w.moving() {
		return ""
	}
	if c.Revision == latest && latest == revision(len(l.history)) && known.Before(decided) {
		if wrong := l.beginsBeforeBroken(c.Key, own); wrong != "" {
			return wrong
		}
	}
	return l.begins(c.Key, own, moved, decided, latest)
}

// beginsBeforeBroken says what is wrong with that cluster k of stage own begins, if the newest revision cannot
// be rendered for a cluster of an earlier stage.
func (l *life) beginsBeforeBroken(k fleet.Key, own int) string {
	if w := l.wave(k); w.released || w.alone {
		return ""
	}
	for i, o := range l.history[len(l.history)-1] {
		w := l.wave(key(i))
		at, settled := l.stageOf(key(i))
		if o.broken && !o.gone && settled && at < own && len(w.arrived) > 0 && !w.excused {
			return fmt.Sprintf("BrokenIsNotDone: %s begins to be changed, and %s of the stage before it cannot be rendered", k, key(i))
		}
	}
	return ""
}

// begins says what is wrong with that cluster k of stage own begins, which was decided at that time or
// later. A cluster that moved before may have been relabelled into the stage beside others.
func (l *life) begins(k fleet.Key, own int, moved bool, decided time.Time, latest fleet.Revision) string {
	if l.wave(k).alone {
		return ""
	}
	released := l.wave(k).released
	moving := 0
	for i := range l.history[len(l.history)-1] {
		o := key(i)
		w := l.wave(o)
		at, settled := l.stageOf(o)
		if !settled {
			continue
		}
		if w.moving() && w.stage > 0 {
			at = w.stage - 1 // whatever its label is by now
		}
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
	if most := l.waves.stages[own].atOnce; moving > most && !moved {
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
		w.arrived[w.target], w.since, w.excused, w.stage = true, time.Time{}, false, 0
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

// disturb has something happen that is in the way of waves: the agent is away for long, history is rewritten
// while a cluster waits, a cluster gets the label of another stage, or the newest revision cannot be rendered
// for a cluster of the first stage.
func (l *life) disturb() {
	switch l.random.IntN(5) {
	case 0:
		if l.agent != nil {
			l.crash()
			l.startAt = time.Now().Add(l.within(10*time.Minute, 3*time.Hour))
			l.logf("the agent is away until %s", l.startAt.Sub(l.began))
		}
	case 1:
		l.waves.rewrites = true
		l.breakFirst() // so that the others wait
	case 2:
		if i, ok := l.relabel(); ok {
			l.push(fmt.Sprintf("%s: of stage %s", key(i), l.wishes[i].ring))
		}
	default:
		l.breakFirst()
	}
}

// rewritten rewrites history and restarts the agent, if that is due and a cluster waits, and reports whether
// it did.
func (l *life) rewritten() bool {
	if l.waves == nil || !l.waves.rewrites || l.agent == nil {
		return false
	}
	l.problems() // read the status
	if len(l.told.status.Fleet.Rollout.Waiting) == 0 {
		return false
	}
	l.waves.rewrites = false
	refused := l.chance(2)
	l.repository.rewrite(refused)
	l.logf("history is rewritten; what was followed is refused: %t", refused)
	l.crash()
	return true
}

// relabel gives a cluster the label of another stage, half of the time with something that comes in waves.
func (l *life) relabel() (i int, ok bool) {
	i = l.random.IntN(len(l.wishes))
	w := &l.wishes[i]
	if w.gone || w.deleted || w.broken {
		return i, false
	}
	w.ring = l.waves.stages[1-l.waves.stage(w.ring)].name
	if l.chance(2) {
		w.template++
	}
	return i, true
}

// breakFirst changes all clusters and breaks those of the first stage, in one revision, which may relabel another
// cluster into that stage.
func (l *life) breakFirst() {
	for i := range l.wishes {
		w := &l.wishes[i]
		switch {
		case w.gone || w.deleted:
		case w.ring == l.waves.stages[0].name:
			w.broken = true
		default:
			w.template++
		}
	}
	l.relabel()
	l.push("another template of all control planes, and the first stage broken")
}

// caredFor is how long a cluster that waits may be without a pass while nothing is in the way of its agent.
const caredFor = 3 * resync

// repairsNeverWait holds that clusters that wait are looked at and repaired, or that a problem says why not.
func (l *life) repairsNeverWait() {
	now := time.Now()
	if l.agent == nil || l.rival != nil || now.Before(l.thaw) || now.Before(l.weather.down[theBranch]) {
		l.waves.hinderedAt = now
		return
	}
	l.problems() // read the status
	s := l.told.status.Fleet
	before := l.waves.waiting
	l.waves.waiting = make(map[fleet.Key]time.Time)
	for _, w := range s.Rollout.Waiting {
		from, waited := before[w.Cluster]
		if !waited { // it may have been removed from Git, and nobody looked after it
			from = now
		}
		l.waves.waiting[w.Cluster] = from
		if slices.ContainsFunc(s.Problems, func(p fleet.Problem) bool {
			return p.Cluster == w.Cluster && strings.Contains(p.Message, "the cluster is left alone")
		}) {
			continue
		}
		l.mu.Lock()
		at := *l.wave(w.Cluster)
		l.mu.Unlock()
		since := latestOf(from, at.began, at.ended, l.agent.startedAt, l.waves.hinderedAt)
		if idle := now.Sub(since); idle > caredFor && !at.began.After(at.ended) {
			l.violate("RepairsNeverWait: %s waits (%s), and nothing looks after it for %s", w.Cluster, w, idle)
		}
	}
}

func latestOf(times ...time.Time) time.Time { return slices.MaxFunc(times, time.Time.Compare) }

// lateIsSeen holds that no cluster is reported as late before the agent looked at it: downtime of the agent is
// no failure of a cluster. It is called once for each commit of the status branch.
func (l *life) lateIsSeen() {
	l.problems() // read the status
	before := l.waves.late
	l.waves.late = make(map[fleet.Key]bool)
	for _, s := range l.told.status.Fleet.Rollout.Stages {
		for _, f := range s.Failed {
			if !strings.Contains(f.Why, "it is not done after") {
				continue
			}
			l.waves.late[f.Cluster] = true
			if before[f.Cluster] || l.agent == nil || l.rival != nil {
				continue
			}
			l.mu.Lock()
			seen := l.wave(f.Cluster).ended
			l.mu.Unlock()
			if seen.Before(l.agent.startedAt) {
				l.violate("LateIsSeen: %s is reported as failed (%s), and agent %d did not look at it yet", f.Cluster, f.Why, l.agent.number)
			}
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

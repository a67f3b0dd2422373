package rollout

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"fairlead.dev/fleet"
)

// A stageResult is the status of one stage, with the verdicts of its clusters.
type stageResult struct {
	status   fleet.StageStatus
	verdicts []verdict // of its candidates
	wake     time.Time
}

// A hold says why later stages have to wait.
type hold struct {
	why   string
	until time.Time
}

// runStage returns the result of s with these clusters, at now, and what later stages wait for.
func runStage(s fleet.Stage, candidates []candidate, before hold, now time.Time) (stageResult, hold) {
	r := stageRun{stage: s, candidates: candidates, now: now}
	r.count()
	own, state := before, fleet.StageWaiting
	if own.why == "" && r.unseen != (fleet.Key{}) {
		own.why = "the deadline of " + r.unseen.String() + " passed before this agent looked at the cluster: stage " + s.Name + " waits for that"
	}
	if own.why == "" && r.unknown != (fleet.Key{}) { // it may have halted the stage before
		own.why = "cluster " + r.unknown.String() + " is not known to be done: stage " + s.Name + " waits for that, or for its deadline"
	}
	switch halt := r.halted(); {
	case halt != "":
		state = fleet.StageHalted
		if own.why == "" {
			own = hold{why: "stage " + s.Name + " is halted: " + halt}
		}
	case own.why == "" && s.Approval && r.unapproved > 0 && r.unapproved == r.waiting && r.moving == 0:
		state = fleet.StageApproval
	}
	r.giveVerdicts(own)
	return r.finish(state, own, before)
}

// stageRun is one run of runStage.
type stageRun struct {
	stage      fleet.Stage
	candidates []candidate
	now        time.Time

	clusters, moving, waiting int
	unapproved                int       // of waiting
	broken, absent            fleet.Key // one of each kind; zero: there is none
	left, damaged, unrendered fleet.Key // the same
	unseen, unknown           fleet.Key // the same
	last                      time.Time // when the last one was done
	first                     time.Time // since when the first is on its way
	failed                    []fleet.FailedCluster
	wake                      time.Time
	verdicts                  []verdict
}

// count counts what the stage has of each kind.
func (r *stageRun) count() {
	for _, f := range r.candidates {
		if f.excluded {
			if f.absent {
				r.countAbsent(f)
			}
			r.wakeAt(f.ends)
			continue
		}
		r.clusters++
		if f.broken && r.broken == (fleet.Key{}) {
			r.broken = f.key
		}
		if f.moving {
			r.moving++
			if r.first.IsZero() || f.since.Before(r.first) {
				r.first = f.since
			}
		}
		switch {
		case f.held != f.wanted:
			r.waiting++
			if f.unapproved() {
				r.unapproved++
			}
			if f.unrendered {
				r.unrendered = f.key
			}
		case !f.moving && f.at.After(r.last):
			r.last = f.at
		}
		if why := r.failure(f); why != "" {
			r.failed = append(r.failed, fleet.FailedCluster{Cluster: f.key, Why: why})
		}
	}
}

// countAbsent counts what later stages wait for of f, which is left alone. That ends neither its
// change, nor its soak, nor its failure.
func (r *stageRun) countAbsent(f candidate) {
	switch {
	case f.broken && r.broken == (fleet.Key{}):
		r.broken = f.key
	case f.moving && f.left && r.left == (fleet.Key{}):
		r.left = f.key
	case f.damaged && r.damaged == (fleet.Key{}):
		r.damaged = f.key
	case (f.moving || f.held != f.wanted) && r.absent == (fleet.Key{}):
		r.absent = f.key
	case !f.moving && f.at.After(r.last):
		r.last = f.at
	}
	if why := r.failure(f); why != "" {
		r.failed = append(r.failed, fleet.FailedCluster{Cluster: f.key, Why: why})
	}
}

// failure says why f failed, on its way or in its soak. Where something newer is wanted that is
// another try: no failure is in the way of what repairs it.
func (r *stageRun) failure(f candidate) string {
	switch {
	case f.held != f.wanted:
		return ""
	case f.left && f.trouble.any != "":
		return f.trouble.any + " when it left the stage (" + goesOn(f.key) + ")"
	case f.left:
		return ""
	}
	if f.moving {
		if d := r.stage.Deadline; d > 0 {
			if late := f.since.Add(d); !r.now.Before(late) {
				if f.unseen { // the agent could not see in time whether it was done
					r.unseen = f.key
					return f.trouble.plane
				}
				return "it is not done after " + d.String()
			}
			r.wakeAt(f.since.Add(d))
			if f.arrived == arrivalUnknown && !f.excluded {
				r.unknown = f.key
			}
		}
		return f.trouble.plane
	}
	return f.trouble.failed(f.at, r.stage.Soak, r.now)
}

// halted says why the stage is halted; empty: it is not.
func (r *stageRun) halted() string {
	if len(r.failed) <= r.stage.Failures {
		return ""
	}
	const most = 3
	var parts []string
	for i, f := range r.failed {
		if i == most {
			parts = append(parts, fmt.Sprintf("%d more", len(r.failed)-most))
			break
		}
		parts = append(parts, f.Cluster.String()+": "+f.Why)
	}
	return strings.Join(parts, "; ")
}

// giveVerdicts gives each cluster its verdict. Those that may begin are on their way from then on.
func (r *stageRun) giveVerdicts(own hold) {
	limit := r.stage.Limit(r.clusters)
	r.candidates = slices.Clone(r.candidates)
	r.verdicts = make([]verdict, len(r.candidates))
	for _, i := range r.order() {
		f := &r.candidates[i]
		t := verdict{stage: r.stage.Name}
		switch {
		case f.held == f.wanted:
		case f.forced, !f.excluded && f.arrived == f.wanted: // it was asked for, or goes back
			r.begin(f)
		case f.excluded:
			t.why, t.until = f.why, f.ends
		case own.why != "" && !f.stageForced:
			t.why, t.until = own.why, own.until
		case f.stale && !f.stageForced:
			t.why = "the newest revision has a problem with it"
		case r.stage.Approval && !f.approved:
			t.why = r.unapprovedWhy()
		case r.unrendered != (fleet.Key{}) && !f.stageForced:
			t.why = "the present definition of cluster " + r.unrendered.String() + " is not rendered yet"
		case f.closed != "" && !f.stageForced:
			t.why, t.until = f.closed, f.opens
		case !f.moving && r.moving >= limit:
			t.why = fmt.Sprintf("stage %s changes %s at a time", r.stage.Name, clusters(limit))
		default:
			r.begin(f)
		}
		r.wakeAt(t.until)
		r.verdicts[i] = t
	}
}

// order returns the candidates, as indices: first those that may be half changed, so that others do not exceed the limit with them.
func (r *stageRun) order() []int {
	var first, rest []int
	for i, f := range r.candidates {
		if f.arrived == arrivalUnknown {
			first = append(first, i)
		} else {
			rest = append(rest, i)
		}
	}
	return append(first, rest...)
}

// begin has f on its way to what is wanted. One that was on its way takes no other place.
func (r *stageRun) begin(f *candidate) {
	f.held = f.wanted
	if f.excluded {
		return
	}
	r.waiting--
	if !f.moving {
		r.moving++
	}
	if f.moving, f.since = true, r.now; r.first.IsZero() {
		r.first = r.now.UTC().Truncate(time.Second)
	}
	if d := r.stage.Deadline; d > 0 {
		r.wakeAt(r.now.UTC().Truncate(time.Second).Add(d))
	}
}

// goesOn says how others go on without cluster k.
func goesOn(k fleet.Key) string {
	return "fairlead release " + k.String() + " --skip goes on without it"
}

func clusters(n int) string {
	if n == 1 {
		return "1 cluster"
	}
	return fmt.Sprintf("%d clusters", n)
}

// finish returns the result, and what later stages wait for.
func (r *stageRun) finish(state fleet.StageState, own, before hold) (stageResult, hold) {
	out := fleet.StageStatus{
		Name: r.stage.Name, Clusters: r.clusters, Changing: r.moving, Waiting: r.waiting, Failed: r.failed, Digest: waitsOf(r.candidates), State: state, Since: r.first,
	}
	if r.unapproved > 0 && r.stage.Approval {
		out.Approvals = r.stage.Approvals
		out.Approved, _ = r.approved()
	}
	next := before
	busy := r.waiting+r.moving > 0
	broken := ""
	if r.broken != (fleet.Key{}) {
		broken = "stage " + r.stage.Name + " is not done: the newest revision has a problem with cluster " + r.broken.String()
	} else if r.damaged != (fleet.Key{}) {
		broken = "stage " + r.stage.Name + " is not done: the file of cluster " + r.damaged.String() + " on the status branch, which says how far the cluster is, cannot be read (restore the file from its last good commit, or delete it)"
	} else if r.absent != (fleet.Key{}) {
		broken = "stage " + r.stage.Name + " is not done: a change of cluster " + r.absent.String() + " is not done, and the cluster is suspended, paused or left alone (" + goesOn(r.absent) + ")"
	} else if r.left != (fleet.Key{}) {
		broken = "stage " + r.stage.Name + " is not done: cluster " + r.left.String() + " left it before its change was done (" + goesOn(r.left) + ")"
	}
	soaked := r.last.Add(r.stage.Soak)
	soaking := r.stage.Soak > 0 && !r.last.IsZero() && r.now.Before(soaked)
	switch {
	case state == fleet.StageHalted:
		out.Why = "stage " + r.stage.Name + " is halted: " + r.halted()
	case state == fleet.StageApproval:
		out.Why = r.unapprovedWhy()
	case !busy && soaking:
		out.State, out.Until = fleet.StageSoaking, soaked
	case !busy && broken != "":
		out.Why = broken
	case !busy:
		out.State = fleet.StageDone
	case r.moving > 0:
		out.State = fleet.StageChanging
	case own.why != "":
		out.Why, out.Until = own.why, own.until
	default:
		out.Why, out.Until = r.shut()
	}
	switch {
	case next.why != "":
	case state == fleet.StageHalted:
		next = hold{why: out.Why}
	case busy:
		next = hold{why: "stage " + r.stage.Name + " is not done"}
	case soaking:
		next = hold{why: "stage " + r.stage.Name + " soaks", until: soaked}
	case broken != "":
		next = hold{why: broken}
	}
	if soaking {
		r.wakeAt(soaked)
	}
	return stageResult{status: out, verdicts: r.verdicts, wake: r.wake}, next
}

// shut returns why none of those that wait may begin, and until when that is so of the first.
func (r *stageRun) shut() (why string, until time.Time) {
	for i, f := range r.candidates {
		t := r.verdicts[i]
		if !f.excluded && t.why != "" && (why == "" || !t.until.IsZero() && (until.IsZero() || t.until.Before(until))) {
			why, until = t.why, t.until
		}
	}
	return why, until
}

// wakeAt has the stage looked at again at t.
func (r *stageRun) wakeAt(t time.Time) { r.wake = earlier(r.wake, t, r.now) }

// earlier returns the earlier of two times after now; a zero time is none.
func earlier(a, b, now time.Time) time.Time {
	switch {
	case b.IsZero(), !b.After(now):
		return a
	case a.IsZero(), b.Before(a):
		return b
	}
	return a
}

// A candidate has what decides whether a cluster may take its newest definition.
type candidate struct {
	key         fleet.Key
	wanted      string    // digest of the newest
	held        string    // digest of its present definition
	moving      bool      // it is not complete with that yet
	since       time.Time // when it took that
	arrived     string
	at          time.Time
	trouble     trouble
	excluded    bool      // it is left alone, and no stage waits for it
	why         string    // of excluded
	ends        time.Time // of excluded; zero: with news
	left        bool      // of excluded: it counts in this stage for what it took there, and takes nothing else
	absent      bool      // of excluded: nothing shows that the newest revision works there, and no request skips it
	damaged     bool      // of absent: its file cannot be read
	forced      bool      // a request releases it from stages, windows and freezes
	stageForced bool      // a request releases its stage: the same, but not more at once
	approved    bool      // a person approved the waiting definition
	origin      fleet.WaveOrigin
	people      fleet.WavePeople
	broken      bool   // the newest revision has a problem with it, so nothing shows that the newest revision works there
	unrendered  bool   // its present definition, whose labels count, too, is not rendered yet
	stale       bool   // what waits is of an older revision, which no earlier stage may have had
	unseen      bool   // this agent has not observed it yet
	closed      string // the window or freeze for which it may not begin
	opens       time.Time
}

// unapproved reports whether something waits that somebody may have to approve of.
func (f candidate) unapproved() bool { return !f.excluded && f.held != f.wanted && !f.approved }

// A group is a stage with its clusters, sorted.
type group struct {
	stage      fleet.Stage
	candidates []candidate
	first      bool // it waits for no other
}

// groups returns all stages with their clusters, as orderOf has them.
func (s State) groups(g gates) []group {
	o := orderOf(&s.config.Waves)
	out := make([]group, len(o.stages))
	for i, stage := range o.stages {
		out[i] = group{stage: stage, first: o.first[i]}
	}
	for k, c := range s.clusters.all() {
		newest := c.newest()
		if !s.live(c) || newest == nil && c.recorded == nil {
			continue
		}
		i := o.ofChange(c)
		f := s.candidate(k, c, g)
		switch began, over := o.began(c.wave, g.now); {
		case over, began == i, f.excluded && !f.absent, c.lost(): // a release skips it, or nothing can end its change but what waits
		case c.next == nil: // labels that changed meanwhile do not end a change
			i = began
		default: // what waits has its own stage, and what the cluster has still counts in that of before
			out[began].candidates = append(out[began].candidates, leftCandidate(c.wave.departure(k, o.stages[began].Soak, g.now)))
		}
		f.stale = f.broken && c.refused == nil && !o.first[i] // a refused version needs the one that waits
		out[i].candidates = append(out[i].candidates, f)
	}
	for _, left := range s.waves.departed {
		i := o.leftIn(left.Stage)
		out[i].candidates = append(out[i].candidates, leftCandidate(left))
	}
	return out
}

// newest returns the newest definition of c.
func (c cluster) newest() *fleet.Cluster {
	if c.next != nil {
		return c.next
	}
	return c.definition
}

// candidate returns what counts of cluster k.
func (s State) candidate(k fleet.Key, c cluster, g gates) candidate {
	w := c.wave
	f := candidate{
		key: k, wanted: w.digest, held: w.digest, moving: w.moving(), since: w.since, arrived: w.arrived, at: w.at, trouble: w.trouble, origin: w.origin,
		broken: len(c.problems) > 0, unseen: w.unseen,
	}
	if f.arrived == "" {
		f.arrived = arrivedNowhere
	}
	if c.next != nil {
		if f.wanted = c.nextDigest; f.held == "" {
			f.held = "unknown"
		}
		f.moving = f.moving && w.arrived != arrivalUnknown // else it would take no place from others
		held := cmp.Or(c.definition, c.next)
		f.closed, f.opens = g.closedForChange(held.Labels, c.next.Labels, longestDrain(held))
		_, tried := s.unavailable[k]
		f.unrendered = c.lacksDefinition() && !tried && !s.alone
	}
	f.people = c.people()
	said := c.activeRelease()
	f.approved = said.Way == fleet.ReleaseApprove || said.Way == fleet.ReleaseNow
	switch suspended, until := s.suspended(k, c, g.now); {
	case c.damaged != "":
		f.excluded, f.absent, f.damaged, f.why = true, true, true, c.damaged
	case said.Way == fleet.ReleaseNow:
		f.forced, f.stageForced = !said.Stage, said.Stage
	case suspended:
		f.excluded, f.absent, f.why, f.ends = true, said.Way != fleet.ReleaseSkip && !w.fresh, "the cluster is suspended or paused", until
	case w.fresh:
		f.excluded, f.why = true, "the cluster is being made"
	case said.Way == fleet.ReleaseSkip:
		f.excluded, f.why = true, "it is skipped"
	}
	return f
}

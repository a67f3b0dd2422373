package rollout

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"fairlead.dev/fleet"
)

// A course is the status of one stage, with the tickets of its clusters.
type course struct {
	status  fleet.StageStatus
	tickets []ticket // of its facts
	wake    time.Time
}

// A stop says why later stages have to wait.
type stop struct {
	why   string
	until time.Time
}

// runStage returns the course of s with these clusters, at now, and what later stages wait for.
func runStage(s fleet.Stage, facts []fact, before stop, now time.Time) (course, stop) {
	r := stageRun{stage: s, facts: facts, now: now}
	r.count()
	own, state := before, fleet.StageWaiting
	if own.why == "" && r.unseen != (fleet.Key{}) {
		own.why = "the deadline of " + r.unseen.String() + " passed before this agent looked at the cluster: stage " + s.Name + " waits for that"
	}
	switch halt := r.halted(); {
	case halt != "":
		state = fleet.StageHalted
		if own.why == "" {
			own = stop{why: "stage " + s.Name + " is halted: " + halt}
		}
	case own.why == "" && s.Approval && r.unapproved > 0 && r.unapproved == r.waiting && r.moving == 0:
		state = fleet.StageApproval
	}
	r.give(own)
	return r.finish(state, own, before)
}

// stageRun is one run of runStage.
type stageRun struct {
	stage fleet.Stage
	facts []fact
	now   time.Time

	clusters, moving, waiting int
	unapproved                int       // of waiting
	broken, absent, unseen    fleet.Key // the first of each kind; zero: there is none
	last                      time.Time // when the last one was done
	first                     time.Time // since when the first is on its way
	failed                    []fleet.FailedCluster
	wake                      time.Time
	tickets                   []ticket
}

// count counts what the stage has of each kind.
func (r *stageRun) count() {
	for _, f := range r.facts {
		if f.out {
			if f.absent && f.held != f.wanted && r.absent == (fleet.Key{}) {
				r.absent = f.key
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
		case !f.moving && f.at.After(r.last):
			r.last = f.at
		}
		if why := r.failure(f); why != "" {
			r.failed = append(r.failed, fleet.FailedCluster{Cluster: f.key, Why: why})
		}
	}
}

// failure says why f failed, on its way or in its soak. Where something newer is wanted that is
// another try: no failure is in the way of what repairs it.
func (r *stageRun) failure(f fact) string {
	if f.held != f.wanted {
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
		}
		return f.trouble.plane
	}
	if !f.at.IsZero() && r.now.Before(f.at.Add(r.stage.Soak)) {
		return f.trouble.any
	}
	return ""
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

// give gives each cluster its ticket. Those that may begin are on their way from then on.
func (r *stageRun) give(own stop) {
	limit := r.stage.Limit(r.clusters)
	r.facts = slices.Clone(r.facts)
	for i := range r.facts {
		f := &r.facts[i]
		t := ticket{stage: r.stage.Name}
		switch {
		case f.held == f.wanted:
		case f.now, !f.out && f.arrived == f.wanted: // it was asked for, or goes back
			r.begin(f)
		case f.out:
			t.why, t.until = f.why, f.ends
		case own.why != "" && !f.turn:
			t.why, t.until = own.why, own.until
		case r.stage.Approval && !f.approved:
			t.why = r.unapprovedWhy()
		case f.shut != "" && !f.turn:
			t.why, t.until = f.shut, f.opens
		case !f.moving && r.moving >= limit:
			t.why = fmt.Sprintf("stage %s changes %s at a time", r.stage.Name, clusters(limit))
		default:
			r.begin(f)
		}
		r.wakeAt(t.until)
		r.tickets = append(r.tickets, t)
	}
}

// begin has f on its way to what is wanted. One that was on its way takes no other place.
func (r *stageRun) begin(f *fact) {
	f.held = f.wanted
	if f.out {
		return
	}
	r.waiting--
	if !f.moving {
		r.moving++
	}
	if f.moving, f.since = true, r.now; r.first.IsZero() {
		r.first = r.now.UTC().Truncate(time.Second)
	}
}

func clusters(n int) string {
	if n == 1 {
		return "1 cluster"
	}
	return fmt.Sprintf("%d clusters", n)
}

// finish returns the course, and what later stages wait for.
func (r *stageRun) finish(state fleet.StageState, own, before stop) (course, stop) {
	out := fleet.StageStatus{
		Name: r.stage.Name, Clusters: r.clusters, Changing: r.moving, Waiting: r.waiting, Failed: r.failed, Digest: waitsOf(r.facts), State: state, Since: r.first,
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
	} else if r.absent != (fleet.Key{}) {
		broken = "stage " + r.stage.Name + " is not done: something waits in cluster " + r.absent.String() + ", which is suspended, paused or left alone (fairlead release " + r.absent.String() + " --skip goes on without it)"
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
		next = stop{why: out.Why}
	case busy:
		next = stop{why: "stage " + r.stage.Name + " is not done"}
	case soaking:
		next = stop{why: "stage " + r.stage.Name + " soaks", until: soaked}
	case broken != "":
		next = stop{why: broken}
	}
	if soaking {
		r.wakeAt(soaked)
	}
	return course{status: out, tickets: r.tickets, wake: r.wake}, next
}

// shut returns why none of those that wait may begin, and until when that is so of the first.
func (r *stageRun) shut() (why string, until time.Time) {
	for i, f := range r.facts {
		t := r.tickets[i]
		if !f.out && t.why != "" && (why == "" || !t.until.IsZero() && (until.IsZero() || t.until.Before(until))) {
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

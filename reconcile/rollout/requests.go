package rollout

import (
	"slices"
	"time"

	"fairlead.dev/fleet"
)

// KeepAnswers is how long an answer stays on the status branch, and how old a signed
// request may be.
const KeepAnswers = 7 * 24 * time.Hour

// Requests are what people ask for on the status branch.
type Requests struct {
	List []fleet.Request // all, with the answers that are written
	// Recorded is what the status branch says of the clusters that unanswered requests
	// name, zero where it says nothing. Where a cluster is missing the branch could not
	// be read.
	Recorded map[fleet.Key]fleet.Report
}

// applyRequests takes in what people ask for. A request counts from now on where its
// acceptance is written; those without an answer, and those that are done, are answered.
func (d *Decision) applyRequests(q Requests, in Input) {
	s := &d.State
	for _, r := range q.List {
		answer := s.answer(r, q, in)
		switch {
		case answer.State != r.Answer.State:
			answer.At = in.Now.UTC().Truncate(time.Second)
			r.Answer = answer
			d.Answers = append(d.Answers, r)
		case s.expired(r, in.Now):
			d.Expired = append(d.Expired, r)
		}
	}
	s.setReleases(q.List)
	d.accept(keepDamaged(acceptedIn(q.List), q.List, s.accepted))
	for _, r := range q.List {
		if r.Kind == fleet.RequestAbandon && r.Open() && r.Answer.State == fleet.RequestAccepted && !s.revision.IsZero() {
			before := len(d.Forgotten)
			d.forgetGone([]fleet.Key{r.Cluster})
			d.AnswersDue = d.AnswersDue || len(d.Forgotten) > before // for the answer that it is done
		}
	}
}

// answer returns the answer to r, which is the one that it has where nothing is new.
func (s State) answer(r fleet.Request, q Requests, in Input) fleet.Answer {
	switch {
	case r.Unreadable: // the file stays unchanged, for somebody to repair
	case r.Distrusted != "" && r.Answer.State != fleet.RequestRefused: // whatever somebody wrote as its answer
		return refusal("%s: repeat the command with --signing-key and one of the request keys of the fleet", r.Distrusted)
	case r.Answer.State == "" && r.Signature != "" && in.Now.Sub(r.At) > KeepAnswers:
		return refusal("it was signed more than a week ago: repeat the command")
	case r.Answer.State == "":
		return s.admit(r, q, in.Now)
	case r.Open() && !s.revision.IsZero(): // before the first, what Git has is not known
		return s.fulfil(r, in.Reports[r.Cluster], in.Now)
	}
	return r.Answer
}

// expired reports whether the answer to r was there long enough.
func (s State) expired(r fleet.Request, now time.Time) bool {
	return !r.Unreadable && !r.Open() && now.Sub(r.Answer.At) > KeepAnswers && !r.InEffect()
}

// acceptedIn returns the requests of list that count, by cluster.
func acceptedIn(list []fleet.Request) map[fleet.Key][]fleet.Request {
	out := make(map[fleet.Key][]fleet.Request)
	for _, r := range list {
		if r.InEffect() && r.Kind != fleet.RequestRelease {
			out[r.Cluster] = append(out[r.Cluster], r)
		}
	}
	return out
}

// keepDamaged returns now with the suspensions that counted before and whose files cannot
// be read any more, by list. It is not known who wrote such a file: without a key, no one
// stops a cluster by writing what cannot be read, nor starts one by damaging a file.
func keepDamaged(now map[fleet.Key][]fleet.Request, list []fleet.Request, before map[fleet.Key][]fleet.Request) map[fleet.Key][]fleet.Request {
	for _, r := range list {
		if !r.Unreadable || r.Distrusted == "" || slices.ContainsFunc(now[r.Cluster], r.SameSubject) {
			continue
		}
		if i := slices.IndexFunc(before[r.Cluster], r.SameSubject); i >= 0 {
			now[r.Cluster] = append(now[r.Cluster], before[r.Cluster][i])
		}
	}
	return now
}

// accept makes now the requests that count. Changed are the clusters for which others
// counted before.
func (d *Decision) accept(now map[fleet.Key][]fleet.Request) {
	s := &d.State
	for k, list := range now {
		if slices.ContainsFunc(list, notIn(s.accepted[k])) {
			d.Changed = append(d.Changed, k)
		}
	}
	for k, old := range s.accepted {
		over := slices.DeleteFunc(slices.Clone(old), func(r fleet.Request) bool { return r.Kind == fleet.RequestReconcile })
		if slices.ContainsFunc(over, notIn(now[k])) {
			d.Changed = append(d.Changed, k)
		}
	}
	kept := make(map[fleet.Key]lastPass)
	for k, h := range s.lastPasses {
		if len(now[k]) > 0 {
			kept[k] = h
		}
	}
	s.accepted, s.lastPasses = now, kept
	s.unsettle() // no stage waits for suspended clusters
}

func notIn(list []fleet.Request) func(fleet.Request) bool {
	return func(r fleet.Request) bool { return !slices.ContainsFunc(list, r.Identical) }
}

// WakeAt returns when time alone changes something after now, as the end of a suspension
// does; zero: never.
func (s State) WakeAt(now time.Time) time.Time {
	next := earlier(time.Time{}, s.waves.wake, now)
	for _, list := range s.accepted {
		for _, r := range list {
			if r.Kind == fleet.RequestSuspend && r.Until.After(now) && (next.IsZero() || r.Until.Before(next)) {
				next = r.Until
			}
		}
	}
	return next
}

// fulfil returns the answer to r, which was accepted: that it is done, or the one that it
// has. report is the newest of its cluster.
func (s State) fulfil(r fleet.Request, report fleet.Report, now time.Time) fleet.Answer {
	last, passed := s.lastPasses[r.Cluster]
	c, known := s.clusters.get(r.Cluster)
	done := fleet.Answer{State: fleet.RequestDone}
	switch {
	case r.Kind == fleet.RequestRelease:
		return s.fulfilRelease(r)
	case r.Kind == fleet.RequestAbandon && known: // it is done once it is forgotten
		return r.Answer
	case r.Kind == fleet.RequestAbandon:
		done.Message = r.Answer.Message
		return done
	case !known || c.orphan:
		done.Message = "the cluster is gone from the fleet"
		return done
	case r.Kind == fleet.RequestSuspend && !r.Until.IsZero() && !now.Before(r.Until):
		done.Message = "the time is over"
		return done
	case !passed || !slices.ContainsFunc(last.requests, r.Identical):
		return r.Answer
	}
	switch r.Kind {
	case fleet.RequestReconcile:
		done.Message = "looked at it: " + string(report.Phase)
		if report.Failure != "" {
			done.Message += ", " + report.Failure
		}
		return done
	case fleet.RequestReplace, fleet.RequestRemediate:
		there := func(m fleet.MachineReport) bool { return m.Machine.ID() == r.MachineID() }
		if report.Phase != "" && !slices.ContainsFunc(report.Machines, there) {
			done.Message = "the machine is gone"
			return done
		}
		if r.Kind == fleet.RequestRemediate && isLastControlPlane(c.definition, report.Machines, r.MachineID()) {
			return refusal(lastMachine)
		}
	case fleet.RequestRotate:
		if report.Phase == fleet.PhaseProvisioned && last.rotated(r.What) {
			return done
		}
	}
	return r.Answer
}

// rotated reports whether the rotation is over. One without stages is over once all
// machines are replaced.
func (l lastPass) rotated(what fleet.Rotation) bool {
	if what.Authority() == "" {
		return true
	}
	now := l.granted[what.Authority()]
	return !now.UnderWay() && now.Wish == fleet.TrustChecksum([]byte(l.rotations[what]))
}

package rollout

import (
	"slices"
	"time"

	"fairlead.dev/fleet"
)

// Input is all that a decision follows from: what was decided before, and what is new.
// What is left out of the news is as it was.
type Input struct {
	Before State
	Now    time.Time

	Newest   *Revision                   // the newest revision of the source, as it was seen now
	Older    []Revision                  // of State.MissingDefinitions
	Repaired map[fleet.Key]*fleet.Report // of State.Damaged, whose record can be read now; nil: there is none any more
	Tagged   map[string][]fleet.Key      // clusters with tags of the fleet, by the provider that has them
	Passes   []Pass
	Gone     []fleet.Key // clusters that are deleted or abandoned: forgotten, unless Git has them
	Requests *Requests
	Sizes    *Sizes
	Written  *Written
	// Reports are the newest reports of the clusters that something is asked of, at
	// least.
	Reports map[fleet.Key]fleet.Report
}

// A Revision is one that was seen, and its result: Fleet, Refused or Late. With none of
// these, nothing is new about the revision.
type Revision struct {
	Revision    fleet.Revision
	Fleet       *fleet.Fleet    // as it was rendered
	Authors     []string        // with Fleet, who wrote what came since State.Applied, each as fleet.Person has it; empty: not known
	Notices     []fleet.Problem // with Fleet, that keep no cluster from being applied
	Refused     string          // why it can never be used
	Unavailable string          // why it cannot be got yet
}

// A Decision is what follows from an Input.
type Decision struct {
	State State

	Changed       []fleet.Key // clusters that a pass has something new to say about, sorted: first those that are behind
	Forgotten     []fleet.Key // clusters of which nothing is known any more, sorted
	StatusChanged bool        // State.Status says something else than before

	Answers    []fleet.Request // to be written, and then to be decided on again
	Expired    []fleet.Request // whose files are to go
	AnswersDue bool            // requests are ready to be answered, with the next look at them

	Sign    []fleet.Scale // numbers that count, to be signed and written once more
	Drop    []fleet.Scale // numbers of no pool that may be scaled
	Ignored []string      // numbers that count for nothing, and why
}

// Decide returns what follows from in.
func Decide(in Input) Decision {
	d := Decision{State: in.Before}
	if in.Newest != nil {
		d.applyRevision(*in.Newest, in.Now)
	}
	for _, r := range in.Older {
		d.restore(r)
	}
	if in.Newest != nil || len(in.Older)+len(in.Repaired)+len(in.Gone) > 0 {
		d.State.unsettle()
	}
	d.repair(in.Repaired)
	if len(in.Tagged) > 0 {
		d.State.applyTagged(in.Tagged)
	}
	for _, p := range in.Passes {
		d.applyPass(p, in)
	}
	d.forgetGone(in.Gone)
	if in.Requests != nil {
		d.applyRequests(*in.Requests, in)
	}
	if in.Written != nil {
		d.applyWritten(*in.Written)
	}
	if in.Sizes != nil {
		d.applySizes(*in.Sizes)
	}
	d.settle(in.Now)
	d.State.dropResolved(&d)
	d.Changed, d.Forgotten = d.State.behindFirst(sorted(d.Changed)), sorted(d.Forgotten)
	if in.Newest != nil && in.Newest.Fleet != nil || len(in.Older)+len(in.Tagged)+len(d.Changed)+len(d.Forgotten) > 0 {
		d.findUnknown()
	}
	return d
}

// behindFirst returns keys with those first that are behind: an agent that starts has these done before it looks at all
// that were at rest.
func (s State) behindFirst(keys []fleet.Key) []fleet.Key {
	atRest := func(k fleet.Key) bool { return !s.clusters.of(k).behind }
	first := slices.DeleteFunc(slices.Clone(keys), atRest)
	return append(first, slices.DeleteFunc(keys, func(k fleet.Key) bool { return !atRest(k) })...)
}

// sorted returns keys sorted, each once.
func sorted(keys []fleet.Key) []fleet.Key {
	slices.SortFunc(keys, fleet.Key.Compare)
	return slices.Compact(keys)
}

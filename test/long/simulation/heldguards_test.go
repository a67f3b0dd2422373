package simulation

import (
	"slices"
	"strings"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/inmemory"
)

// leavesHeld checks that machine id, which a change is of, was not one with damaged
// tags as the pass looked.
func (j *judgement) leavesHeld(id string) {
	if d, ok := j.life.damageOf(id); ok && d.since.Before(j.turn.began.Add(-time.Second)) {
		j.violates("WhatIsHeldIsLeftAlone", "machine %s has damaged tags: %s", id, d.tag)
	}
	m, _ := j.life.machine(id)
	j.life.mu.Lock()
	since, ok := j.life.twice[fleet.MachineName(m.Name)]
	j.life.mu.Unlock()
	if ok && since.Before(j.turn.began.Add(-time.Second)) {
		j.violates("WhatIsHeldIsLeftAlone", "listings show machine %s twice", id)
	}
}

// seesAll checks that no machine is made while one works that the account did not see as the pass looked.
func (j *judgement) seesAll() {
	for _, m := range ours(j.life.cloud.Facts(), j.key) {
		looked := j.turn.began.Add(-5 * time.Second)
		works := j.life.availableSince(m.ID)
		if j.life.isKnown(m) && j.life.outOfSight(m, looked) && !works.IsZero() && works.Before(looked) && !m.Deleted {
			j.violates("NoneBesideOneOutOfSight", "machine %s works, and listings do not show it", m.Name)
		}
	}
}

// outOfSight reports whether listings did not show m at a time.
func (l *life) outOfSight(m inmemory.MachineFacts, at time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	since, hidden := l.hidden[fleet.MachineName(m.Name)]
	return hidden && since.Before(at)
}

// leavesNothing checks that nothing is left of the cluster whose secrets go.
func (j *judgement) leavesNothing() {
	facts := j.life.cloud.Facts()
	machines := slices.DeleteFunc(ours(facts, j.key), func(m inmemory.MachineFacts) bool { return m.Deleted })
	networks := slices.DeleteFunc(facts.Networks, func(n inmemory.Network) bool {
		return n.Tags[fleet.TagFleet] != theFleet || n.Tags[fleet.TagCluster] != j.key.String()
	})
	if len(machines)+len(networks) > 0 {
		j.violates("SecretsGoLast", "there are %d machines and %d networks", len(machines), len(networks))
	}
}

// judgeReasons checks that machines that health checks condemn, in a pass, were
// unwell for as long as the checks wait, whatever clocks say.
func (in *incarnation) judgeReasons(t turn, actions []fleet.Action) {
	l := in.life
	facts := l.truth()
	for _, a := range actions {
		_, reason, condemned := strings.Cut(a.Reason, "health check ")
		switch a.Kind {
		case fleet.DrainNode, fleet.RemoveMember, fleet.DeleteMachine:
		default:
			continue
		}
		if !condemned || l.upsetAt(t.cluster.Key).After(t.began.Add(-time.Second)) {
			continue
		}
		least := 5 * time.Minute // of any check
		if strings.Contains(reason, "no node within") {
			least = 10 * time.Minute
		}
		least -= 2*l.differ + 30*time.Second
		var longest time.Duration // a backup that was restored has the name, too
		found := false
		for _, m := range ours(facts, t.cluster.Key) {
			if fleet.MachineName(m.Tags[fleet.TagMachine]) != a.Machine || a.ProviderID != "" && a.ProviderID != m.Provider {
				continue
			}
			l.mu.Lock()
			heard := l.heard[t.cluster.Key]
			l.mu.Unlock()
			was := l.unwellFor(m.ID, t.began)
			if heard.IsZero() || heard.After(t.began) {
				was = t.began.Sub(m.Created) // nobody can know that it ever was well
			}
			longest, found = max(longest, was), true
		}
		if found && longest < least {
			l.violate("NoMachineReplacedByAClock: %s: it was unwell for %s: %s", a, longest, a.Reason)
		}
	}
}

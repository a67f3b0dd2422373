package agent

import (
	"context"
	"time"

	"fairlead.dev/agent/backoff"
	"fairlead.dev/fleet"
)

const (
	// nudgeGap passes between two polls that nudges made, so that a storm of
	// pushes is one poll a second.
	nudgeGap = time.Second
	// A forge may tell of a push before all of its servers show it: a nudge that
	// finds nothing new looks again after lookAgain, and a last time after
	// lookLast.
	lookAgain = 2 * time.Second
	lookLast  = 10 * time.Second
)

// nudges are what makes an agent poll at once. All but c is touched by follow
// alone.
type nudges struct {
	c      chan struct{}
	last   time.Time       // that a nudge was followed
	before fleet.Revision  // what was known then
	again  []time.Duration // until further looks, while nothing new is found
}

// Poll makes the agent look at its source now and not with the next interval.
// It does not wait; calls that come close together are one.
func (a *Agent) Poll() {
	select {
	case a.nudge.c <- struct{}{}:
	default:
	}
}

// await waits for the time of the next poll, and reports whether ctx still goes
// on.
func (a *Agent) await(ctx context.Context, changed <-chan struct{}) bool {
	n := &a.nudge
	wait := backoff.Jitter(a.claim.Interval())
	if len(n.again) > 0 && a.targets.decided().Newest() == n.before {
		wait, n.again = min(wait, n.again[0]), n.again[1:]
	}
	timer := time.NewTimer(a.restoring.sooner(a.retries.sooner(wait)))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-changed:
	case <-n.c:
		if !backoff.Sleep(ctx, nudgeGap-time.Since(n.last)) {
			return false
		}
		select { // what came meanwhile is answered by the same poll
		case <-n.c:
		default:
		}
		n.last, n.before, n.again = time.Now(), a.targets.decided().Newest(), []time.Duration{lookAgain, lookLast}
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

// Writes reports whether the agent itself writes the branch of that name in the
// status repository. People write to the status branch as well: see Wrote.
func (a *Agent) Writes(branch string) bool {
	select {
	case <-a.owned:
		e := a.targets.decided().Config().Escrow
		return branch == a.branch || len(e.Recipients) > 0 && e.Repository == "" && branch == e.Branch
	default: // the name may be in fleet.yaml, which was not read yet
		return a.o.StatusBranch != "" && branch == a.o.StatusBranch
	}
}

// Wrote reports whether a push that brought a branch which the agent writes to that
// commit, in hex, was its own: then it is no news. To the escrow nobody else pushes
// anything for the agent.
func (a *Agent) Wrote(branch, commit string) bool {
	select {
	case <-a.owned:
		return branch != a.branch || commit != "" && a.ledger.Wrote != nil && a.ledger.Wrote(commit)
	default:
		return false
	}
}

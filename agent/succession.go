package agent

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/sources/status"
)

// A SecretGate keeps secrets as they are while they are being moved.
type SecretGate interface {
	// Hold waits for what is being stored, replaced or removed, and refuses more
	// of it. Reading goes on.
	Hold(why string)
	// Release ends that.
	Release()
}

// A Looker looks at a cluster, and has nothing to change one with.
type Looker interface {
	Look(ctx context.Context, c *fleet.Cluster) (fleet.Observed, error)
}

// hurried is how often a succession that is under way is looked at.
const hurried = 3 * time.Second

// pace returns how long to wait between polls.
func (a *Agent) pace() time.Duration {
	if a.next.Load() != nil {
		return min(a.o.Interval, hurried)
	}
	return a.o.Interval
}

// saw notes which succession is under way.
func (a *Agent) saw(next fleet.Succession) {
	if next == (fleet.Succession{}) {
		a.next.Store(nil)
		return
	}
	a.next.Store(&next)
}

// succeed does the owner's part of a succession. The error is a *NotOwnerError
// once the fleet has another owner.
func (a *Agent) succeed(ctx context.Context, owner fleet.Owner, next fleet.Succession) error {
	a.saw(next)
	if next.To == "" || next.To == a.o.Name {
		a.hold(next, false)
		return nil
	}
	// Whoever starts in the middle of a move holds secrets, too.
	a.hold(next, true)
	switch next.Step {
	case fleet.StepAsked:
		a.p.Log.Info("agreeing to hand the fleet over, storing no secrets meanwhile", "to", next.To)
		if err := a.ledger.Arbiter.Succeed(ctx, owner, next, next.At(fleet.StepGranted)); err != nil && ctx.Err() == nil {
			a.p.Log.Warn("cannot agree to hand the fleet over, trying again", "error", err)
		}
	case fleet.StepReady:
		return a.yield(ctx, owner, next)
	}
	return nil
}

func (a *Agent) hold(next fleet.Succession, on bool) {
	if a.p.Gate == nil {
		return
	}
	if on {
		a.p.Gate.Hold(fmt.Sprintf("secrets are being moved to agent %q", next.To))
		return
	}
	a.p.Gate.Release()
}

// yield hands the fleet over to a successor that is ready. Passes under way end
// before, and none begins until it is known who owns the fleet: an answer that
// got lost must not make two of them act.
func (a *Agent) yield(ctx context.Context, owner fleet.Owner, next fleet.Succession) error {
	a.p.Log.Info("handing the fleet over, ending passes", "to", next.To)
	a.acting.close()
	defer a.acting.open()
	// The last status tells the next owner what is left to be cleared.
	if _, err := a.status.Flush(ctx); err != nil {
		a.p.Log.Warn("the last status before the hand-over is not written yet, trying again", "error", err)
		return nil
	}
	_, err := a.ledger.Arbiter.Yield(ctx, owner, next)
	if err != nil && ctx.Err() == nil {
		a.p.Log.Warn("the hand-over was not confirmed, looking who owns the fleet", "error", err)
	}
	for wait := time.Second; ctx.Err() == nil; wait = min(2*wait, time.Minute) {
		now, after, err := a.ledger.Arbiter.Succession(ctx)
		if err == nil {
			a.saw(after)
			return a.judge(now)
		}
		a.p.Log.Warn("cannot read the owner of the fleet, doing nothing until then", "error", err, "after", wait)
		pause(ctx, wait)
	}
	return nil
}

// acts tells the world that the new owner does what an owner does, once it does.
// Many passes may end at once, and one of them says it.
func (a *Agent) acts(ctx context.Context) {
	if !a.confirming.TryLock() {
		return
	}
	defer a.confirming.Unlock()
	owner, next := a.owner.Load(), a.next.Load()
	if owner == nil || next == nil || next.To != a.o.Name || next.Step != fleet.StepHandedOver {
		return
	}
	if err := a.ledger.Arbiter.Succeed(ctx, *owner, *next, fleet.Succession{}); err != nil {
		// A conflict says that what was known is old: the next poll knows more.
		if ctx.Err() == nil && fleet.KindOf(err) != fleet.Conflict {
			a.p.Log.Warn("cannot confirm the hand-over, trying again with the next pass", "error", err)
		}
		return
	}
	a.next.CompareAndSwap(next, nil)
}

// apply does a successor's part: once the secrets are here it tries whether it
// could act, and says so, or why not.
func (a *Agent) apply(ctx context.Context, owner fleet.Owner, next fleet.Succession) {
	if next.Step != fleet.StepMoved {
		return
	}
	a.p.Log.Info("looking at every cluster before taking the fleet", "from", owner.Agent)
	answer := next.At(fleet.StepReady)
	answer.Place = a.at
	if err := a.rehearse(ctx, next); err != nil {
		a.p.Log.Warn("not ready to take the fleet", "error", err)
		answer = next
		answer.Message = oneLine(err)
	}
	if ctx.Err() != nil || answer == next {
		return
	}
	if err := a.ledger.Arbiter.Succeed(ctx, owner, next, answer); err != nil && ctx.Err() == nil {
		a.p.Log.Warn("cannot say that this agent is ready, trying again", "error", err)
	}
}

// oneLine returns what err says, fit for a line in Git.
func oneLine(err error) string {
	const most = 500
	s := strings.Join(strings.Fields(err.Error()), " ")
	if r := []rune(s); len(r) > most {
		s = string(r[:most]) + "…"
	}
	return s
}

// sameView says what of c the owner of the fleet sees and this agent does not.
func sameView(c *fleet.Cluster, seen fleet.Observed, s status.Status) error {
	if len(seen.Infrastructure.Machines) > 0 && len(seen.Secrets.Missing) > 0 {
		return fmt.Errorf("cluster %s has machines, and its secrets are not here: %v", c.Key, seen.Secrets.Missing)
	}
	known, ok := s.Cluster(c.Key)
	if !ok {
		return nil
	}
	if known.Report.Phase == fleet.PhaseProvisioned && !seen.Workload.Reachable {
		return fmt.Errorf("the API server of cluster %s does not answer here: %s", c.Key, seen.Workload.Message)
	}
	for _, m := range known.Report.Machines {
		if !slices.ContainsFunc(seen.Infrastructure.Machines, func(o fleet.Machine) bool { return o.ProviderID == m.Machine.ProviderID }) &&
			m.Machine.State == fleet.MachineRunning && known.Report.Phase == fleet.PhaseProvisioned {
			return fmt.Errorf("machine %s of cluster %s is not seen here: are these the same credentials?", m.Machine.Name, c.Key)
		}
	}
	return nil
}

package plan

import (
	"slices"
	"strings"
	"time"

	"fairlead.dev/fleet"
)

// retryOf returns the remembered tries to replace machines of g that failed to start;
// zero: there are none, or they are over.
func (f *facts) retryOf(g *group) fleet.PoolRetry {
	r := fleet.RetryOf(f.Memory.Retries, g.pool)
	if r.Tries == 0 || f.retryOver(g, r) {
		return fleet.PoolRetry{}
	}
	return r
}

// retryOver reports whether a machine of g has joined since its last try, or g has all
// machines that it should have.
func (f *facts) retryOver(g *group, r fleet.PoolRetry) bool {
	since, joined := f.from(r.Last), 0
	for _, m := range g.all {
		if m.node == nil {
			continue
		}
		if joined++; !m.node.Created.Add(-f.Observed.Workload.Ahead).Before(since) {
			return true
		}
	}
	return g.joinedSince(f, since) || joined == len(g.all) && joined >= g.pool.Replicas
}

// retryAt returns when g tries again to replace a machine that failed to start; zero: at once.
func (f *facts) retryAt(g *group) time.Time {
	r := f.retryOf(g)
	if r.Tries == 0 {
		return time.Time{}
	}
	return f.from(r.Last).Add(fleet.RetryWait(failedRetry, r.Tries))
}

// untilRetry returns how long g waits for that.
func (f *facts) untilRetry(g *group) time.Duration { return f.retryAt(g).Sub(f.Now) }

// noteRetry says until when g waits to replace m, which failed to start.
func (f *facts) noteRetry(g *group, m *machine) {
	f.wake(f.untilRetry(g))
	f.note("pool %s waits until %s to replace machines that failed to start: no machine has joined since the last of its tries (%d)%s",
		g.name, stamp(f.retryAt(g)), f.retryOf(g).Tries, because(m.Message))
}

func stamp(at time.Time) string { return at.UTC().Format(time.RFC3339) }

// retries returns what is remembered of tries, with those that begin by this plan.
func (d *draft) retries() []fleet.PoolRetry {
	switch {
	case d.contradicted != "" || d.paused():
		return d.Memory.Retries
	case d.deleting():
		return nil
	}
	var out []fleet.PoolRetry
	for _, g := range d.groups {
		if g.pool == nil {
			continue
		}
		r := d.retryOf(g)
		if d.beginsTry(g) {
			r = fleet.PoolRetry{Pool: g.name, Template: g.pool.Template, Tries: r.Tries + 1, Last: d.Now.UTC().Truncate(time.Second)}
		}
		if r.Tries > 0 {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b fleet.PoolRetry) int { return strings.Compare(string(a.Pool), string(b.Pool)) })
	return out
}

// beginsTry reports whether the plan replaces a machine of g that failed to start, or asks
// again for one that could not be made.
func (d *draft) beginsTry(g *group) bool {
	return d.askedAgain[g] || slices.ContainsFunc(g.all, func(m *machine) bool {
		return m.isTry && slices.ContainsFunc(d.out.Actions, func(a fleet.Action) bool {
			return (a.Kind == fleet.DeleteMachine || a.Kind == fleet.RemoveMember) && a.Machine == m.Name && a.ProviderID == m.ProviderID
		})
	})
}

// failedLately reports whether the last request for the machine of g called name failed a
// short time ago, and says so: what it failed of takes time to go. What one failed of fails
// the others of g as well, so that one at a time is asked for again.
func (d *draft) failedLately(g *group, name fleet.MachineName) bool {
	failures := d.Observed.Infrastructure.Failures
	i := slices.IndexFunc(failures, func(o fleet.Failure) bool { return o.Machine == name })
	if i < 0 {
		return false
	}
	at := d.from(failures[i].At)
	joined := g.joinedSince(d.facts, at)
	again := latest(at.Add(failedRetry), d.retryAt(g))
	switch left := again.Sub(d.Now); {
	case left > 0:
		d.wake(left + time.Second)
		d.wait("machine %s could not be made, and is asked for again at %s%s", name, stamp(again), because(failures[i].Message))
	case d.askedAgain[g]:
		d.wait("machine %s could not be made, and waits for another of pool %s, which is asked for again%s", name, g.name, because(failures[i].Message))
	default:
		d.askedAgain[g] = !joined
		return false
	}
	return true
}

package azure

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// An ask is a value that AKS was asked to give a cluster or an agent pool.
type ask struct{ id, what, value string }

func askOf(id, what string, value any) ask {
	return ask{strings.ToLower(id), what, fmt.Sprint(value)}
}

// askAgain is how long AKS is not asked again for a value that it took and does not have: a policy of the subscription, or
// another program, sets another one. Each request would hold up all other changes of the cluster for minutes.
const askAgain = time.Hour

// asked notes that AKS took a value.
func (p *Provider) asked(a ask) {
	p.asks.ForgetIf(func(_ ask, at time.Time) bool { return time.Since(at) > askAgain })
	p.asks.NoteFirst(a, time.Now())
}

// overruled returns what of the values that a cluster or an agent pool in a state does not have AKS took before, and forgets
// what it has by now: what changes later is another change.
func (p *Provider) overruled(id, state string, lacks []ask) []string {
	if state != succeeded {
		return nil
	}
	p.asks.ForgetIf(func(a ask, _ time.Time) bool { return strings.EqualFold(a.id, id) && !slices.Contains(lacks, a) })
	var out []string
	for _, a := range lacks {
		if at, ok := p.asks.Of(a); ok && time.Since(at) > p.o.Settle && time.Since(at) <= askAgain {
			out = append(out, a.what)
		}
	}
	slices.Sort(out)
	return out
}

// failedAgain is how long a change of a cluster that failed is not requested again: the agent pools have their turn meanwhile. AKS
// takes one change at a time, and one that fails takes minutes, too.
const failedAgain = 10 * time.Minute

// all is s as one value.
func (s *changes) all(id string) ask {
	var fields []any
	for _, d := range s.fields {
		fields = append(fields, d.String(), d.want)
	}
	return askOf(id, "all changes", fmt.Sprint(fields, s.tags, s.version))
}

// rests reports whether AKS took s a moment ago, and failed at it: what it made is forgotten. One that never served has no pools
// that wait.
func (m *managed) rests(s *changes) bool {
	at, ok := m.p.asks.Of(s.all(m.is.ID))
	return ok && m.serves() && time.Since(at) <= failedAgain
}

// overruledText says for people what AKS took and does not have; empty: nothing.
func overruledText(what []string) string {
	if len(what) == 0 {
		return ""
	}
	return fmt.Sprintf("AKS accepted a change, and something else changed it back: %s (set the value of Azure in Git, or exempt the cluster from the policy or program that sets it; the change is requested again every hour)", strings.Join(what, "; "))
}

// leaveOverruled takes out of s what AKS took before and the cluster does not have.
func (m *managed) leaveOverruled(s *changes) {
	var lacks []ask
	for _, d := range s.fields {
		lacks = append(lacks, askOf(m.is.ID, d.String(), d.want))
	}
	for k, v := range s.tags {
		lacks = append(lacks, askOf(m.is.ID, "tag "+k, v))
	}
	s.overruled = m.p.overruled(m.is.ID, m.is.Properties.Provisioning, lacks)
	s.fields = slices.DeleteFunc(s.fields, func(d difference) bool { return slices.Contains(s.overruled, d.String()) })
	maps.DeleteFunc(s.tags, func(k, _ string) bool { return slices.Contains(s.overruled, "tag "+k) })
}

// leaveOverruled takes out of d what AKS took before and the agent pool does not have.
func (w *wantedPool) leaveOverruled(d *poolDiff, is *agentPool) {
	d.overruled = w.m.p.overruled(w.poolID(is), is.is.Properties.Provisioning, w.asks(is, d))
	d.config = slices.DeleteFunc(d.config, func(what string) bool { return slices.Contains(d.overruled, what) })
}

// asks returns what of an agent pool differs.
func (w *wantedPool) asks(is *agentPool, d *poolDiff) []ask {
	var out []ask
	for what, s := range d.values {
		out = append(out, askOf(w.poolID(is), what, s.want))
	}
	return out
}

func (w *wantedPool) poolID(is *agentPool) string { return w.m.poolsID() + "/" + is.is.Name }

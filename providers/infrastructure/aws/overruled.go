package aws

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"fairlead.dev/providers/infrastructure/aws/cloud"
)

// An ask is a value that EKS was asked to give a thing; id is of one life of it.
type ask struct{ id, value string }

func askOf(id string, value any) ask {
	text, _ := json.Marshal(value) // values of Git have no cycles
	return ask{id, fmt.Sprintf("%T %s", value, text)}
}

// askAgain is how long EKS is not asked again for a value that it took and does not have: it could not give it, or a policy or a
// program sets another one. Each request keeps a cluster from all other changes for minutes.
const askAgain = time.Hour

// took notes that EKS took a value.
func (p *Provider) took(a ask) {
	p.asks.ForgetIf(func(_ ask, at time.Time) bool { return time.Since(at) > askAgain })
	p.asks.Note(a, time.Now())
}

// isTaken reports whether EKS took a value, and overruled whether it should have it by now.
func (p *Provider) isTaken(a ask) (taken, overruled bool) {
	at, ok := p.asks.Of(a)
	taken = ok && time.Since(at) <= askAgain
	return taken, taken && time.Since(at) > p.o.Settle
}

// recall forgets what EKS took and a thing does not lack any more: what changes later is another change. The time of the others
// begins once EKS is at work on the thing no longer.
func (p *Provider) recall(id, status string, lacks []ask) {
	if status != cloud.Creating && status != cloud.Updating && status != cloud.Deleting {
		p.asks.ForgetIf(func(a ask, _ time.Time) bool { return a.id == id && !slices.Contains(lacks, a) })
		return
	}
	for a := range p.asks.All() {
		if a.id == id {
			p.took(a)
		}
	}
}

// overruledText says for people what EKS took and does not have; empty: nothing.
func overruledText(what []string) string {
	if len(what) == 0 {
		return ""
	}
	slices.Sort(what)
	return fmt.Sprintf("EKS accepted a change and then did not have it: %s (its updates in AWS say why, if it failed; otherwise a policy or a program changed it back: exempt the cluster from that, or set the value of AWS in Git; the change is requested again every hour)", strings.Join(what, "; "))
}

// leaveOverruled takes out of s what EKS took before and the cluster does not have.
func (m *managed) leaveOverruled(s *changes) {
	lacks := make(map[string][]ask)
	for _, c := range s.steps {
		lacks[c.ask.id] = append(lacks[c.ask.id], c.ask)
	}
	m.p.recall(m.is.Endpoint, m.is.Status, lacks[m.is.Endpoint])
	for _, a := range m.addons {
		m.p.recall(a.ARN, a.Status, lacks[a.ARN])
	}
	m.overruled = nil
	s.steps = slices.DeleteFunc(s.steps, func(c change) bool {
		_, overruled := m.p.isTaken(c.ask)
		if overruled {
			m.overruled = append(m.overruled, c.what)
		}
		return overruled
	})
}

// leaveOverruled takes out of d what EKS took before and a node group does not have, and returns it for people. The number of
// machines is also tried alone.
func (d *groupDiff) leaveOverruled(p *Provider, is *cloud.Nodegroup) (overruled []string) {
	var number *cloud.NodegroupUpdate
	if d.update != nil && d.update.Scaling != nil {
		number = &cloud.NodegroupUpdate{Scaling: d.update.Scaling}
	}
	config, alone, tags := askOf(is.ARN, d.update), askOf(is.ARN, number), askOf(is.ARN, d.tags)
	p.recall(is.ARN, is.Status, []ask{config, alone, tags})
	leave := func(a ask, what ...string) bool {
		taken, known := p.isTaken(a)
		if known {
			overruled = append(overruled, what...)
			d.drift = without(d.drift, what)
		}
		return taken
	}
	if d.update != nil && leave(config, d.config...) {
		d.update = number
		if taken, _ := p.isTaken(alone); taken {
			d.update = nil
		}
	}
	if len(d.tags) > 0 && leave(tags, d.tagged()) {
		d.tags = nil
	}
	return overruled
}

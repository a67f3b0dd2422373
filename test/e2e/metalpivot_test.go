package e2e

import (
	"strings"
	"testing"
)

// The agent moves into a cluster on bare metal that it made, makes another worker from there,
// and the fleet comes back: no host is switched off meanwhile. Its home is deleted from outside.
func TestMetalPivot(t *testing.T) {
	m := newMetal(t, 3)
	m.guests.Prepare(loadImage)
	m.c.Name, m.c.NoNetwork = "home", true
	m.c.Extra = strings.ReplaceAll(controlPlaneCheck, "three", m.c.Name)
	laptop := m.secrets

	m.put("a home of one and one", m.c)
	config := m.bootstrap(m.c)
	m.measure("bootstrap: push to fleet in its home %s", since(m.pushed))
	m.secrets = "kubernetes:" + config
	m.empty(laptop)
	m.waitComplete(m.c)
	m.measure("bootstrap: push to 1+1 Provisioned, the worker by the agent in the home %s", since(m.pushed))
	m.owned("home.prod.home")
	m.podsReady(config)
	boots := m.boots()

	m.c.Workers = 2
	m.reach("two workers", "scaled to 1+2 by the agent in the home")
	if plan, err := m.plan(); err != nil {
		t.Errorf("the plan is not empty: %v\n%s", err, plan)
	}
	before, _ := m.report(m.c)
	m.secrets = m.rescue(config)
	m.owned("laptop")
	m.same(m.c, before)
	for name, n := range m.boots() {
		if was, ran := boots[name]; ran && n != was {
			t.Errorf("host %s was switched on %d times, and %d times before", name, n, was)
		}
	}
	m.delete()
}

// boots says how many times each host was switched on that runs a machine.
func (m *metalWorld) boots() map[string]int {
	m.t.Helper()
	out := make(map[string]int)
	r, _ := m.report(m.c)
	for _, at := range r.Machines {
		name := hostOf(at.Machine)
		out[name] = m.ironic.Host(name).State().Boots
	}
	return out
}

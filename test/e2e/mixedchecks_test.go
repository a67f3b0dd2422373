package e2e

import (
	"slices"
	"time"

	"fairlead.dev/fleet"
	oslab "fairlead.dev/test/lab/openstack/lab"
)

// checkHosts checks that hosts are as they were before. Servers that are gone are off.
func (m *mixed) checkHosts() {
	m.t.Helper()
	var names []string
	for _, h := range m.c.Hosts {
		names = append(names, h.Name)
	}
	m.checkFree(names...)
}

// stays checks for a while that the machines of a site are as they were.
func (m *mixed) stays(when string, before []string, guest bool) {
	m.t.Helper()
	for end := time.Now().Add(still); time.Now().Before(end); time.Sleep(time.Second) {
		r, _ := m.report(m.c)
		if now := m.machinesOf(r, guest); !slices.Equal(before, now) {
			m.t.Fatalf("%s, and its machines are %v, and were %v: %s", when, now, before, describe(r))
		}
	}
}

// machinesOf names the machines of the guest, or those of the first site.
func (m *mixed) machinesOf(r fleet.Report, guest bool) []string {
	var out []string
	for _, x := range r.Machines {
		if (x.Machine.Provider != "") == guest {
			out = append(out, string(x.Machine.ProviderID))
		}
	}
	slices.Sort(out)
	return out
}

// ready counts the workers of the guest, or those of the first site, that run.
func (m *mixed) ready(r fleet.Report, guest bool) int {
	n := 0
	for _, x := range r.Machines {
		if (x.Machine.Provider != "") == guest && x.Machine.Role == fleet.RoleWorker && x.Phase == fleet.MachinePhaseRunning {
			n++
		}
	}
	return n
}

// checkCloud checks that nothing is in the project but an address that people made.
func (m *mixed) checkCloud() {
	m.t.Helper()
	left, err := m.project.Things(m.ctx)
	if err != nil {
		m.t.Fatal(err)
	}
	left = slices.DeleteFunc(left, func(x oslab.Thing) bool { return m.c.Cloud.First && x.Kind == "floating IP" && x.Text == m.c.Endpoint })
	if len(left) > 0 {
		m.t.Errorf("left in OpenStack: %v", left)
	}
}

package e2e

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/test/lab/kubernetes/lab"
)

// rebootCheck reboots workers twice before they are replaced.
const rebootCheck = `apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineHealthCheck
metadata:
  name: NAME
spec:
  clusterName: NAME
  selector:
    matchLabels: {cluster.x-k8s.io/deployment-name: NAME-md-0}
  checks:
    unhealthyNodeConditions:
    - {type: Ready, status: Unknown, timeoutSeconds: 5}
  remediation:
    templateRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: Metal3RemediationTemplate, name: reboot}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: Metal3RemediationTemplate
metadata:
  name: reboot
spec:
  template:
    spec:
      strategy: {type: Reboot, retryLimit: 1, timeoutSeconds: 120}
`

// A host that hangs is rebooted by Ironic, and its machine is kept. One that hangs again, and after
// each reboot, is replaced on another host, and released.
func TestMetalReboot(t *testing.T) {
	m := newMetal(t, 3)
	m.c.Extra = strings.ReplaceAll(rebootCheck, "NAME", m.c.Name)
	m.startAgent()
	config := m.reach("one and one, and a host to spare", "made")
	m.podsReady(config)
	r, _ := m.report(m.c)
	before := m.worker(r)
	name := hostOf(before)
	disk := m.ironic.Host(name).State().Disk

	hung := m.hang(name)
	m.wait("the worker well after a reboot", func() (bool, string) {
		r, _ := m.report(m.c)
		return m.ironic.Host(name).State().Boots == hung.boots+1 && complete(m.c, r) && len(r.Reboots) == 0, describe(r)
	})
	m.measure("a host that hangs, %s: rebooted and well %s after, of which Kubernetes takes 50 s until it notices, and the health check 5 s", name, since(hung.at))
	r, _ = m.report(m.c)
	m.checkNodes(config, m.c, r)
	m.podsReady(config)
	if now := m.worker(r); now.ProviderID != before.ProviderID || m.ironic.Host(name).State().Disk != disk {
		t.Errorf("the worker was %s, and is %s; the host is %+v", before.ProviderID, now.ProviderID, m.ironic.Host(name).State())
	}

	m.guests.Prepare(func(_ context.Context, at *lab.Machine) error {
		if at != m.guests.Machine(name) {
			return nil
		}
		return at.Kill()
	})
	hung = m.hang(name)
	m.wait("another worker than "+string(before.Name), func() (bool, string) {
		r, _ := m.report(m.c)
		gone := !slices.ContainsFunc(r.Machines, func(at fleet.MachineReport) bool { return at.Machine.ProviderID == before.ProviderID })
		return gone && complete(m.c, r), describe(r)
	})
	m.measure("a host that hangs after each reboot: replaced %s after, of which its two reboots have 120 s each", since(hung.at))
	r, _ = m.report(m.c)
	if now := hostOf(m.worker(r)); now == name || m.ironic.Host(name).State().Boots < hung.boots+1 {
		t.Errorf("the worker is on %s, the host before is %+v, and was switched on %d times", now, m.ironic.Host(name).State(), hung.boots)
	}
	m.checkNodes(config, m.c, r)
	m.delete()
}

// A hung is a host that hangs since a time.
type hung struct {
	at    time.Time
	boots int // how many times it was switched on before
}

// hang has what runs on a host end, while its BMC says that it is on.
func (m *metalWorld) hang(name string) hung {
	m.t.Helper()
	s := m.ironic.Host(name).State()
	if err := m.guests.Machine(name).Kill(); err != nil {
		m.t.Fatal(err)
	}
	return hung{time.Now(), s.Boots}
}

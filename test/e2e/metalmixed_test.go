package e2e

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"

	"fairlead.dev/fleet"
)

// A control plane on VMs of a vCenter with workers on hosts of an Ironic: the cluster is made,
// scaled and upgraded; while Ironic is away its workers stay, and VMs are made; both sites are as
// they were in the end.
func TestMetalMixed(t *testing.T) {
	const vms, hosts = 3, 3
	m := newMetalMixed(t, vms, hosts)
	versions := m.lab.Versions()
	if len(versions) < 2 {
		t.Fatalf("machines of the lab have Kubernetes %v alone: `make lab-images` makes two versions", versions)
	}
	m.c.Version = versions[1]
	m.startAgent()
	config := m.reach("a control plane on vSphere, a worker on metal", "made, 1 on vSphere and 1 on metal")
	m.podsReady(config)
	m.killAgent(m.c)

	m.c.Metal.Workers = 2
	m.reach("two workers on metal", "scaled to 1+2")
	m.checkPods(config)
	if _, err := m.kubectl(config, "", "delete", "pdb", "web"); err != nil {
		t.Error(err)
	}
	m.c.Version = versions[0]
	m.reach("the next minor", "upgraded 1+2")
	m.podsReady(config)

	m.ironicAway()
	m.metal.allFree()
}

// A metalMixed is a cluster on a vCenter and on an Ironic in this process.
type metalMixed struct {
	*vCenterWorld
	metal *metalWorld
}

// newMetalMixed returns a cluster whose control plane is on VMs, of which there are as many as
// machines, and whose workers are on hosts.
func newMetalMixed(t *testing.T, vms, hosts int) *metalMixed {
	t.Helper()
	needsMetal(t)
	w := newWorld(t, "", slices.Concat(slices.Repeat([]string{vm}, vms), slices.Repeat([]string{metalHost}, hosts))...)
	m := &metalMixed{&vCenterWorld{world: w}, &metalWorld{world: w}}
	vSphere := m.newVCenter(w.lab.Machines()[:vms])
	at := m.metal.newIronic(w.lab.Machines()[vms:])
	at.Workers = 1
	haveAddress(t, endpointOfVMs)
	openDoor(t, net.JoinHostPort(endpointOfVMs, "6443"), m.dial)
	m.c = cluster{
		Name: "mixed", Template: vsphereYAML + metalWorkersYAML + metalHostsYAML, ControlPlanes: 1, Version: w.lab.Versions()[0], Endpoint: endpointOfVMs,
		VSphere: vSphere, Metal: at,
	}
	m.metal.c = m.c
	return m
}

// ironicAway has Ironic away: its workers stay as they are, which is told, and a worker on a VM is
// made. The cluster is deleted when Ironic is back.
func (m *metalMixed) ironicAway() {
	m.t.Helper()
	before, _ := m.report(m.c)
	onMetal := func(r fleet.Report) (ids []string) {
		for _, at := range r.Machines {
			if at.Machine.Provider != "" {
				ids = append(ids, string(at.Machine.ProviderID))
			}
		}
		return ids
	}
	// A host whose cleaning is cut off is cleaned again by the next cluster of its namespace.
	m.wait("hosts without a machine that are available", func() (bool, string) {
		s, err := m.status()
		available := 0
		for _, h := range s.Hosts {
			if h.State == fleet.HostAvailable {
				available++
			}
		}
		return err == nil && available == len(m.c.Metal.Hosts)-len(onMetal(before)), fmt.Sprintf("%d are, error %v", available, err)
	})
	m.metal.ironic.Crash()
	m.c.Workers, m.c.Metal.Workers = 1, 1
	m.put("with Ironic away", m.c)
	var r fleet.Report
	m.wait("a worker on a VM while Ironic is away", func() (bool, string) {
		r, _ = m.report(m.c)
		told := slices.ContainsFunc(r.Conditions, func(c fleet.Condition) bool {
			return c.Type == "SitesReady" && c.Status == fleet.False && strings.Contains(c.Message, "metal3")
		})
		ready := slices.ContainsFunc(r.Machines, func(at fleet.MachineReport) bool {
			return at.Machine.Provider == "" && at.Machine.Role == fleet.RoleWorker && at.Phase == fleet.MachinePhaseRunning
		})
		return told && ready, describe(r)
	})
	m.measure("a worker on a VM while Ironic is away: %s after the push", since(m.pushed))
	if now := onMetal(r); !slices.Equal(onMetal(before), now) {
		m.t.Errorf("Ironic is away, and machines on its hosts are %v, and were %v", now, onMetal(before))
	}
	if err := m.metal.ironic.Resume(m.ctx); err != nil {
		m.t.Fatal(err)
	}
	r = m.waitComplete(m.c)
	m.checkNodes(m.kubeconfig(m.c), m.c, r)
	m.delete()
}

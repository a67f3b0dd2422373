package e2e

import (
	"context"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"

	"fairlead.dev/fleet"
	oslab "fairlead.dev/test/lab/openstack/lab"
)

// server is the role of machines that are servers of OpenStack, and no hosts.
const server = "server"

// still is how long nothing may happen on a site that is away.
const still = 15 * time.Second

// Workers on servers of OpenStack beside a control plane and workers on hosts.
func TestMixedHostsFirst(t *testing.T) {
	m := newMixed(t, false, "control-plane", "control-plane", "worker", "worker", "balancer", server, server, server, server)
	m.live()
}

// Workers on hosts beside a control plane and workers on servers of OpenStack. The load
// balancer of Octavia has an address too.
func TestMixedOpenStackFirst(t *testing.T) {
	m := newMixed(t, true, "worker", "worker", "worker", server, server, server, server, server, server)
	m.live()
}

// A mixed is a cluster on both labs: machines join over the network of one, and servers
// are those of the other.
type mixed struct {
	*world
	cloud   openStack
	project *oslab.Project
	c       cluster
	near    *int // workers of the site with the control plane
	far     *int // workers of the other
}

func newMixed(t *testing.T, cloudFirst bool, roles ...string) *mixed {
	t.Helper()
	if os.Getenv("FAIRLEAD_TEST_E2E") == "" || os.Getenv("FAIRLEAD_TEST_OPENSTACK") == "" {
		t.Skip("it needs both labs: `make test-mixed` runs it")
	}
	m := &mixed{cloud: openOpenStack(t)}
	m.project = oslab.NewProject(t)
	endpoint := ""
	if cloudFirst {
		endpoint = m.floatingIP(t)
	}
	m.world = newWorld(t, "", roles...)
	versions := m.lab.Versions()
	if len(versions) < 2 {
		t.Fatalf("machines of the lab have Kubernetes %v alone: `make lab-images` makes two versions", versions)
	}
	m.flags = []string{"--openstack-tick", "3s", "--openstack-settle", "4s", "--openstack-rate", "200"}
	machines := m.lab.Machines()[slices.Index(roles, server):]
	h := m.newHypervisor(m.project, machines)
	m.c = cluster{
		Name: "mixed", Template: mixedYAML, ControlPlanes: 1, Workers: 1, Version: versions[1], Key: m.key(), Endpoint: endpoint,
		Cloud: &cloud{First: cloudFirst, CloudsYAML: string(m.project.CloudsYAML()), From: machines[0].Address, To: machines[len(machines)-1].Address, Workers: 1},
	}
	m.near, m.far = &m.c.Workers, &m.c.Cloud.Workers
	for _, on := range m.hosts {
		if on.Role != server {
			m.c.Hosts = append(m.c.Hosts, on)
		}
		if on.Role == balancer {
			m.c.Balancer, m.c.Endpoint = on.Name, on.Address
		}
	}
	if cloudFirst {
		m.near, m.far = m.far, m.near
		haveAddress(t, endpoint)
		address := net.JoinHostPort(endpoint, "6443")
		openDoor(t, address, func(ctx context.Context) (net.Conn, error) { return h.dial(ctx, address) })
	}
	return m
}

// floatingIP makes one in the project, which people give to the cluster.
func (m *mixed) floatingIP(t *testing.T) string {
	t.Helper()
	pages, err := networks.List(m.project.Admin.Network, networks.ListOpts{Name: "public"}).AllPages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	public, err := networks.ExtractNetworks(pages)
	if err != nil || len(public) != 1 {
		t.Fatalf("the lab has %d external networks (%v)", len(public), err)
	}
	ip, err := floatingips.Create(t.Context(), m.project.Clients(t).Network, floatingips.CreateOpts{FloatingNetworkID: public[0].ID}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	return ip.FloatingIP
}

// live takes the cluster through its life: it is made, scaled, upgraded, has the one and
// the other site away, loses a site in Git, gets it back, and is deleted.
func (m *mixed) live() {
	m.startAgent()
	config := m.reach("1+1+1", "made")
	m.podsReady(config)
	m.checkPods(config)
	if _, err := m.kubectl(config, "", "delete", "pdb", "web"); err != nil {
		m.t.Error(err)
	}
	m.run(config, 1)

	*m.far = 2
	m.reach("two workers of the guest", "scaled to 1+1+2")
	m.killAgent(m.c)

	m.c.Version = m.lab.Versions()[0]
	m.reach("the next minor", "upgraded 1+1+2")
	m.podsReady(config)

	m.guestAway()
	m.firstAway()
	m.leave(config)

	m.c.Left, *m.far = false, 1
	m.reach("the guest again", "made again on the guest")

	m.c.Delete = true
	m.put("no cluster", m.c)
	m.waitDeleted(m.c)
	m.checkHosts()
	m.checkCloud()
}

// reach pushes the cluster as it is to be, waits until it is so, and returns its kubeconfig.
func (m *mixed) reach(push, what string) string {
	m.t.Helper()
	m.put(push, m.c)
	r := m.waitComplete(m.c)
	m.measure("%s: push to Provisioned %s", what, since(m.pushed))
	config := m.kubeconfig(m.c)
	m.checkNodes(config, m.c, r)
	return config
}

// guestAway has the site of workers alone away: what is there stays, and the rest goes on.
func (m *mixed) guestAway() {
	before, _ := m.report(m.c)
	m.away(!m.c.Cloud.First, true)
	*m.near, *m.far = 2, 1
	m.put("with the guest away", m.c)
	var r fleet.Report
	m.wait("workers beside a guest that is away", func() (bool, string) {
		r, _ = m.report(m.c)
		told := slices.ContainsFunc(r.Conditions, func(c fleet.Condition) bool { return c.Type == "SitesReady" && c.Status == fleet.False })
		return told && r.Failure != "" && m.ready(r, false) == 2, describe(r)
	})
	m.measure("another worker while the guest is away: %s after the push", since(m.pushed))
	m.stays("the guest is away", m.machinesOf(before, true), true)
	m.back()
}

// firstAway has the site of the control plane away: workers of the other come and go, and
// nothing else does.
func (m *mixed) firstAway() {
	before, _ := m.report(m.c)
	m.away(m.c.Cloud.First, true)
	*m.near, *m.far = 1, 2
	m.put("with the first site away", m.c)
	m.wait("workers of the guest while the first site is away", func() (bool, string) {
		r, _ := m.report(m.c)
		return r.Failure != "" && m.ready(r, true) == 2, describe(r)
	})
	m.measure("another worker of the guest while the first site is away: %s after the push", since(m.pushed))
	m.stays("the first site is away", m.machinesOf(before, false), false)
	m.back()
}

// leave takes the guest out of Git while it is away: what leads there is remembered, and
// when it is back its machines go, and what they shared.
func (m *mixed) leave(config string) {
	before, _ := m.report(m.c)
	m.away(!m.c.Cloud.First, true)
	m.c.Left = true
	m.put("without the guest", m.c)
	m.wait("a guest that left and is away", func() (bool, string) {
		r, _ := m.report(m.c)
		return r.Digest != m.was && r.Failure != "" && len(r.Residence.Guests) == 1, describe(r)
	})
	m.stays("the guest left Git and is away", m.machinesOf(before, true), true)
	m.back()
	m.measure("a guest that left Git: gone %s after the push, for %s of which it was away", since(m.pushed), still)
	m.wait("a guest that is forgotten", func() (bool, string) {
		r, _ := m.report(m.c)
		return len(r.Residence.Guests) == 0, fmt.Sprint(r.Residence)
	})
	if out, err := m.kubectl(config, "", "get", "nodes", "-o", "name"); err != nil || strings.Count(out, "node/") != m.c.machines() {
		m.t.Errorf("nodes after the guest left: %s (%v)", out, err)
	}
	m.wait("two pods without the guest", func() (bool, string) {
		out, err := m.kubectl(config, "", "get", "deployment", "web", "-o", "jsonpath={.status.readyReplicas}")
		return err == nil && out == "2", fmt.Sprint(out, err)
	})
	if m.c.Cloud.First {
		m.checkHosts()
		return
	}
	m.checkCloud()
}

// away has nobody reach a site, or reach it again. Its machines go on.
func (m *mixed) away(cloud, away bool) {
	m.t.Helper()
	if cloud {
		m.cloud.close(away)
		return
	}
	do := "systemctl start ssh"
	if away {
		do = "systemctl stop ssh; pkill sshd; true"
	}
	for _, on := range m.lab.Machines() {
		if slices.ContainsFunc(m.c.Hosts, func(h host) bool { return h.Name == on.Name }) {
			if _, err := on.Exec(m.ctx, "sh", "-c", do); err != nil {
				m.t.Fatal(err)
			}
		}
	}
}

// back has both sites reached again, and waits until the cluster is as Git says.
func (m *mixed) back() {
	m.t.Helper()
	began := time.Now()
	m.away(true, false)
	m.away(false, false)
	r := m.waitComplete(m.c)
	m.measure("all as Git says %s after the site was back", since(began))
	m.checkNodes(m.kubeconfig(m.c), m.c, r)
}

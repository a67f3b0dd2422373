package openstack_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/pools"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/rules"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"

	"fairlead.dev/fleet"
	"fairlead.dev/test/lab/openstack/lab"
)

// TestSmall: a cluster without a load balancer, whose API server answers at a
// floating IP on its machine, comes and goes.
func TestSmall(t *testing.T) {
	w := newWorld(t)
	h := w.newShip("small")
	c := cluster{Name: "eu-1", CP: 1, Workers: 1}
	h.put("a small cluster", c)
	h.waitComplete(c)
	h.delete(c)
	w.wantNothingLeft()
}

// TestLifecycle: the life of a cluster of three control-plane machines behind a
// load balancer, beside things of others that are named like its own.
func TestLifecycle(t *testing.T) {
	w := newWorld(t)
	foreign := w.foreign("prod-eu-1", "eu-1-md-0-12345678")
	before := w.things()
	h := w.newShip("life")
	c := cluster{Name: "eu-1", CP: 3, Workers: 3, Components: []string{"load-balancer"}}
	h.put("three and three", c)
	h.waitComplete(c)
	first := h.report(c)

	c.Workers = 4
	h.put("scale", c)
	h.waitComplete(c)
	if kept := same(first, h.report(c)); kept != 6 {
		t.Errorf("scaling from 3 to 4 workers kept %d machines, want 6", kept)
	}

	c.Values = map[string]string{"OPENSTACK_NODE_FLAVOR": "m1.small"}
	h.put("another flavor for workers", c)
	h.waitComplete(c)
	if kept := same(first, h.report(c)); kept != 3 {
		t.Errorf("another flavor for workers kept %d machines, want 3", kept)
	}

	c.Version, c.Workers = newer, 2
	h.put("upgrade", c)
	h.waitComplete(c)
	if kept := same(first, h.report(c)); kept != 0 {
		t.Errorf("an upgrade kept %d machines, want 0", kept)
	}
	if at := h.report(c).Endpoint; at != first.Endpoint {
		t.Errorf("the endpoint moved from %v to %v", first.Endpoint, at)
	}
	w.damage(h, c)

	h.delete(c)
	after := w.things()
	if a, b := fmt.Sprint(before), fmt.Sprint(after); a != b {
		t.Errorf("of others there was\n%s\nand is now\n%s", a, b)
	}
	for _, id := range foreign {
		if !slices.ContainsFunc(after, func(x lab.Thing) bool { return x.ID == id }) {
			t.Errorf("%s of others is gone", id)
		}
	}
}

// damage breaks the cluster behind its back, in one way after the other.
func (w *world) damage(h *ship, c cluster) {
	t := w.t
	ctx, admin := t.Context(), w.project.Admin
	was := h.report(c)
	gone := func(what string, id fleet.ProviderID) {
		t.Helper()
		h.waitFor("mended after "+what, c.key(), func(r fleet.Report) bool {
			return complete(c)(r) && !slices.ContainsFunc(r.Machines, func(m fleet.MachineReport) bool { return m.Machine.ProviderID == id })
		})
	}
	worker := machine(was, fleet.RoleWorker)
	check(t, servers.Delete(ctx, admin.Compute, uuid(worker.ProviderID)).ExtractErr())
	gone("a worker was deleted", worker.ProviderID)

	control := machine(was, fleet.RoleControlPlane)
	check(t, servers.Delete(ctx, admin.Compute, uuid(control.ProviderID)).ExtractErr())
	gone("a control-plane machine was deleted", control.ProviderID)

	// The pool loses a member.
	pool := w.onePool()
	list := must(pools.ExtractMembers(must(pools.ListMembers(admin.LoadBalancer, pool, pools.ListMembersOpts{}).AllPages(ctx))(t)))(t)
	if len(list) != 3 {
		t.Errorf("the pool has %d members, want 3: %+v", len(list), list)
	}
	check(t, pools.DeleteMember(ctx, admin.LoadBalancer, pool, list[0].ID).ExtractErr())
	h.wait("the member is back", func() (bool, string) {
		now, err := listMembers(w, pool)
		return err == nil && slices.ContainsFunc(now, func(m pools.Member) bool { return m.Address == list[0].Address }), fmt.Sprint(now, err)
	})

	// A rule of the control plane's group is removed.
	open := w.rulesFor(6443)
	check(t, rules.Delete(ctx, admin.Network, open[0].ID).ExtractErr())
	h.wait("the rule is back", func() (bool, string) {
		now := w.rulesFor(6443)
		return len(now) == len(open), fmt.Sprint(now)
	})

	// The load balancer itself.
	lb := w.oneLoadBalancer()
	check(t, loadbalancers.Delete(ctx, admin.LoadBalancer, lb, loadbalancers.DeleteOpts{Cascade: true}).ExtractErr())
	h.wait("another load balancer with three members", func() (bool, string) {
		ids, err := w.boots.network.Servers(ctx, fmt.Sprintf("%s:%d", was.Endpoint.Host, was.Endpoint.Port))
		return err == nil && len(ids) == 3, fmt.Sprint(ids, err)
	})
	h.waitComplete(c)
}

func (h *ship) report(c cluster) fleet.Report {
	h.t.Helper()
	s, err := h.status()
	if err != nil {
		h.t.Fatal(err)
	}
	r, ok := s.Cluster(c.key())
	if !ok {
		h.t.Fatalf("there is no report of %s", c.key())
	}
	return r.Report
}

// same counts the machines of a that are in b.
func same(a, b fleet.Report) int {
	n := 0
	for _, m := range a.Machines {
		if slices.ContainsFunc(b.Machines, func(o fleet.MachineReport) bool { return o.Machine.ProviderID == m.Machine.ProviderID }) {
			n++
		}
	}
	return n
}

func machine(r fleet.Report, role fleet.Role) fleet.Machine {
	i := slices.IndexFunc(r.Machines, func(m fleet.MachineReport) bool { return m.Machine.Role == role })
	return r.Machines[i].Machine
}

func uuid(id fleet.ProviderID) string { return string(id)[strings.LastIndexByte(string(id), '/')+1:] }

func (w *world) onePool() string {
	w.t.Helper()
	list := must(pools.ExtractPools(must(pools.List(w.project.Admin.LoadBalancer, pools.ListOpts{ProjectID: w.project.ID}).AllPages(w.t.Context()))(w.t)))(w.t)
	if len(list) != 1 {
		w.t.Fatalf("there are %d pools, want 1", len(list))
	}
	return list[0].ID
}

func listMembers(w *world, pool string) ([]pools.Member, error) {
	pages, err := pools.ListMembers(w.project.Admin.LoadBalancer, pool, pools.ListMembersOpts{}).AllPages(w.t.Context())
	if err != nil {
		return nil, err
	}
	return pools.ExtractMembers(pages)
}

func (w *world) oneLoadBalancer() string {
	w.t.Helper()
	all := w.things("others")
	i := slices.IndexFunc(all, func(x lab.Thing) bool { return x.Kind == "load balancer" })
	if i < 0 {
		w.t.Fatal("there is no load balancer")
	}
	return all[i].ID
}

// rulesFor returns the project's rules that open a port.
func (w *world) rulesFor(port int) []rules.SecGroupRule {
	w.t.Helper()
	all := must(rules.ExtractRules(must(rules.List(w.project.Admin.Network, rules.ListOpts{ProjectID: w.project.ID}).AllPages(w.t.Context()))(w.t)))(w.t)
	return slices.DeleteFunc(all, func(r rules.SecGroupRule) bool { return r.PortRangeMin != port })
}

// foreign makes things of others: a network with a port and a server.
func (w *world) foreign(network, server string) []string {
	t := w.t
	t.Helper()
	c := w.project.Clients(t)
	ctx := t.Context()
	n := must(networks.Create(ctx, c.Network, networks.CreateOpts{Name: network}).Extract())(t)
	must(subnets.Create(ctx, c.Network, subnets.CreateOpts{NetworkID: n.ID, IPVersion: gophercloud.IPv4, CIDR: "10.6.0.0/24"}).Extract())(t)
	p := must(ports.Create(ctx, c.Network, ports.CreateOpts{NetworkID: n.ID, Name: server}).Extract())(t)
	s := must(servers.Create(ctx, c.Compute, servers.CreateOpts{
		Name: server, FlavorRef: w.flavor("m1.tiny"), ImageRef: w.image("ubuntu"),
		Networks: []servers.Network{{Port: p.ID}}, Metadata: map[string]string{"fairlead.dev:machine": ""},
	}, nil).Extract())(t)
	for got := s; got.Status == "BUILD" || got.Status == ""; {
		time.Sleep(lookInterval)
		got = must(servers.Get(ctx, c.Compute, s.ID).Extract())(t)
	}
	return []string{n.ID, p.ID, s.ID}
}

package lab_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/flavors"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/routers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"

	"fairlead.dev/test/lab/openstack/lab"
)

// TestProject fills a project through its own user and sees all of it go.
func TestProject(t *testing.T) {
	var p *lab.Project
	t.Run("life", func(t *testing.T) {
		p = lab.NewProject(t)
		c := p.Clients(t)
		n := fill(t, c)
		server(t, c, n, "good", "m1.small", "ACTIVE", "")
		server(t, c, n, "huge", "lab.huge", "ERROR", "No valid host was found")
		server(t, c, n, "aborts", "lab.aborts", "ERROR", "the disk is on fire")
		server(t, c, n, "crashes", "lab.crashes", "ERROR", "Exceeded maximum number of retries")
		things := all(t, p)
		for _, want := range []string{"server", "load balancer", "router", "network"} {
			if !slices.ContainsFunc(things, func(x lab.Thing) bool { return x.Kind == want }) {
				t.Errorf("no %s is listed: %v", want, things)
			}
		}
	})
	if p == nil {
		t.Skip("there is no lab")
	}
	p.Admin = lab.Admin(t) // the context of the other clients has ended
	if left := all(t, p); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func all(t *testing.T, p *lab.Project) []lab.Thing {
	t.Helper()
	things, err := p.Things(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return things
}

// fill makes a network behind a router, and a load balancer.
func fill(t *testing.T, c *lab.Clients) string {
	t.Helper()
	ctx := t.Context()
	n := must(networks.Create(ctx, c.Network, networks.CreateOpts{Name: "n"}).Extract())(t)
	s := must(subnets.Create(ctx, c.Network, subnets.CreateOpts{NetworkID: n.ID, IPVersion: gophercloud.IPv4, CIDR: "10.6.0.0/24"}).Extract())(t)
	r := must(routers.Create(ctx, c.Network, routers.CreateOpts{Name: "r"}).Extract())(t)
	must(routers.AddInterface(ctx, c.Network, r.ID, routers.AddInterfaceOpts{SubnetID: s.ID}).Extract())(t)
	lb := must(loadbalancers.Create(ctx, c.LoadBalancer, loadbalancers.CreateOpts{Name: "lb", VipSubnetID: s.ID}).Extract())(t)
	poll(t, func(ctx context.Context) (bool, error) {
		got, err := loadbalancers.Get(ctx, c.LoadBalancer, lb.ID).Extract()
		return err == nil && got.ProvisioningStatus == "ACTIVE", err
	})
	return n.ID
}

// server makes one and sees it come to status, with a fault that tells why.
func server(t *testing.T, c *lab.Clients, network, name, flavor, status, fault string) {
	t.Helper()
	ctx := t.Context()
	fl := must(flavors.ExtractFlavors(must(flavors.ListDetail(c.Compute, nil).AllPages(ctx))(t)))(t)
	im := must(images.ExtractImages(must(images.List(c.Image, images.ListOpts{Name: "ubuntu"}).AllPages(ctx))(t)))(t)
	i := slices.IndexFunc(fl, func(f flavors.Flavor) bool { return f.Name == flavor })
	s := must(servers.Create(ctx, c.Compute, servers.CreateOpts{
		Name: name, FlavorRef: fl[i].ID, ImageRef: im[0].ID, Networks: []servers.Network{{UUID: network}},
	}, nil).Extract())(t)
	poll(t, func(ctx context.Context) (bool, error) {
		got, err := servers.Get(ctx, c.Compute, s.ID).Extract()
		if err != nil || got.Status == "BUILD" {
			return false, err
		}
		if got.Status != status || !strings.Contains(got.Fault.Message, fault) {
			t.Fatalf("server %s is %s with the fault %q, want %s and %q", name, got.Status, got.Fault.Message, status, fault)
		}
		return true, nil
	})
}

func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func poll(t *testing.T, done func(context.Context) (bool, error)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for {
		ok, err := done(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if ok {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
}

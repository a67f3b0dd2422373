package openstacktest_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/listeners"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/attributestags"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"

	ost "fairlead.dev/providers/infrastructure/openstack/openstacktest"
)

// TestCells: a listing tells of servers whose cell is down where it is not asked for
// by page, from microversion 2.69 on.
func TestCells(t *testing.T) {
	for reason, tc := range map[string]struct {
		page         int
		microversion string
		unknown, all int // of four servers, two of which cannot be looked up
	}{
		"at once":  {10, "2.69", 2, 4},
		"by page":  {2, "2.69", 0, 2},
		"too old":  {10, "2.68", 0, 2},
		"not full": {3, "2.69", 1, 3},
	} {
		bubble(t, ost.Options{PageSize: tc.page}, func(t *testing.T, c *ost.Cloud, _ *ost.Client, s *session) {
			down := map[string]bool{}
			for i := range 4 {
				id := c.Add("alpha", ost.Servers, ost.Object{"name": "s", "status": "ACTIVE", "flavor": ost.Object{}})
				down[id] = i%2 == 0
			}
			c.Set(func(o *ost.Options) { o.CellDown = func(x ost.Object) bool { return down[x.ID()] } })
			s.compute.Microversion = tc.microversion
			pages, err := servers.List(s.compute, servers.ListOpts{}).AllPages(t.Context())
			all, err2 := servers.ExtractServers(pages)
			unknown := slices.DeleteFunc(slices.Clone(all), func(x servers.Server) bool { return x.Status != "UNKNOWN" })
			if err != nil || err2 != nil || len(unknown) != tc.unknown || len(all) != tc.all {
				t.Errorf("%s: %d servers, %d of them unknown, %v %v, want %d and %d", reason, len(all), len(unknown), err, err2, tc.all, tc.unknown)
			}
			for id, is := range down {
				v, err := servers.Get(t.Context(), s.compute, id).Extract()
				switch {
				case !is && (err != nil || v.Status != "ACTIVE"):
					t.Errorf("%s: a server: %+v, %v", reason, v, err)
				case is && tc.microversion == "2.68" && !gophercloud.ResponseCodeIs(err, 500):
					t.Errorf("%s: a server whose cell is down: %v, want 500", reason, err)
				case is && tc.microversion != "2.68" && (err != nil || v.Status != "UNKNOWN" || v.Name != ""):
					t.Errorf("%s: a server whose cell is down: %+v, %v", reason, v, err)
				}
			}
		})
	}
}

// TestDeviceUntilGone: a port has its server as device until the server is gone, which
// is when it is reclaimed where Nova keeps it.
func TestDeviceUntilGone(t *testing.T) {
	for reason, tc := range map[string]struct {
		reclaim time.Duration
		force   bool
		gone    time.Duration
	}{
		"deleted":       {0, false, 10 * time.Second},
		"kept":          {time.Hour, false, time.Hour + 10*time.Second},
		"gone by force": {time.Hour, true, 30 * time.Second},
	} {
		bubble(t, ost.Options{Reclaim: tc.reclaim, Delays: ost.Delays{Server: 30 * time.Second, ServerDelete: 10 * time.Second}}, func(t *testing.T, c *ost.Cloud, _ *ost.Client, s *session) {
			ctx := t.Context()
			net, subnet, _ := s.makeNetwork(ctx)
			server, port := s.makeServer(ctx, net, subnet)
			began := time.Now()
			s.done(servers.Delete(ctx, s.compute, server.ID).ExtractErr())
			wait(t, 20*time.Second)
			if tc.force {
				s.done(servers.ForceDelete(ctx, s.compute, server.ID).ExtractErr())
			}
			for {
				p, _ := c.Object(ost.Ports, port.ID)
				_, there := c.Object(ost.Servers, server.ID)
				if is := p.String("device_id") == server.ID; is != there {
					t.Fatalf("%s: the server is there: %v; the port has it as device: %v", reason, there, is)
				}
				if !there {
					break
				}
				wait(t, time.Second)
			}
			if took := time.Since(began); took < tc.gone || took > tc.gone+20*time.Second {
				t.Errorf("%s: it took %s, want %s", reason, took, tc.gone)
			}
		})
	}
}

// TestSoftDelete: a server that Nova keeps is in no listing, and is shown by its id.
func TestSoftDelete(t *testing.T) {
	bubble(t, ost.Options{Reclaim: time.Hour, Delays: ost.Delays{Server: 30 * time.Second}}, func(t *testing.T, _ *ost.Cloud, _ *ost.Client, s *session) {
		ctx := t.Context()
		net, subnet, _ := s.makeNetwork(ctx)
		server, _ := s.makeServer(ctx, net, subnet)
		s.done(servers.Delete(ctx, s.compute, server.ID).ExtractErr())
		wait(t, time.Second)
		pages, err := servers.List(s.compute, servers.ListOpts{}).AllPages(ctx)
		s.done(err)
		if all, _ := servers.ExtractServers(pages); len(all) != 0 {
			t.Errorf("listed: %v, want none", all)
		}
		if v, err := servers.Get(ctx, s.compute, server.ID).Extract(); err != nil || v.Status != "SOFT_DELETED" {
			t.Errorf("by its id: %+v, %v, want it SOFT_DELETED", v, err)
		}
		s.done(servers.ForceDelete(ctx, s.compute, server.ID).ExtractErr())
		wait(t, time.Second)
		if _, err := servers.Get(ctx, s.compute, server.ID).Extract(); !gophercloud.ResponseCodeIs(err, 404) {
			t.Errorf("gone for good: %v, want 404", err)
		}
	})
}

// TestWithoutExtension: a Neutron without tags shows none, and takes none.
func TestWithoutExtension(t *testing.T) {
	bubble(t, ost.Options{WithoutExtensions: []string{"standard-attr-tag"}}, func(t *testing.T, c *ost.Cloud, _ *ost.Client, s *session) {
		ctx := t.Context()
		s.done(makeNetwork(ctx, s))
		id := c.Objects(ost.Networks)[len(c.Objects(ost.Networks))-1].ID()
		_, err := attributestags.ReplaceAll(ctx, s.network, "networks", id, attributestags.ReplaceAllOpts{Tags: []string{"a"}}).Extract()
		s.refused(err, 404, "setting tags")
		var n struct{ Tags *[]string }
		s.done(networks.Get(ctx, s.network, id).ExtractInto(&n))
		if n.Tags != nil {
			t.Errorf("tags %v of a network, want none", *n.Tags)
		}
	})
}

// TestOVN: the provider ovn refuses what it does not have.
func TestOVN(t *testing.T) {
	bubble(t, ost.Options{}, func(t *testing.T, _ *ost.Cloud, _ *ost.Client, s *session) {
		ctx := t.Context()
		_, subnet, _ := s.makeNetwork(ctx)
		lb := must(loadbalancers.Create(ctx, s.octavia, loadbalancers.CreateOpts{VipSubnetID: subnet.ID, Provider: "ovn"}).Extract())(t)
		listener := func(o listeners.CreateOpts) error {
			wait(t, time.Second)
			o.LoadbalancerID, o.ProtocolPort = lb.ID, o.ProtocolPort+6443
			_, err := listeners.Create(ctx, s.octavia, o).Extract()
			return err
		}
		s.refused(listener(listeners.CreateOpts{Protocol: listeners.ProtocolHTTP}), 501, "a listener of HTTP")
		s.refused(listener(listeners.CreateOpts{Protocol: listeners.ProtocolTCP, AllowedCIDRs: []string{"192.0.2.0/24"}}), 501, "allowed CIDRs")
		s.done(listener(listeners.CreateOpts{Protocol: listeners.ProtocolTCP}))
		s.refused(s.ovnPool(ctx, lb.ID, "ROUND_ROBIN"), 501, "a pool of another algorithm")
		s.done(s.ovnPool(ctx, lb.ID, "SOURCE_IP_PORT"))
		wait(t, time.Second)
		s.refused(loadbalancers.Failover(ctx, s.octavia, lb.ID).ExtractErr(), 501, "a failover")
	})
}

func (s *session) ovnPool(ctx context.Context, lb, algorithm string) error {
	wait(s.t, time.Second)
	var out any
	_, err := s.octavia.Post(ctx, s.octavia.ServiceURL("lbaas", "pools"), map[string]any{
		"pool": map[string]any{"loadbalancer_id": lb, "protocol": "TCP", "lb_algorithm": algorithm},
	}, &out, nil)
	return err
}

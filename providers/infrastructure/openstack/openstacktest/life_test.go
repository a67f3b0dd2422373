package openstacktest_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumes"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/flavors"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/config/clouds"
	glance "github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/listeners"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/monitors"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/pools"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/routers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"

	"fairlead.dev/providers/infrastructure/openstack/openstacktest"
)

// session is what a user of a cloud works with.
type session struct {
	t                                        testing.TB
	compute, network, image, volume, octavia *gophercloud.ServiceClient
}

func newSession(t testing.TB, rt http.RoundTripper, yaml []byte) *session {
	t.Helper()
	auth, endpoint, _, err := clouds.Parse(clouds.WithCloudName("openstack"), clouds.WithCloudsYAML(bytes.NewReader(yaml)))
	if err != nil {
		t.Fatal(err)
	}
	auth.AllowReauth = true
	pc, err := openstack.NewClient(auth.IdentityEndpoint)
	if err != nil {
		t.Fatal(err)
	}
	pc.HTTPClient = http.Client{Transport: rt}
	if err := openstack.Authenticate(t.Context(), pc, auth); err != nil {
		t.Fatal(err)
	}
	s := &session{t: t}
	s.compute = made(t)(openstack.NewComputeV2(pc, endpoint))
	s.compute.Microversion = "2.90"
	s.network = made(t)(openstack.NewNetworkV2(pc, endpoint))
	s.image = made(t)(openstack.NewImageV2(pc, endpoint))
	s.volume = made(t)(openstack.NewBlockStorageV3(pc, endpoint))
	s.octavia = made(t)(openstack.NewLoadBalancerV2(pc, endpoint))
	return s
}

func made(t testing.TB) func(*gophercloud.ServiceClient, error) *gophercloud.ServiceClient {
	return func(sc *gophercloud.ServiceClient, err error) *gophercloud.ServiceClient {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return sc
	}
}

// must returns v, or ends the test with err.
func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// wait waits in the bubble.
func wait(t testing.TB, d time.Duration) {
	t.Helper()
	timer := time.NewTimer(d)
	defer timer.Stop()
	<-timer.C
}

// TestLife: what a provider does for a cluster works with gophercloud, with the
// times and states of a slow cloud.
func TestLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cloud := openstacktest.New(openstacktest.Options{Delays: openstacktest.Delays{
			Server: 30 * time.Second, ServerDelete: 10 * time.Second, Volume: 5 * time.Second, LoadBalancer: 20 * time.Second,
		}})
		before := leftovers(cloud)
		s := newSession(t, cloud.Client(), cloud.CloudsYAML(openstacktest.URL, "alice"))
		ctx := t.Context()
		net, subnet, router := s.makeNetwork(ctx)
		lb, member := s.makeLoadBalancer(ctx, subnet)
		server, port := s.makeServer(ctx, net, subnet)
		s.deleteAll(ctx, net, subnet, router, lb, member, server, port)
		if after := leftovers(cloud); after != before {
			t.Errorf("%d things are left, want %d", after, before)
		}
	})
}

func leftovers(c *openstacktest.Cloud) (n int) {
	for _, k := range []openstacktest.Kind{
		openstacktest.Servers, openstacktest.Networks, openstacktest.Subnets, openstacktest.Routers, openstacktest.Ports,
		openstacktest.FloatingIPs, openstacktest.LoadBalancers, openstacktest.Listeners, openstacktest.Pools, openstacktest.Members,
		openstacktest.Monitors, openstacktest.Volumes,
	} {
		n += len(c.Objects(k))
	}
	return n
}

func (s *session) makeNetwork(ctx context.Context) (*networks.Network, *subnets.Subnet, *routers.Router) {
	net := must(networks.Create(ctx, s.network, networks.CreateOpts{Name: "c1", Description: "d"}).Extract())(s.t)
	sub := must(subnets.Create(ctx, s.network, subnets.CreateOpts{NetworkID: net.ID, IPVersion: 4, CIDR: "10.6.0.0/24"}).Extract())(s.t)
	external := must(networks.ExtractNetworks(must(networks.List(s.network, networks.ListOpts{Name: openstacktest.External}).AllPages(ctx))(s.t)))(s.t)
	if len(external) != 1 {
		s.t.Fatalf("networks called public = %v, want one", external)
	}
	r := must(routers.Create(ctx, s.network, routers.CreateOpts{Name: "c1", GatewayInfo: &routers.GatewayInfo{NetworkID: external[0].ID}}).Extract())(s.t)
	must(routers.AddInterface(ctx, s.network, r.ID, routers.AddInterfaceOpts{SubnetID: sub.ID}).Extract())(s.t)
	return net, sub, r
}

func (s *session) makeLoadBalancer(ctx context.Context, sub *subnets.Subnet) (*loadbalancers.LoadBalancer, *pools.Member) {
	lb := must(loadbalancers.Create(ctx, s.octavia, loadbalancers.CreateOpts{Name: "api", VipSubnetID: sub.ID}).Extract())(s.t)
	listen := listeners.CreateOpts{LoadbalancerID: lb.ID, Protocol: listeners.ProtocolTCP, ProtocolPort: 6443}
	_, err := listeners.Create(ctx, s.octavia, listen).Extract()
	if !gophercloud.ResponseCodeIs(err, http.StatusConflict) || lb.ProvisioningStatus != "PENDING_CREATE" {
		s.t.Errorf("listener on a load balancer that is %s = %v, want 409", lb.ProvisioningStatus, err)
	}
	wait(s.t, 20*time.Second)
	l := must(listeners.Create(ctx, s.octavia, listen).Extract())(s.t)
	wait(s.t, 20*time.Second)
	p := must(pools.Create(ctx, s.octavia, pools.CreateOpts{ListenerID: l.ID, Protocol: pools.ProtocolTCP, LBMethod: pools.LBMethodRoundRobin}).Extract())(s.t)
	wait(s.t, 20*time.Second)
	m := must(pools.CreateMember(ctx, s.octavia, p.ID, pools.CreateMemberOpts{Address: "10.6.0.50", ProtocolPort: 6443, SubnetID: sub.ID}).Extract())(s.t)
	wait(s.t, 20*time.Second)
	must(monitors.Create(ctx, s.octavia, monitors.CreateOpts{PoolID: p.ID, Type: monitors.TypeTCP, Delay: 5, Timeout: 3, MaxRetries: 3}).Extract())(s.t)
	wait(s.t, 20*time.Second)
	lb = must(loadbalancers.Get(ctx, s.octavia, lb.ID).Extract())(s.t)
	p = must(pools.Get(ctx, s.octavia, p.ID).Extract())(s.t)
	if lb.ProvisioningStatus != "ACTIVE" || len(lb.Listeners) != 1 || len(lb.Pools) != 1 || len(p.Members) != 1 || p.MonitorID == "" {
		s.t.Errorf("load balancer = %+v with pool %+v, want it ACTIVE with all parts", lb, p)
	}
	return lb, m
}

// images returns the id of the image called ubuntu.
func images(ctx context.Context, s *session) (string, error) {
	pages, err := glance.List(s.image, glance.ListOpts{Tags: []string{"ubuntu"}}).AllPages(ctx)
	if err != nil {
		return "", err
	}
	all, err := glance.ExtractImages(pages)
	if err != nil || len(all) != 1 {
		return "", fmt.Errorf("images tagged ubuntu: %v, %w", all, err)
	}
	return all[0].ID, nil
}

func (s *session) makeServer(ctx context.Context, net *networks.Network, sub *subnets.Subnet) (*servers.Server, *ports.Port) {
	image := must(images(ctx, s))(s.t)
	port := must(ports.Create(ctx, s.network, ports.CreateOpts{NetworkID: net.ID, FixedIPs: []ports.IP{{SubnetID: sub.ID, IPAddress: "10.6.0.50"}}}).Extract())(s.t)
	v := must(volumes.Create(ctx, s.volume, volumes.CreateOpts{Size: 1, VolumeType: "fast"}, nil).Extract())(s.t)
	wait(s.t, 5*time.Second)
	server := must(servers.Create(ctx, s.compute, servers.CreateOpts{
		Name: "m1", ImageRef: image, FlavorRef: s.flavor(ctx), Networks: []servers.Network{{Port: port.ID}}, UserData: []byte("#cloud-config\n"),
		Metadata: map[string]string{"a": "b"}, Tags: []string{"t"}, AvailabilityZone: "az2",
		BlockDevice: []servers.BlockDevice{
			{SourceType: servers.SourceImage, DestinationType: servers.DestinationLocal, UUID: image, DeleteOnTermination: true},
			{SourceType: servers.SourceVolume, DestinationType: servers.DestinationVolume, UUID: v.ID, BootIndex: -1, DeleteOnTermination: true},
		},
	}, nil).Extract())(s.t)
	got := must(servers.Get(ctx, s.compute, server.ID).Extract())(s.t)
	if got.Status != "BUILD" {
		s.t.Errorf("new server is %s, want BUILD", got.Status)
	}
	wait(s.t, 30*time.Second)
	all := must(servers.ExtractServers(must(servers.List(s.compute, servers.ListOpts{}).AllPages(ctx))(s.t)))(s.t)
	if len(all) != 1 {
		s.t.Fatalf("servers = %v, want one", all)
	}
	got = &all[0]
	if got.Status != "ACTIVE" || got.AvailabilityZone != "az2" || got.Metadata["a"] != "b" || len(got.Addresses) != 1 || len(got.AttachedVolumes) != 1 {
		s.t.Errorf("server = %+v, want it ACTIVE in az2 with its metadata, address and volume", got)
	}
	if p := must(ports.Get(ctx, s.network, port.ID).Extract())(s.t); p.Status != "ACTIVE" || p.DeviceID != server.ID {
		s.t.Errorf("port = %+v, want it ACTIVE on the server", p)
	}
	return got, port
}

func (s *session) flavor(ctx context.Context) string {
	s.t.Helper()
	all := must(flavors.ExtractFlavors(must(flavors.ListDetail(s.compute, flavors.ListOpts{}).AllPages(ctx))(s.t)))(s.t)
	return all[0].ID
}

func (s *session) deleteAll(
	ctx context.Context, net *networks.Network, sub *subnets.Subnet, r *routers.Router, lb *loadbalancers.LoadBalancer, _ *pools.Member,
	server *servers.Server, port *ports.Port,
) {
	fip := must(floatingips.Create(ctx, s.network, floatingips.CreateOpts{FloatingNetworkID: r.GatewayInfo.NetworkID, PortID: lb.VipPortID}).Extract())(s.t)
	s.refused(loadbalancers.Delete(ctx, s.octavia, lb.ID, nil).ExtractErr(), http.StatusBadRequest, "load balancer with children")
	s.refused(subnets.Delete(ctx, s.network, sub.ID).ExtractErr(), http.StatusConflict, "subnet in use")
	s.refused(networks.Delete(ctx, s.network, net.ID).ExtractErr(), http.StatusConflict, "network in use")
	s.refused(routers.Delete(ctx, s.network, r.ID).ExtractErr(), http.StatusConflict, "router with an interface")
	_, err := routers.RemoveInterface(ctx, s.network, r.ID, routers.RemoveInterfaceOpts{SubnetID: sub.ID}).Extract()
	s.refused(err, http.StatusConflict, "interface that a floating IP needs")
	s.refused(volumes.Delete(ctx, s.volume, server.AttachedVolumes[0].ID, nil).ExtractErr(), http.StatusBadRequest, "volume in use")

	s.done(servers.Delete(ctx, s.compute, server.ID).ExtractErr())
	if got := must(servers.Get(ctx, s.compute, server.ID).Extract())(s.t); got.TaskState != "deleting" {
		s.t.Errorf("server that is being deleted has task state %q, want deleting", got.TaskState)
	}
	s.done(loadbalancers.Delete(ctx, s.octavia, lb.ID, loadbalancers.DeleteOpts{Cascade: true}).ExtractErr())
	wait(s.t, 20*time.Second)
	_, err = servers.Get(ctx, s.compute, server.ID).Extract()
	s.refused(err, http.StatusNotFound, "server that is gone")
	_, err = loadbalancers.Get(ctx, s.octavia, lb.ID).Extract()
	s.refused(err, http.StatusNotFound, "load balancer that is gone")
	s.done(floatingips.Delete(ctx, s.network, fip.ID).ExtractErr())
	s.done(ports.Delete(ctx, s.network, port.ID).ExtractErr())
	must(routers.RemoveInterface(ctx, s.network, r.ID, routers.RemoveInterfaceOpts{SubnetID: sub.ID}).Extract())(s.t)
	s.done(routers.Delete(ctx, s.network, r.ID).ExtractErr())
	s.done(networks.Delete(ctx, s.network, net.ID).ExtractErr())
}

func (s *session) done(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Error(err)
	}
}

func (s *session) refused(err error, status int, what string) {
	s.t.Helper()
	if !gophercloud.ResponseCodeIs(err, status) {
		s.t.Errorf("%s: %v, want %d", what, err, status)
	}
}

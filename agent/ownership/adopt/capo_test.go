package adopt_test

import (
	"fmt"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumes"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/flavors"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/config"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/listeners"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/monitors"
	lbpools "github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/pools"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/attributestags"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/routers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/rules"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"

	"fairlead.dev/test/lab/openstack/lab"
)

// A capo makes in an OpenStack project what Cluster API's provider makes for the
// OpenStackCluster and the machines of a test: the same calls, with the same names,
// descriptions, tags and rules. Source: cluster-api-provider-openstack, pkg/cloud/services
// and pkg/utils/names.
type capo struct {
	*testing.T
	*lab.Clients
	name  string // "namespace-cluster"
	until func(what string, done func() bool)

	network, subnet, balancer, pool string // ids
	groups                          map[string]string
}

const (
	capoCIDR = "10.6.0.0/24"
	capoTag  = "team-web" // spec.tags
	capoPort = 6443
)

func (c *capo) description() string {
	return "Created by cluster-api-provider-openstack cluster " + c.name
}
func (c *capo) shared() string { return "k8s-clusterapi-cluster-" + c.name }

// dialOpenStack returns the services of a project.
func dialOpenStack(t *testing.T, auth, user, password, project string) *lab.Clients {
	t.Helper()
	p := made(config.NewProviderClient(t.Context(), gophercloud.AuthOptions{
		IdentityEndpoint: auth, Username: user, Password: password, DomainName: "Default", Scope: &gophercloud.AuthScope{ProjectID: project},
	}))(t)
	e := gophercloud.EndpointOpts{Region: "RegionOne"}
	c := &lab.Clients{
		Compute: made(openstack.NewComputeV2(p, e))(t), Network: made(openstack.NewNetworkV2(p, e))(t), Image: made(openstack.NewImageV2(p, e))(t),
		BlockStorage: made(openstack.NewBlockStorageV3(p, e))(t), LoadBalancer: made(openstack.NewLoadBalancerV2(p, e))(t),
	}
	c.Compute.Microversion = "2.90"
	return c
}

// made fails the test where something could not be made.
func made[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// tag gives an object of Neutron the tags of the manifest.
func (c *capo) tag(kind, id string) {
	c.Helper()
	made(attributestags.ReplaceAll(c.Context(), c.Network, kind, id, attributestags.ReplaceAllOpts{Tags: []string{capoTag}}).Extract())(c)
}

// infrastructure makes what machines share. It returns the id and the address of the API
// server's floating IP.
func (c *capo) infrastructure() (id, address string) {
	c.Helper()
	ctx := c.Context()
	external := made(networks.ExtractNetworks(made(networks.List(c.Network, networks.ListOpts{Name: "public"}).AllPages(ctx))(c)))(c)[0].ID
	c.network = made(networks.Create(ctx, c.Network, networks.CreateOpts{Name: c.shared(), AdminStateUp: gophercloud.Enabled}).Extract())(c).ID
	c.tag("networks", c.network)
	c.subnet = made(subnets.Create(ctx, c.Network, subnets.CreateOpts{NetworkID: c.network, Name: c.shared(), IPVersion: gophercloud.IPv4, CIDR: capoCIDR, Description: c.description()}).Extract())(c).ID
	c.tag("subnets", c.subnet)
	router := made(routers.Create(ctx, c.Network, routers.CreateOpts{Name: c.shared(), Description: c.description(), GatewayInfo: &routers.GatewayInfo{NetworkID: external}}).Extract())(c).ID
	c.tag("routers", router)
	made(routers.AddInterface(ctx, c.Network, router, routers.AddInterfaceOpts{SubnetID: c.subnet}).Extract())(c)
	c.securityGroups()

	at := c.shared() + "-kubeapi"
	lb := made(loadbalancers.Create(ctx, c.LoadBalancer, loadbalancers.CreateOpts{Name: at, VipSubnetID: c.subnet, Description: c.description(), Tags: []string{capoTag}}).Extract())(c)
	c.balancer = lb.ID
	c.active()
	ip := made(floatingips.Create(ctx, c.Network, floatingips.CreateOpts{FloatingNetworkID: external, Description: c.description()}).Extract())(c)
	c.tag("floatingips", ip.ID)
	made(floatingips.Update(ctx, c.Network, ip.ID, floatingips.UpdateOpts{PortID: &lb.VipPortID}).Extract())(c)
	name := fmt.Sprintf("%s-%d", at, capoPort)
	listener := made(listeners.Create(ctx, c.LoadBalancer, listeners.CreateOpts{Name: name, Protocol: listeners.ProtocolTCP, ProtocolPort: capoPort, LoadbalancerID: lb.ID, Tags: []string{capoTag}}).Extract())(c)
	c.active()
	c.pool = made(lbpools.Create(ctx, c.LoadBalancer, lbpools.CreateOpts{Name: name, Protocol: lbpools.ProtocolTCP, LBMethod: lbpools.LBMethodRoundRobin, ListenerID: listener.ID, Tags: []string{capoTag}}).Extract())(c).ID
	c.active()
	made(monitors.Create(ctx, c.LoadBalancer, monitors.CreateOpts{Name: name, PoolID: c.pool, Type: "TCP", Delay: 10, Timeout: 5, MaxRetries: 5, MaxRetriesDown: 3}).Extract())(c)
	c.active()
	return ip.ID, ip.FloatingIP
}

// active waits until the load balancer accepts changes.
func (c *capo) active() {
	c.Helper()
	c.until("the load balancer is ACTIVE", func() bool {
		return made(loadbalancers.Get(c.Context(), c.LoadBalancer, c.balancer).Extract())(c).ProvisioningStatus == "ACTIVE"
	})
}

func (c *capo) securityGroups() {
	c.Helper()
	c.groups = make(map[string]string)
	for _, which := range []string{"controlplane", "worker"} {
		g := made(groups.Create(c.Context(), c.Network, groups.CreateOpts{Name: "k8s-cluster-" + c.name + "-secgroup-" + which, Description: "Cluster API managed group"}).Extract())(c)
		c.tag("security-groups", g.ID)
		c.groups[which] = g.ID
	}
	rule := func(to, what, protocol string, low, high int, from, cidr string) {
		made(rules.Create(c.Context(), c.Network, rules.CreateOpts{
			SecGroupID: c.groups[to], Description: what, Direction: rules.DirIngress, EtherType: rules.EtherType4, Protocol: rules.RuleProtocol(protocol),
			PortRangeMin: low, PortRangeMax: high, RemoteGroupID: c.groups[from], RemoteIPPrefix: cidr,
		}).Extract())(c)
	}
	rule("controlplane", "Kubernetes API", "tcp", 6443, 6443, "", "")
	rule("controlplane", "Etcd", "tcp", 2379, 2380, "controlplane", "")
	for _, to := range []string{"controlplane", "worker"} {
		for _, from := range []string{"controlplane", "worker"} {
			rule(to, "Kubelet API", "tcp", 10250, 10250, from, "")
		}
	}
	for _, protocol := range []string{"tcp", "udp"} {
		rule("worker", "Node Port Services", protocol, 30000, 32767, "", capoCIDR)
		rule("worker", "Node Port Services", protocol, 30000, 32767, "worker", "")
		rule("worker", "Node Port Services", protocol, 30000, 32767, "controlplane", "")
	}
}

// machine makes the server of an OpenStackMachine, with its port and root volume,
// and for the control plane its member of the load balancer. It returns its id.
func (c *capo) machine(name string, controlPlane bool) string {
	c.Helper()
	ctx, group := c.Context(), "worker"
	if controlPlane {
		group = "controlplane"
	}
	port := made(ports.Create(ctx, c.Network, ports.CreateOpts{
		Name: name + "-0", NetworkID: c.network, Description: c.description(), SecurityGroups: &[]string{c.groups[group]},
		FixedIPs: []ports.IP{{SubnetID: c.subnet}},
	}).Extract())(c)
	c.tag("ports", port.ID)
	image := made(images.ExtractImages(made(images.List(c.Image, images.ListOpts{Name: "ubuntu"}).AllPages(ctx))(c)))(c)[0].ID
	flavor := ""
	for _, f := range made(flavors.ExtractFlavors(made(flavors.ListDetail(c.Compute, nil).AllPages(ctx))(c)))(c) {
		if f.Name == "m1.small" {
			flavor = f.ID
		}
	}
	root := made(volumes.Create(ctx, c.BlockStorage, volumes.CreateOpts{Name: name + "-root", Description: "Root volume for " + name, Size: 10, ImageID: image}, nil).Extract())(c).ID
	c.until("the volume is available", func() bool {
		return made(volumes.Get(ctx, c.BlockStorage, root).Extract())(c).Status == "available"
	})
	s := made(servers.Create(ctx, c.Compute, servers.CreateOpts{
		Name: name, FlavorRef: flavor, Networks: []servers.Network{{Port: port.ID}}, Tags: []string{capoTag}, UserData: []byte("#cloud-config\n{}\n"),
		BlockDevice: []servers.BlockDevice{{SourceType: servers.SourceVolume, DestinationType: servers.DestinationVolume, UUID: root, BootIndex: 0, DeleteOnTermination: true}},
	}, nil).Extract())(c)
	c.until("the server is ACTIVE", func() bool { return made(servers.Get(ctx, c.Compute, s.ID).Extract())(c).Status == "ACTIVE" })
	if controlPlane {
		made(lbpools.CreateMember(ctx, c.LoadBalancer, c.pool, lbpools.CreateMemberOpts{
			Name: fmt.Sprintf("%s-kubeapi-%d-%s", c.shared(), capoPort, name), ProtocolPort: capoPort, Address: port.FixedIPs[0].IPAddress, Tags: []string{capoTag},
		}).Extract())(c)
		c.active()
	}
	return s.ID
}

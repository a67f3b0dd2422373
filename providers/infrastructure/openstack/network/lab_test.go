package network_test

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/flavors"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/rules"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/openstackauth"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/infrastructure/openstack/api"
	"fairlead.dev/providers/infrastructure/openstack/cloud"
	"fairlead.dev/providers/infrastructure/openstack/network"
	"fairlead.dev/test/lab/openstack/lab"
)

// The same life as on the fake, against the real services: with all that can be
// asked for, with a server of Nova, and with what the cloud controller manager
// leaves behind.
func TestOnTheLab(t *testing.T) {
	if os.Getenv("FAIRLEAD_TEST_OPENSTACK") == "" {
		t.Skip("minutes on real services: make test-openstack runs it")
	}
	project := lab.NewProject(t)
	p, err := cloud.NewSessions(cloud.Options{Tick: time.Nanosecond, Rate: -1}).Project(openstackauth.Credential{
		Secret: fleet.SecretData{openstackauth.CloudsYAMLKey: fleet.NewSecret(project.CloudsYAML())}, Cloud: lab.CloudName, From: "the test",
	})
	if err != nil {
		t.Fatal(err)
	}
	spec := managed()
	spec.Tags = []string{"team-a"}
	spec.ManagedSubnets = append(spec.ManagedSubnets, api.SubnetSpec{CIDR: "fd00:6::/64", AllocationPools: []api.AllocationPool{{Start: "fd00:6::100", End: "fd00:6::1ff"}}})
	spec.ManagedNetwork = &api.ManagedNetwork{MTU: ptr(int32(1400)), EnablePortSecurity: ptr(true)}
	spec.APIServer.ManagedLoadBalancer.AdditionalPorts = []int32{8132}
	spec.APIServer.ManagedLoadBalancer.AllowedCIDRs = []string{"192.0.2.0/24"}
	spec.ManagedSecurityGroups.ClusterNodesSecurityGroupRules = []api.SecurityGroupRuleSpec{
		{Name: "ipip", Direction: "ingress", Protocol: ptr("4"), RemoteManagedGroups: []api.ManagedSecurityGroupName{"controlplane", "worker"}},
		{Name: "ping", Direction: "ingress", Protocol: ptr("icmp"), EtherType: ptr("IPv6"), RemoteIPPrefix: ptr("fd00:6::1/64")},
		{Name: "all", Direction: "ingress", Protocol: ptr("udp"), RemoteIPPrefix: ptr("0.0.0.0/0")},
	}
	l := &labWorld{T: t, lab: project.Clients(t), project: p, cluster: cluster("eu-1"), spec: spec}
	st := l.settle()
	if !strings.HasPrefix(st.Endpoint.Host, "198.18.") || st.Endpoint.Port != 6443 {
		t.Errorf("endpoint %v, want one on the external network", st.Endpoint)
	}

	address := l.server("cp-0", st.Place)
	if st := l.observe(); !st.Ready || len(st.Drift) != 2 {
		t.Errorf("with a new machine: ready %v, drift %q", st.Ready, st.Drift)
	}
	l.settle()
	s := l.snapshot()
	for _, pool := range s.Pools.All {
		if len(pool.Members) != 1 || pool.Members[0].Address != address {
			t.Errorf("pool %s has the members %+v, want %s", pool.Name, pool.Members, address)
		}
	}

	l.breakRules(st.Place.ControlPlaneGroup)
	if st := l.observe(); !st.Ready || len(st.Drift) != 2 {
		t.Errorf("with a rule removed and one added: ready %v, drift %q", st.Ready, st.Drift)
	}
	spec.APIServer.ManagedLoadBalancer.AllowedCIDRs = nil
	spec.APIServer.ManagedLoadBalancer.AdditionalPorts = nil
	spec.ManagedSubnets[0].DNSNameservers = nil
	spec.ManagedSecurityGroups.AllowAllInClusterTraffic = true
	l.settle()
	if n := len(l.snapshot().Pools.All); n != 1 {
		t.Errorf("%d pools, want one", n)
	}

	l.service(st.Place)
	if err := network.Delete(t.Context(), p, l.snapshot(), snapshot.OwnerOf(l.cluster)); fleet.KindOf(err) != fleet.Conflict {
		t.Errorf("removed while a machine is there: %v", err)
	}
	if err := network.RemoveMember(t.Context(), p, l.snapshot(), snapshot.OwnerOf(l.cluster).Part("cp-0")); err != nil {
		t.Error(err)
	}
	l.unserve()
	l.remove()
	left, err := project.Things(t.Context())
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

type labWorld struct {
	*testing.T
	lab     *lab.Clients
	project *cloud.Project
	cluster *fleet.Cluster
	spec    *api.OpenStackClusterSpec
}

func (l *labWorld) snapshot() *cloud.Snapshot {
	l.Helper()
	s, err := l.project.Snapshot(l.Context(), snapshot.OwnerOf(l.cluster))
	if err != nil {
		l.Fatal(err)
	}
	return s
}

func (l *labWorld) observe() network.State {
	return network.Observe(l.snapshot(), l.cluster, l.spec)
}

func (l *labWorld) settle() network.State {
	l.Helper()
	var st network.State
	var err error
	l.poll(func() bool {
		s := l.snapshot()
		if st = network.Observe(s, l.cluster, l.spec); st.Ready && len(st.Drift) == 0 {
			return true
		}
		err = network.Ensure(l.Context(), l.project, s, l.cluster, l.spec)
		return false
	}, func() { l.Fatalf("not in order: %q, drift %q, %v", st.Message, st.Drift, err) })
	return st
}

func (l *labWorld) remove() {
	l.Helper()
	var err error
	l.poll(func() bool {
		s := l.snapshot()
		if !network.Observe(s, l.cluster, l.spec).Exists {
			return true
		}
		err = network.Delete(l.Context(), l.project, s, snapshot.OwnerOf(l.cluster))
		return false
	}, func() { l.Fatalf("not removed: %v", err) })
}

// poll calls done until it is, for some minutes.
func (l *labWorld) poll(done func() bool, late func()) {
	l.Helper()
	for end := time.Now().Add(10 * time.Minute); ; time.Sleep(200 * time.Millisecond) {
		if done() {
			return
		}
		if time.Now().After(end) {
			late()
		}
	}
}

// server makes a machine of the control plane, without package machine.
func (l *labWorld) server(name string, at network.Placement) string {
	l.Helper()
	ctx := l.Context()
	owner := snapshot.OwnerOf(l.cluster).Part(fleet.MachineName(name))
	port, err := ports.Create(ctx, l.lab.Network, ports.CreateOpts{
		NetworkID: at.Network, Name: name, Description: cloud.FormatOwner("", owner), SecurityGroups: &[]string{at.ControlPlaneGroup},
		FixedIPs: []ports.IP{{SubnetID: at.Subnets[1]}, {SubnetID: at.Subnets[0]}},
	}).Extract()
	if err != nil {
		l.Fatal(err)
	}
	f, err := flavors.ListDetail(l.lab.Compute, nil).AllPages(ctx)
	if err != nil {
		l.Fatal(err)
	}
	fl, _ := flavors.ExtractFlavors(f)
	i, err := images.List(l.lab.Image, images.ListOpts{Name: "ubuntu"}).AllPages(ctx)
	if err != nil {
		l.Fatal(err)
	}
	im, _ := images.ExtractImages(i)
	n := slices.IndexFunc(fl, func(f flavors.Flavor) bool { return f.Name == "m1.tiny" })
	s, err := servers.Create(ctx, l.lab.Compute, servers.CreateOpts{
		Name: name, FlavorRef: fl[n].ID, ImageRef: im[0].ID, Networks: []servers.Network{{Port: port.ID}},
		Metadata: cloud.Metadata(l.cluster.MachineTags(fleet.Pool{Name: "cp", Role: fleet.RoleControlPlane}, fleet.MachineName(name), "op")),
	}, nil).Extract()
	if err != nil {
		l.Fatal(err)
	}
	l.poll(func() bool {
		got, err := servers.Get(ctx, l.lab.Compute, s.ID).Extract()
		return err == nil && got.Status == "ACTIVE"
	}, func() { l.Fatal("the server is not ACTIVE") })
	for _, ip := range port.FixedIPs {
		if ip.SubnetID == at.Subnets[0] {
			return ip.IPAddress
		}
	}
	return ""
}

func (l *labWorld) unserve() {
	l.Helper()
	for _, s := range l.snapshot().Servers.All {
		if err := servers.Delete(l.Context(), l.lab.Compute, s.ID).ExtractErr(); err != nil {
			l.Fatal(err)
		}
	}
	l.poll(func() bool { return len(l.snapshot().Servers.All) == 0 }, func() { l.Fatal("the server is still there") })
	for _, p := range l.snapshot().Ports.All {
		if p.Name == "cp-0" {
			if err := ports.Delete(l.Context(), l.lab.Network, p.ID).ExtractErr(); err != nil {
				l.Fatal(err)
			}
		}
	}
}

// breakRules removes one rule of a group and adds another.
func (l *labWorld) breakRules(group string) {
	l.Helper()
	g, err := groups.Get(l.Context(), l.lab.Network, group).Extract()
	if err != nil {
		l.Fatal(err)
	}
	i := slices.IndexFunc(g.Rules, func(r rules.SecGroupRule) bool { return r.PortRangeMin == 2379 && r.EtherType == "IPv4" })
	if err := rules.Delete(l.Context(), l.lab.Network, g.Rules[i].ID).ExtractErr(); err != nil {
		l.Fatal(err)
	}
	if _, err := rules.Create(l.Context(), l.lab.Network, rules.CreateOpts{
		Direction: rules.DirIngress, EtherType: rules.EtherType4, Protocol: rules.ProtocolTCP, PortRangeMin: 23, PortRangeMax: 23, SecGroupID: group,
	}).Extract(); err != nil {
		l.Fatal(err)
	}
}

// service makes what the cloud controller manager makes for a Service.
func (l *labWorld) service(at network.Placement) {
	l.Helper()
	ctx := l.Context()
	lb, err := loadbalancers.Create(ctx, l.lab.LoadBalancer, loadbalancers.CreateOpts{
		Name: "kube_service_kubernetes_default_web", Description: "Kubernetes external service default/web from cluster kubernetes", VipSubnetID: at.Subnets[0],
	}).Extract()
	if err != nil {
		l.Fatal(err)
	}
	if _, err := floatingips.Create(ctx, l.lab.Network, floatingips.CreateOpts{
		FloatingNetworkID: at.ExternalNetwork, PortID: lb.VipPortID, Description: "Floating IP for Kubernetes external service default/web from cluster kubernetes",
	}).Extract(); err != nil {
		l.Fatal(err)
	}
	if _, err := groups.Create(ctx, l.lab.Network, groups.CreateOpts{
		Name: "lb-sg-5c1d-default-web", Description: "Security Group for default/web Service LoadBalancer in cluster kubernetes",
	}).Extract(); err != nil {
		l.Fatal(err)
	}
}

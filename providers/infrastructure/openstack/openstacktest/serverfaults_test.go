package openstacktest_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/flavors"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servergroups"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"

	ost "fairlead.dev/providers/infrastructure/openstack/openstacktest"
)

func TestQuotas(t *testing.T) {
	bubble(t, ost.Options{}, func(t *testing.T, c *ost.Cloud, _ *ost.Client, s *session) {
		for _, resource := range []string{"network", "load_balancer", "instances", "security_group"} {
			c.SetQuota("alpha", resource, 1)
		}
		s.done(makeNetwork(t.Context(), s))
		s.refused(makeNetwork(t.Context(), s), http.StatusConflict, "second network")
		_, err := groups.Create(t.Context(), s.network, groups.CreateOpts{Name: "g"}).Extract()
		s.refused(err, http.StatusConflict, "second security group, after the default one")
		c.Add("alpha", ost.LoadBalancers, ost.Object{})
		c.Add("alpha", ost.Servers, ost.Object{})
		_, err = loadbalancers.Create(t.Context(), s.octavia, loadbalancers.CreateOpts{VipNetworkID: "x"}).Extract()
		s.refused(err, http.StatusForbidden, "second load balancer")
		_, err = s.boot(t.Context(), "m", nil)
		s.refused(err, http.StatusForbidden, "second server")
		c.SetQuota("alpha", "network", -1)
		s.done(makeNetwork(t.Context(), s))
	})
}

// boot makes a server on the first network of the project.
func (s *session) boot(ctx context.Context, name string, hints servers.SchedulerHintOptsBuilder) (*servers.Server, error) {
	s.t.Helper()
	image := must(images(ctx, s))(s.t)
	return servers.Create(ctx, s.compute, servers.CreateOpts{
		Name: name, ImageRef: image, FlavorRef: s.flavor(ctx), AvailabilityZone: "az1", Networks: "none",
	}, hints).Extract()
}

// Servers end in ERROR with the fault that a real Nova tells.
func TestServerFaults(t *testing.T) {
	o := ost.Options{
		FailServer: func(s ost.Object) string {
			return map[bool]string{true: "the disk is on fire"}[s.String("name") == "burning"]
		},
		FailBinding: func(p ost.Object) bool { return p.String("name") == "unbindable" },
	}
	bubble(t, o, func(t *testing.T, _ *ost.Cloud, _ *ost.Client, s *session) {
		ctx := t.Context()
		group := must(servergroups.Create(ctx, s.compute, servergroups.CreateOpts{Name: "g", Policy: "anti-affinity"}).Extract())(t)
		n := must(networks.Create(ctx, s.network, networks.CreateOpts{Name: "n"}).Extract())(t)
		must(subnets.Create(ctx, s.network, subnets.CreateOpts{NetworkID: n.ID, IPVersion: 4, CIDR: "10.0.0.0/24"}).Extract())(t)
		port := must(ports.Create(ctx, s.network, ports.CreateOpts{NetworkID: n.ID, Name: "unbindable"}).Extract())(t)
		fault := func(id string) string {
			v := must(servers.Get(ctx, s.compute, id).Extract())(t)
			return v.Status + " " + v.Fault.Message
		}
		for i, want := range []string{"ACTIVE ", "ACTIVE ", "ERROR No valid host was found. There are not enough hosts available."} {
			v := must(s.boot(ctx, "grouped", servers.SchedulerHintOpts{Group: group.ID}))(t)
			if got := fault(v.ID); got != want {
				t.Errorf("server %d of an anti-affinity group on two hosts = %q, want %q", i, got, want)
			}
		}
		if got, want := fault(must(s.boot(ctx, "burning", nil))(t).ID), "ERROR the disk is on fire"; got != want {
			t.Errorf("burning server = %q, want %q", got, want)
		}
		v := must(servers.Create(ctx, s.compute, servers.CreateOpts{
			Name: "m", ImageRef: must(images(ctx, s))(t), FlavorRef: s.flavor(ctx), Networks: []servers.Network{{Port: port.ID}},
		}, nil).Extract())(t)
		if got := fault(v.ID); !strings.HasPrefix(got, "ERROR ") || !strings.Contains(got, "Failed to allocate the network(s)") {
			t.Errorf("server on a port that cannot be bound = %q", got)
		}
		if _, err := flavors.Get(ctx, s.compute, "nothing").Extract(); !gophercloud.ResponseCodeIs(err, http.StatusNotFound) {
			t.Errorf("no flavor = %v, want 404", err)
		}
	})
}

package openstacktest_test

import (
	"net/http"
	"slices"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"

	ost "fairlead.dev/providers/infrastructure/openstack/openstacktest"
)

// TestNextSubnet: a port that names no address gets one of the first subnet of each family that has
// a free one. Where no subnet of a family has any, there is no port.
// Source: Neutron, neutron/db/ipam_pluggable_backend.py.
func TestNextSubnet(t *testing.T) {
	bubble(t, ost.Options{}, func(t *testing.T, _ *ost.Cloud, _ *ost.Client, s *session) {
		n, err := networks.Create(t.Context(), s.network, networks.CreateOpts{Name: "n"}).Extract()
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range []subnets.CreateOpts{
			{CIDR: "10.1.0.0/24", AllocationPools: []subnets.AllocationPool{{Start: "10.1.0.10", End: "10.1.0.10"}}},
			{CIDR: "10.2.0.0/24", AllocationPools: []subnets.AllocationPool{{Start: "10.2.0.10", End: "10.2.0.11"}}},
			{CIDR: "fd00:1::/64", IPVersion: gophercloud.IPv6, AllocationPools: []subnets.AllocationPool{{Start: "fd00:1::10", End: "fd00:1::99"}}},
		} {
			o.NetworkID = n.ID
			if o.IPVersion == 0 {
				o.IPVersion = gophercloud.IPv4
			}
			if _, err := subnets.Create(t.Context(), s.network, o).Extract(); err != nil {
				t.Fatal(err)
			}
		}
		for i, want := range [][]string{{"10.1.0.10", "fd00:1::10"}, {"10.2.0.10", "fd00:1::11"}, {"10.2.0.11", "fd00:1::12"}} {
			p, err := ports.Create(t.Context(), s.network, ports.CreateOpts{NetworkID: n.ID}).Extract()
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, ip := range p.FixedIPs {
				got = append(got, ip.IPAddress)
			}
			if slices.Sort(got); !slices.Equal(got, want) {
				t.Errorf("port %d has the addresses %q, want %q", i, got, want)
			}
		}
		_, err = ports.Create(t.Context(), s.network, ports.CreateOpts{NetworkID: n.ID}).Extract()
		if !gophercloud.ResponseCodeIs(err, http.StatusConflict) {
			t.Errorf("a port where all subnets of a family are full: %v, want a conflict", err)
		}
	})
}

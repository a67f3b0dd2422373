package openstack_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/routers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"

	"fairlead.dev/fleet"
	"fairlead.dev/test/lab/openstack/lab"
)

// TestShapes: clusters of different shapes in one project.
func TestShapes(t *testing.T) {
	w := newWorld(t)
	h := w.newShip("shapes")
	ours := w.existing()
	shapes := []cluster{
		{Name: "existing", CP: 1, Workers: 1, Patches: map[string]string{"OpenStackCluster": "spec:\n  managedSubnets: null\n  network:\n    filter:\n      name: existing\n  subnets:\n  - filter:\n      name: existing\n  router:\n    filter:\n      name: existing\n"}},
		{Name: "bastion", CP: 1, Workers: 0, Components: []string{"bastion"}},
		{
			Name: "zones", CP: 3, Workers: 1, Components: []string{"load-balancer"},
			Patches: map[string]string{
				"OpenStackCluster":  "spec:\n  controlPlaneAvailabilityZones: [az1, az2, az3]\n",
				"MachineDeployment": "spec:\n  template:\n    spec:\n      failureDomain: az2\n",
			},
		},
		{Name: "volumes", CP: 1, Workers: 1, Patches: template("rootVolume:\n  sizeGiB: 2\nadditionalBlockDevices:\n- name: etcd\n  sizeGiB: 1\n  storage:\n    type: Volume")},
		{Name: "flatcar", CP: 1, Workers: 1, Components: []string{"flatcar"}, Values: map[string]string{"OPENSTACK_IMAGE": "flatcar"}},
		{Name: "fixed", CP: 1, Workers: 1, Components: []string{"load-balancer"}, Patches: map[string]string{"OpenStackCluster": "spec:\n  apiServer:\n    enableFloatingIP: false\n  managedSubnets:\n  - cidr: 10.9.0.0/24\n    dnsNameservers: [9.9.9.9]\n"}},
		{Name: "trunks", CP: 1, Workers: 1, Patches: template("trunk: true")},
	}
	h.put("clusters of all shapes", shapes...)
	h.waitComplete(shapes...)

	there := w.servers()
	things := w.things()
	t.Run("existing", func(t *testing.T) {
		for name, s := range there {
			if strings.HasPrefix(name, "existing-") && s.Addresses["existing"] == nil {
				t.Errorf("%s is not in the network: %v", name, s.Addresses)
			}
		}
	})
	t.Run("bastion", func(t *testing.T) {
		if !slices.ContainsFunc(things, func(x lab.Thing) bool { return x.Kind == "server" && strings.Contains(x.Name, "bastion-bastion") }) {
			t.Errorf("there is no bastion: %v", things)
		}
	})
	t.Run("zones", func(t *testing.T) {
		zones := make(map[string]bool)
		for _, m := range h.report(shapes[2]).Machines {
			zone := there[string(m.Machine.Name)].AvailabilityZone
			if m.Machine.Role == fleet.RoleWorker && zone != "az2" {
				t.Errorf("the worker is in %s, want az2", zone)
			}
			if m.Machine.Role == fleet.RoleControlPlane {
				zones[zone] = true
			}
		}
		if len(zones) != 3 {
			t.Errorf("the control plane is in the zones %v, want three", zones)
		}
	})
	t.Run("volumes", func(t *testing.T) {
		volumes := slices.DeleteFunc(slices.Clone(things), func(x lab.Thing) bool { return x.Kind != "volume" })
		if len(volumes) != 4 {
			t.Errorf("there are %d volumes, want a root and an additional one for each of two machines: %v", len(volumes), volumes)
		}
		for _, m := range h.report(shapes[3]).Machines {
			if n := len(there[string(m.Machine.Name)].AttachedVolumes); n != 2 {
				t.Errorf("%s has %d volumes, want 2", m.Machine.Name, n)
			}
		}
	})
	t.Run("fixed", func(t *testing.T) {
		if at := h.report(shapes[5]).Endpoint.Host; !strings.HasPrefix(at, "10.9.0.") {
			t.Errorf("the API server is at %s, want an address of the cluster's own network", at)
		}
	})
	t.Run("trunks", func(t *testing.T) {
		trunks := slices.DeleteFunc(slices.Clone(things), func(x lab.Thing) bool { return x.Kind != "trunk" })
		if len(trunks) != 2 {
			t.Errorf("there are %d trunks, want 2: %v", len(trunks), trunks)
		}
	})

	h.delete(shapes...)
	if left := w.things(); fmt.Sprint(left) != fmt.Sprint(ours) {
		t.Errorf("left is\n%v\nwant the network that was there before:\n%v", left, ours)
	}
}

// existing makes a network with a subnet behind a router, and returns all of it.
func (w *world) existing() []lab.Thing {
	t := w.t
	t.Helper()
	c, ctx := w.project.Clients(t), t.Context()
	n := must(networks.Create(ctx, c.Network, networks.CreateOpts{Name: "existing"}).Extract())(t)
	s := must(subnets.Create(ctx, c.Network, subnets.CreateOpts{Name: "existing", NetworkID: n.ID, IPVersion: gophercloud.IPv4, CIDR: "10.8.0.0/24"}).Extract())(t)
	r := must(routers.Create(ctx, c.Network, routers.CreateOpts{Name: "existing", GatewayInfo: &routers.GatewayInfo{NetworkID: w.publicNetwork()}}).Extract())(t)
	must(routers.AddInterface(ctx, c.Network, r.ID, routers.AddInterfaceOpts{SubnetID: s.ID}).Extract())(t)
	return w.things()
}

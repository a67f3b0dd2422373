package machine_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver"
	"fairlead.dev/providers/driver/openstackauth"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/infrastructure/openstack/api"
	"fairlead.dev/providers/infrastructure/openstack/cloud"
	"fairlead.dev/providers/infrastructure/openstack/machine"
	ost "fairlead.dev/providers/infrastructure/openstack/openstacktest"
)

// Parts that a look found left over are not removed once their machine has a
// server: it may have been made since the look.
func TestCleanLooksAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const settle = 30 * time.Second
		c := ost.New(ost.Options{})
		p, err := cloud.NewSessions(cloud.Options{Tick: time.Second, Rate: -1, Base: c.Client()}).Project(openstackauth.Credential{
			Secret: fleet.SecretData{openstackauth.CloudsYAMLKey: fleet.NewSecret(c.CloudsYAML(ost.URL, "alice"))}, Cloud: "openstack",
		})
		if err != nil {
			t.Fatal(err)
		}
		net := c.Add("alpha", ost.Networks, ost.Object{"name": "n", "status": "ACTIVE"})
		c.Add("alpha", ost.Subnets, ost.Object{
			"network_id": net, "cidr": "10.9.0.0/24", "ip_version": 4, "allocation_pools": []ost.Object{{"start": "10.9.0.10", "end": "10.9.0.99"}},
		})
		cluster := &fleet.Cluster{Fleet: "fleet-a", Key: fleet.Key{Namespace: "prod", Name: "eu-1"}}
		pool := fleet.Pool{Name: "md", Role: fleet.RoleWorker, Template: "1-md"}
		owner := snapshot.OwnerOf(cluster).Part("m-0")
		flavor, image := "m1.small", "ubuntu"
		k := machine.NewKeeper(settle, new(driver.Locks[snapshot.Owner]))
		create := func() error {
			s, err := p.Snapshot(t.Context(), owner)
			if err != nil {
				t.Fatal(err)
			}
			return openstackauth.Wrap("create", k.Create(t.Context(), p, s, machine.Request{
				Owner: owner, Tags: cluster.MachineTags(pool, "m-0", "op"), Place: machine.Place{Network: net},
				Spec: &api.OpenStackMachineSpec{
					Flavor: api.FlavorParam{Filter: &api.FlavorFilter{Name: &flavor}},
					Image:  api.ImageParam{Filter: &api.ImageFilter{Name: &image}},
				},
			}))
		}
		look := func() machine.Observation {
			time.Sleep(2 * time.Second)
			s, err := p.Snapshot(t.Context(), snapshot.OwnerOf(cluster))
			if err != nil {
				t.Fatal(err)
			}
			return k.Observe(p, s, cluster)
		}
		c.Inject(ost.Fault{Service: "compute", Method: http.MethodPost, Path: "/servers", Times: 1, Cut: ost.Before})
		if err := create(); fleet.KindOf(err) != fleet.Unanswered {
			t.Fatalf("the first try: %v, want it unanswered", err)
		}
		look()
		time.Sleep(2 * settle)
		found := look()
		if len(found.Drift) != 1 {
			t.Fatalf("drift %q, want the port left over", found.Drift)
		}
		if err := create(); err != nil {
			t.Fatal(err)
		}
		if err := k.Clean(t.Context(), p, found, func(string) bool { return false }); err != nil {
			t.Fatal(err)
		}
		if n := len(c.Objects(ost.Ports)); n != 1 {
			t.Errorf("%d ports, want the one of the machine", n)
		}
	})
}

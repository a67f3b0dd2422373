package lab

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/config"
	"github.com/gophercloud/gophercloud/v2/openstack/config/clouds"
)

// state is where the lab keeps its things, as in steps/settings.sh.
const state = "/var/lib/fairlead-lab/openstack"

// Clients are the services of the lab as one user sees them.
type Clients struct {
	Identity     *gophercloud.ServiceClient
	Compute      *gophercloud.ServiceClient
	Network      *gophercloud.ServiceClient
	Image        *gophercloud.ServiceClient
	BlockStorage *gophercloud.ServiceClient
	LoadBalancer *gophercloud.ServiceClient
}

// Admin returns the services as the administrator sees them: those of all
// projects. It skips the test where FAIRLEAD_TEST_OPENSTACK is not set, since real
// services take their time, and where the lab is not up.
func Admin(t testing.TB) *Clients {
	t.Helper()
	if os.Getenv("FAIRLEAD_TEST_OPENSTACK") == "" {
		t.Skip("set FAIRLEAD_TEST_OPENSTACK=1 for tests on real services; `make test-openstack` does")
	}
	dir := os.Getenv("FAIRLEAD_LAB_OPENSTACK")
	if dir == "" {
		dir = state
	}
	file := filepath.Join(dir, "clouds.yaml")
	if _, err := os.Stat(file); err != nil {
		t.Skipf("there is no OpenStack lab; `make lab-openstack-up` starts one: %v", err)
	}
	auth, endpoints, _, err := clouds.Parse(clouds.WithCloudName("admin"), clouds.WithLocations(file))
	if err != nil {
		t.Fatalf("cannot read %s: %v", file, err)
	}
	auth.AllowReauth = true
	c, err := dial(t.Context(), auth, endpoints)
	if err != nil {
		t.Skipf("the OpenStack lab does not answer; `make lab-openstack-up` starts it: %v", err)
	}
	return c
}

func dial(ctx context.Context, auth gophercloud.AuthOptions, e gophercloud.EndpointOpts) (*Clients, error) {
	p, err := config.NewProviderClient(ctx, auth)
	if err != nil {
		return nil, err
	}
	var c Clients
	for _, s := range []struct {
		client **gophercloud.ServiceClient
		open   func(*gophercloud.ProviderClient, gophercloud.EndpointOpts) (*gophercloud.ServiceClient, error)
	}{
		{&c.Identity, openstack.NewIdentityV3},
		{&c.Compute, openstack.NewComputeV2},
		{&c.Network, openstack.NewNetworkV2},
		{&c.Image, openstack.NewImageV2},
		{&c.BlockStorage, openstack.NewBlockStorageV3},
		{&c.LoadBalancer, openstack.NewLoadBalancerV2},
	} {
		if *s.client, err = s.open(p, e); err != nil {
			return nil, err
		}
	}
	// Tags of servers, their descriptions and their user data need a newer
	// Nova API than its first.
	c.Compute.Microversion = "2.90"
	return &c, nil
}

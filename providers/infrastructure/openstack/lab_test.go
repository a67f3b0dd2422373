package openstack_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/flavors"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/conformance"
	"fairlead.dev/providers/infrastructure/openstack"
	"fairlead.dev/providers/infrastructure/openstack/cloud"
	"fairlead.dev/test/lab/openstack/lab"
)

// TestConformanceOnTheLab runs the suite on real services. Each check has a
// project of its own, which is empty when it ends or says what stayed.
func TestConformanceOnTheLab(t *testing.T) {
	lab.Admin(t)
	projects := make(map[providers.Infrastructure]*lab.Project)
	var last *lab.Project
	conformance.Run(t, conformance.Options{
		Provider: "openstack-lab", Hooks: conformance.Hooks{UserDataLimit: 49149},
		New: func(t testing.TB) providers.Infrastructure {
			last = lab.NewProject(t)
			p := openstack.New(openstack.Options{Cloud: cloud.Options{Tick: 2 * time.Second, Rate: 200}, Settle: 6 * time.Second})
			projects[p] = last
			t.Cleanup(p.Close)
			return p
		},
		Cluster: func() fleet.Cluster { return newCluster(t, last.CloudsYAML(), clusterSpec(), machineSpec()) },
		Foreign: func(t testing.TB, p providers.Infrastructure, name string) func() bool {
			c := projects[p].Clients(t)
			flavor, err := findFlavor(t.Context(), c.Compute, "m1.small")
			if err != nil {
				t.Fatal(err)
			}
			image, err := findImage(t.Context(), c.Image, "ubuntu")
			if err != nil {
				t.Fatal(err)
			}
			v, err := servers.Create(t.Context(), c.Compute, servers.CreateOpts{Name: name, FlavorRef: flavor, ImageRef: image, Networks: "none"}, nil).Extract()
			if err != nil {
				t.Fatal(err)
			}
			return func() bool {
				_, err := servers.Get(t.Context(), c.Compute, v.ID).Extract()
				return err == nil
			}
		},
	})
}

func findFlavor(ctx context.Context, c *gophercloud.ServiceClient, name string) (string, error) {
	pages, err := flavors.ListDetail(c, nil).AllPages(ctx)
	if err != nil {
		return "", err
	}
	all, err := flavors.ExtractFlavors(pages)
	for _, f := range all {
		if f.Name == name {
			return f.ID, nil
		}
	}
	return "", fmt.Errorf("no flavor %s: %w", name, err)
}

func findImage(ctx context.Context, c *gophercloud.ServiceClient, name string) (string, error) {
	pages, err := images.List(c, images.ListOpts{Name: name}).AllPages(ctx)
	if err != nil {
		return "", err
	}
	all, err := images.ExtractImages(pages)
	if len(all) == 0 {
		return "", fmt.Errorf("no image %s: %w", name, err)
	}
	return all[0].ID, nil
}

package openstack_test

import (
	"slices"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/flavors"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
)

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// flavor returns the id of a flavor of the lab.
func (w *world) flavor(name string) string {
	w.t.Helper()
	all := must(flavors.ExtractFlavors(must(flavors.ListDetail(w.project.Admin.Compute, nil).AllPages(w.t.Context()))(w.t)))(w.t)
	i := slices.IndexFunc(all, func(f flavors.Flavor) bool { return f.Name == name })
	if i < 0 {
		w.t.Fatalf("the lab has no flavor %s", name)
	}
	return all[i].ID
}

// image returns the id of an image of the lab.
func (w *world) image(name string) string {
	w.t.Helper()
	all := must(images.ExtractImages(must(images.List(w.project.Admin.Image, images.ListOpts{Name: name}).AllPages(w.t.Context()))(w.t)))(w.t)
	if len(all) != 1 {
		w.t.Fatalf("the lab has %d images called %s", len(all), name)
	}
	return all[0].ID
}

// publicNetwork returns the id of the lab's external network.
func (w *world) publicNetwork() string {
	w.t.Helper()
	all := must(networks.ExtractNetworks(must(networks.List(w.project.Admin.Network, networks.ListOpts{Name: "public"}).AllPages(w.t.Context()))(w.t)))(w.t)
	if len(all) != 1 {
		w.t.Fatalf("the lab has %d external networks", len(all))
	}
	return all[0].ID
}

// servers lists those of the project, by name.
func (w *world) servers() map[string]servers.Server {
	w.t.Helper()
	all := must(servers.ExtractServers(must(servers.List(w.project.Admin.Compute, servers.ListOpts{AllTenants: true, TenantID: w.project.ID}).AllPages(w.t.Context()))(w.t)))(w.t)
	out := make(map[string]servers.Server, len(all))
	for _, s := range all {
		out[s.Name] = s
	}
	return out
}

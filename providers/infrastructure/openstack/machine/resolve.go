package machine

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/flavors"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servergroups"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"
	"github.com/gophercloud/gophercloud/v2/pagination"
	"k8s.io/utils/ptr"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/openstackauth"
	"fairlead.dev/providers/infrastructure/openstack/api"
	"fairlead.dev/providers/infrastructure/openstack/cloud"
	"fairlead.dev/providers/infrastructure/openstack/network"
)

// A found thing is one that a filter may mean.
type found struct{ id, name string }

// ask returns what a filter finds, remembered for some minutes: list asks a service for Ts.
func ask[T any](
	ctx context.Context, p *cloud.Project, what string, filter any, service cloud.Service,
	list func(*gophercloud.ServiceClient) pagination.Pager, extract func(pagination.Page) ([]T, error), as func(T) found,
) ([]found, error) {
	return cloud.Lookup(p, what+" "+words(filter), func() (out []found, err error) {
		all, err := cloud.List(ctx, what+"s", service, list, extract)
		for _, t := range all {
			out = append(out, as(t))
		}
		return out, err
	}, func(out []found) bool { return len(out) > 0 })
}

// words shows a filter the way people wrote it.
func words(filter any) string {
	b, err := json.Marshal(filter)
	if err != nil {
		return fmt.Sprint(filter)
	}
	return string(b)
}

// one returns the only one of all. The error is of kind Invalid, and names field.
func one(what, field string, filter any, all []found) (string, error) {
	f, err := network.Only(field, what, filter, all, func(found) bool { return true }, func(f found) string { return f.id + " (" + f.name + ")" })
	return f.id, err
}

func imageID(ctx context.Context, p *cloud.Project, param api.ImageParam, as Image) (string, error) {
	switch {
	case as.ID != "":
		return as.ID, nil
	case param.ID != nil:
		return *param.ID, nil
	}
	named := ptr.Deref(param.Filter, api.ImageFilter{})
	f := api.ImageImportFilter{Name: named.Name, Tags: named.Tags}
	if as.Import != nil {
		f = *as.Import
	}
	all, err := ask(ctx, p, "image", f, p.Image, func(c *gophercloud.ServiceClient) pagination.Pager {
		return images.List(c, images.ListOpts{
			Name: ptr.Deref(f.Name, ""), Tags: f.Tags, Visibility: images.ImageVisibility(ptr.Deref(f.Visibility, "")), Status: images.ImageStatusActive,
		})
	}, images.ExtractImages, func(i images.Image) found { return found{i.ID, i.Name} })
	if err != nil {
		return "", err
	}
	return one("image", "image", f, all)
}

func flavorID(ctx context.Context, p *cloud.Project, param api.FlavorParam) (string, error) {
	return novaID(ctx, p, "flavor", "flavor", &param, func(c *gophercloud.ServiceClient) pagination.Pager {
		return flavors.ListDetail(c, flavors.ListOpts{})
	}, flavors.ExtractFlavors, func(f flavors.Flavor) found { return found{f.ID, f.Name} })
}

func serverGroupID(ctx context.Context, p *cloud.Project, param *api.ServerGroupParam) (string, error) {
	if param == nil {
		return "", nil
	}
	return novaID(ctx, p, "server group", "serverGroup", param, func(c *gophercloud.ServiceClient) pagination.Pager {
		return servergroups.List(c, servergroups.ListOpts{})
	}, servergroups.ExtractServerGroups, func(g servergroups.ServerGroup) found { return found{g.ID, g.Name} })
}

// novaID returns the id of the one thing that param means, of those that Nova lists.
func novaID[T any](
	ctx context.Context, p *cloud.Project, what, field string, param *api.NovaParam,
	list func(*gophercloud.ServiceClient) pagination.Pager, extract func(pagination.Page) ([]T, error), as func(T) found,
) (string, error) {
	if param.ID != nil {
		return *param.ID, nil
	}
	f := ptr.Deref(param.Filter, api.NovaFilter{})
	all, err := ask(ctx, p, what, nil, p.Compute, list, extract, as)
	if err != nil {
		return "", err
	}
	all = slices.DeleteFunc(slices.Clone(all), func(i found) bool { return i.name != ptr.Deref(f.Name, "") })
	return one(what, field, f, all)
}

// securityGroupIDs returns all that params find, each once, in their order.
func securityGroupIDs(ctx context.Context, p *cloud.Project, field string, params []api.SecurityGroupParam) ([]string, error) {
	var out []string
	for i, param := range params {
		if param.ID != nil {
			out = append(out, *param.ID)
			continue
		}
		f := ptr.Deref(param.Filter, api.SecurityGroupFilter{})
		all, err := ask(ctx, p, "security group", f, func(ctx context.Context) (*gophercloud.ServiceClient, error) {
			c, err := p.Network(ctx)
			if err == nil && f.ProjectID == "" { // an administrator sees those of everyone
				f.ProjectID, err = p.ID(ctx)
			}
			return c, err
		}, func(c *gophercloud.ServiceClient) pagination.Pager {
			return groups.List(c, groups.ListOpts{
				Name: f.Name, Description: f.Description, ProjectID: f.ProjectID,
				Tags: join(f.Tags), TagsAny: join(f.TagsAny), NotTags: join(f.NotTags), NotTagsAny: join(f.NotTagsAny),
			})
		}, groups.ExtractGroups, func(g groups.SecGroup) found { return found{g.ID, g.Name} })
		if err != nil {
			return nil, err
		}
		if len(all) == 0 {
			_, err := one("security group", fmt.Sprintf("%s[%d]", field, i), f, nil)
			return nil, err
		}
		for _, g := range all {
			out = append(out, g.id)
		}
	}
	return unique(out), nil
}

func join(tags []api.NeutronTag) string {
	var out []string
	for _, t := range tags {
		out = append(out, string(t))
	}
	return strings.Join(out, ",")
}

func unique(all []string) []string {
	var out []string
	for _, s := range all {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// invalid is err, or where Nova or Neutron does not know something that Git
// names, the same as Invalid.
func invalid(err error) error {
	if gophercloud.ResponseCodeIs(err, 404) {
		e := openstackauth.Wrap("", err)
		if f, ok := e.(*fleet.Error); ok { //nolint:errorlint // Wrap returns nothing else
			return &fleet.Error{Kind: fleet.Invalid, Op: f.Op, Err: f.Err}
		}
	}
	return err
}

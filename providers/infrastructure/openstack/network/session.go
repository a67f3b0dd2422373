package network

import (
	"context"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/attributestags"

	"fairlead.dev/providers/driver/openstackauth"
	"fairlead.dev/providers/infrastructure/openstack/cloud"
)

// by returns what takes a step by do, which changes things of a service.
func (v *view) by(service func(*cloud.Project, context.Context) (*gophercloud.ServiceClient, error), do func(context.Context, *gophercloud.ServiceClient) error) func(context.Context) error {
	return func(ctx context.Context) error {
		c, err := service(v.project, ctx)
		if err != nil {
			return err
		}
		defer v.project.Changed(v.owner)
		return do(ctx, c)
	}
}

// neutron returns what takes a step by do, which changes things of Neutron.
func (v *view) neutron(do func(context.Context, *gophercloud.ServiceClient) error) func(context.Context) error {
	return v.by((*cloud.Project).Network, do)
}

// octavia does so with things of Octavia.
func (v *view) octavia(do func(context.Context, *gophercloud.ServiceClient) error) func(context.Context) error {
	return v.by((*cloud.Project).LoadBalancer, do)
}

// entered has put enter what a change gave into the view, unless it failed.
func entered[T any](put func(T), got *T, err error) error {
	if err != nil {
		return err
	}
	put(*got)
	return nil
}

// ignoreNotFound turns an error of a removal into none where the thing is not there.
func ignoreNotFound(err error) error {
	if openstackauth.NotFound(err) {
		return nil
	}
	return err
}

// tags gives a thing of Neutron, where these have any, the tags that Git names, and
// no others: what was taken out of Git goes. Where Git names none it is not about
// tags, and those that are there stay. The marks of ownership are not here: this is a
// second call.
func (v *view) tags(d *decision, kind, id, name string, have []string, enter func([]string)) {
	want := slices.Compact(slices.Sorted(slices.Values(v.spec.Tags)))
	if v.lacks[cloud.LacksTags] || len(want) == 0 || slices.Equal(want, slices.Sorted(slices.Values(have))) {
		return
	}
	d.Add(step{What: "tag " + strings.ReplaceAll(strings.TrimSuffix(kind, "s"), "-", " ") + " " + name, Do: v.neutron(func(ctx context.Context, c *gophercloud.ServiceClient) error {
		if _, err := attributestags.ReplaceAll(ctx, c, kind, id, attributestags.ReplaceAllOpts{Tags: want}).Extract(); err != nil {
			return err
		}
		enter(want)
		return nil
	})})
}

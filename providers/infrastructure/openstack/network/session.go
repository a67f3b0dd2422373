package network

import (
	"context"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/attributestags"

	"fairlead.dev/providers/driver/openstackauth"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/infrastructure/openstack/cloud"
)

// A session is the project that steps change, with the cluster that they change it for.
type session struct {
	*cloud.Project
	owner snapshot.Owner
}

// changed says that what was seen of the cluster is not good enough any more.
func (sess *session) changed() { sess.Changed(sess.owner) }

// neutron returns what takes a step by do, which changes things of Neutron.
func neutron(do func(context.Context, *gophercloud.ServiceClient) error) func(context.Context, *session) error {
	return func(ctx context.Context, sess *session) error {
		c, err := sess.Network(ctx)
		if err != nil {
			return err
		}
		defer sess.changed()
		return do(ctx, c)
	}
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
	d.add(step{what: "tag " + strings.ReplaceAll(strings.TrimSuffix(kind, "s"), "-", " ") + " " + name, do: neutron(func(ctx context.Context, c *gophercloud.ServiceClient) error {
		if _, err := attributestags.ReplaceAll(ctx, c, kind, id, attributestags.ReplaceAllOpts{Tags: want}).Extract(); err != nil {
			return err
		}
		enter(want)
		return nil
	})})
}

package aws

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/driver"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/driver/steps"
	"fairlead.dev/providers/infrastructure/aws/api"
	"fairlead.dev/providers/infrastructure/aws/cloud"
)

// Check implements providers.Checker.
func (p *Provider) Check(ctx context.Context, clusters []*fleet.Cluster) ([]providers.Finding, error) {
	return driver.Check(clusters, "account", func(c *fleet.Cluster, note driver.Note) error { return p.check(ctx, c, note) }), nil
}

// check looks up what the machines of c need: the account, its network, and of each pool the image, the type and
// the key pair. Where the network is there, a dry run shows whether an instance may be made.
func (p *Provider) check(ctx context.Context, c *fleet.Cluster, note driver.Note) error {
	v, err := p.look(ctx, c, snapshot.OwnerOf(c))
	if err != nil {
		return cloud.WrapLook("look at AWS", err)
	}
	id, err := v.place.ID(ctx)
	if err != nil {
		return cloud.WrapLook("find the account", err)
	}
	note("account", id, nil)
	d := new(steps.Decision)
	n := v.network(d)
	for _, err := range d.Faults {
		note("network", "", err)
	}
	if n.vpc != "" && len(d.Faults) == 0 {
		note("network", fmt.Sprintf("%s with %d subnets for machines, %d of them public", n.vpc, len(n.private), len(n.public)), nil)
	}
	if api.IsManaged(c) {
		return p.checkManaged(ctx, c, note)
	}
	for _, id := range slices.Sorted(maps.Keys(v.unread)) {
		note("load balancer", "", v.unread[id])
	}
	for _, err := range v.unlisted {
		note("user data", "", err)
	}
	for _, pool := range c.Pools() {
		p.checkPool(ctx, v, pool, n, note)
	}
	return nil
}

func (p *Provider) checkPool(ctx context.Context, v *view, pool fleet.Pool, n network, note driver.Note) {
	spec, err := api.ReadMachine(pool.Infrastructure)
	if err != nil {
		note("pool", "", err)
		return
	}
	if _, err := storeOf(v.spec, spec, spec.Ignition != nil); err != nil {
		note("user data", "", err)
	}
	if err := v.checkWorker(spec); err != nil {
		note("pool "+string(pool.Name), "", err)
		return
	}
	zones, err := v.place.ZonesOf(ctx, spec.InstanceType)
	switch {
	case err != nil:
		note("instance type", "", cloud.WrapLook("find instance type "+spec.InstanceType, err))
	case len(zones) == 0:
		note("instance type", "", fleet.Errorf(fleet.Invalid, "find instance type "+spec.InstanceType, "%s has no such type (name another)", v.spec.Region))
	default:
		note("instance type", spec.InstanceType+" in "+strings.Join(zones, ", "), nil)
	}
	image, err := v.image(ctx, spec, pool.Version)
	switch {
	case err != nil:
		note("image", "", err)
	case strings.HasPrefix(image, "ami-"):
		_, err = v.place.Image(ctx, image)
		note("image", image, cloud.WrapLook("find image "+image, cloud.Named(err)))
	default:
		name := strings.TrimPrefix(image, api.ResolveSSM)
		value, err := v.place.Parameter(ctx, name)
		note("image", value, cloud.WrapLook("find parameter "+name, cloud.Named(err)))
	}
	if name := v.keyName(spec); name != "" {
		err := cloud.Named(v.place.KeyPair(ctx, name))
		note("key pair", name, cloud.WrapLook("find key pair "+name, err))
	}
	made := slices.ContainsFunc(v.instances, func(i cloud.Instance) bool { return i.Tags[fleet.TagPool] == string(pool.Name) })
	if n.vpc == "" || len(n.private) == 0 || made && len(spec.NetworkInterfaces) > 0 { // which it has
		return
	}
	r := providers.MachineRequest{Cluster: v.c, Pool: pool, Name: "check"}
	form, err := v.instance(ctx, spec, r, "check", bootstrap{})
	if err != nil {
		return // said above, or the groups are still to be made
	}
	subnets, err := v.subnetsFor(ctx, spec, r)
	if err != nil {
		note("subnet", "", err)
		return
	}
	err = v.place.MayRun(ctx, cloud.Join(form, v.interfaceIn(spec, form, subnets[0])))
	note("instance", "pool "+string(pool.Name)+" may be made", cloud.WrapLook("make an instance of pool "+string(pool.Name), cloud.Named(err)))
}

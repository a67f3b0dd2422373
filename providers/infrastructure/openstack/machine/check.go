package machine

import (
	"context"
	"fmt"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/flavors"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/keypairs"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/limits"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/openstackauth"
	"fairlead.dev/providers/infrastructure/openstack/api"
	"fairlead.dev/providers/infrastructure/openstack/cloud"
)

// A Part is something that a server needs, and the name that Git has for it.
type Part struct {
	What, Name string
	Err        error // why it cannot be had
}

// Parts looks for what servers like spec need: the image, unless the agent makes it, the
// flavor, the key pair, the server group and security groups.
func Parts(ctx context.Context, p *cloud.Project, spec *api.OpenStackMachineSpec, image Image) []Part {
	var out []Part
	add := func(what string, param any, err error) {
		out = append(out, Part{What: what, Name: words(param), Err: err})
	}
	if spec.Image.ImageRef == nil || image.Import != nil {
		_, err := imageID(ctx, p, spec.Image, image)
		add("image", spec.Image, err)
	}
	_, err := flavorID(ctx, p, spec.Flavor)
	add("flavor", spec.Flavor, err)
	if spec.SSHKeyName != "" {
		add("key pair", spec.SSHKeyName, keyPair(ctx, p, spec.SSHKeyName))
	}
	if spec.ServerGroup != nil {
		_, err := serverGroupID(ctx, p, spec.ServerGroup)
		add("server group", spec.ServerGroup, err)
	}
	if len(spec.SecurityGroups) > 0 {
		_, err := securityGroupIDs(ctx, p, "securityGroups", spec.SecurityGroups)
		add("security groups", spec.SecurityGroups, err)
	}
	return out
}

func keyPair(ctx context.Context, p *cloud.Project, name string) error {
	op := "look up sshKeyName"
	client, err := p.Compute(ctx)
	if err != nil {
		return openstackauth.WrapLook(op, err)
	}
	_, err = keypairs.Get(ctx, client, name, nil).Extract()
	err = openstackauth.WrapLook(op, err)
	if fleet.KindOf(err) == fleet.NotFound {
		return fleet.Errorf(fleet.Invalid, op, "the user of the credential has no key pair %s (make it, or correct sshKeyName)", name)
	}
	return err
}

// A Size is what servers take of the quota of Nova.
type Size struct{ Servers, Cores, RAM int }

// SizeOf returns what so many servers of a flavor take.
func SizeOf(ctx context.Context, p *cloud.Project, param api.FlavorParam, servers int) (Size, error) {
	id, err := flavorID(ctx, p, param)
	if err != nil {
		return Size{}, err
	}
	client, err := p.Compute(ctx)
	if err != nil {
		return Size{}, openstackauth.WrapLook("look up flavor", err)
	}
	f, err := flavors.Get(ctx, client, id).Extract()
	if err != nil {
		return Size{}, openstackauth.WrapLook("look up flavor", err)
	}
	return Size{servers, servers * f.VCPUs, servers * f.RAM}, nil
}

// Add returns the sum of s and o.
func (s Size) Add(o Size) Size { return Size{s.Servers + o.Servers, s.Cores + o.Cores, s.RAM + o.RAM} }

// Room says how much of Nova's quota is free in p, besides what is needed. The error is of
// kind Exhausted where need does not fit.
func Room(ctx context.Context, p *cloud.Project, need Size) (string, error) {
	const op = "fit into the quota of Nova"
	client, err := p.Compute(ctx)
	if err != nil {
		return "", openstackauth.WrapLook(op, err)
	}
	var all absolute
	if err := limits.Get(ctx, client, nil).ExtractInto(&all); err != nil {
		return "", openstackauth.WrapLook(op, err)
	}
	text := ""
	for _, r := range all.of(need) {
		free, known := r.free()
		if !known {
			continue
		}
		if r.asked > free {
			return "", fleet.Errorf(fleet.Exhausted, op, "%d %s are needed, and %d of %d are free (have the quota of the project raised, or remove what is not needed)", r.asked, r.name, free, *r.of)
		}
		text += fmt.Sprintf(", %d of %d free %s", r.asked, free, r.name)
	}
	if text == "" {
		return "no quota", nil
	}
	return text[len(", "):], nil
}

// A resource is one that Nova counts, and how much of it is asked for.
type resource struct {
	name     string
	asked    int
	used, of *int
}

// of returns the resources that need takes.
func (a *absolute) of(need Size) []resource {
	l := a.Limits.Absolute
	return []resource{
		{"instances", need.Servers, l.InstancesUsed, l.Instances}, {"cores", need.Cores, l.CoresUsed, l.Cores}, {"ram", need.RAM, l.RAMUsed, l.RAM},
	}
}

// free returns how much is left; false: that is not known, or there is no bound.
func (r resource) free() (int, bool) {
	if r.used == nil || r.of == nil || *r.of < 0 {
		return 0, false
	}
	return max(0, *r.of-*r.used), true
}

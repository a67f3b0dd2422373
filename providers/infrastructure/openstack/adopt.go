package openstack

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/driver"
	"fairlead.dev/providers/driver/openstackauth"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/infrastructure/openstack/cloud"
)

// An adoption is one thing that Cluster API's provider made for a cluster, and the
// mark that it is to carry.
type adoption struct {
	what     string // "port eu-1-md-0-x7k2p-0"
	owner    snapshot.Owner
	has      snapshot.Owner // zero: none
	done     bool
	balancer string // id of the load balancer that has to take the change
	project  *cloud.Project
	mark     func(context.Context) error
	release  func(context.Context) error
}

// Adoptable implements providers.Adopter.
func (p *Provider) Adoptable(ctx context.Context, c *fleet.Cluster, machines []providers.AdoptedMachine) ([]string, error) {
	all, err := p.adoptions(ctx, "adopt "+c.Key.String(), c, machines)
	var out []string
	for _, x := range all {
		if !x.done {
			out = append(out, x.what)
		}
	}
	slices.Sort(out)
	return out, err
}

// Adopt implements providers.Adopter. What is part of a load balancer is changed
// one at a time, as Octavia wants it.
func (p *Provider) Adopt(ctx context.Context, c *fleet.Cluster, machines []providers.AdoptedMachine) error {
	op := "adopt " + c.Key.String()
	all, err := p.adoptions(ctx, op, c, machines)
	if err != nil {
		return err
	}
	for _, x := range all {
		if x.done {
			continue
		}
		if err := x.apply(ctx, x.mark); err != nil {
			return openstackauth.Wrap(op+": mark "+x.what, err)
		}
	}
	return nil
}

// Release implements providers.Adopter.
func (p *Provider) Release(ctx context.Context, c *fleet.Cluster, machines []providers.AdoptedMachine) error {
	op := "release " + c.Key.String()
	got, err := p.look(ctx, c, snapshot.OwnerOf(c))
	if err != nil {
		return openstackauth.WrapLook(op, err)
	}
	for _, at := range got.projects {
		if err := driver.MayRelease(op, c, at.machines.Machines, machines, serverOf); err != nil {
			return err
		}
	}
	all, err := p.adoptions(ctx, op, c, machines)
	if err != nil {
		return err
	}
	for _, x := range all {
		if x.has == (snapshot.Owner{}) {
			continue
		}
		if err := x.apply(ctx, x.release); err != nil {
			return openstackauth.Wrap(op+": take the mark off "+x.what, err)
		}
	}
	return nil
}

// serverOf returns the id of a server, whatever region is before it.
func serverOf(id fleet.ProviderID) string {
	return string(id)[strings.LastIndex(string(id), "/")+1:]
}

// apply does one change, when the load balancer that it is part of takes changes.
func (x adoption) apply(ctx context.Context, do func(context.Context) error) error {
	defer x.project.Changed(x.owner.Shared())
	if x.balancer != "" {
		if err := awaitBalancer(ctx, x.project, x.balancer); err != nil {
			return err
		}
	}
	return do(ctx)
}

// How a load balancer is waited for.
const (
	balancerPace = time.Second
	balancerWait = 2 * time.Minute
)

func awaitBalancer(ctx context.Context, p *cloud.Project, id string) error {
	client, err := p.LoadBalancer(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, balancerWait)
	defer cancel()
	tick := time.NewTicker(balancerPace)
	defer tick.Stop()
	for {
		lb, err := loadbalancers.Get(ctx, client, id).Extract()
		if err != nil {
			return err
		}
		if lb.ProvisioningStatus == "ACTIVE" {
			return nil
		}
		select {
		case <-ctx.Done():
			return fleet.Errorf(fleet.Unavailable, "wait for load balancer "+lb.Name, "it is %s", lb.ProvisioningStatus)
		case <-tick.C:
		}
	}
}

// adoptions returns everything of c with the marks that it should have. Where one
// thing is missing or somebody else's, there is only the error.
func (p *Provider) adoptions(ctx context.Context, op string, c *fleet.Cluster, machines []providers.AdoptedMachine) ([]adoption, error) {
	if err := fits(op, c); err != nil {
		return nil, err
	}
	got, err := p.look(ctx, c, snapshot.OwnerOf(c))
	if err != nil {
		return nil, openstackauth.WrapLook(op, err)
	}
	f := &finder{cluster: c, observed: got, owner: snapshot.OwnerOf(c), name: c.Key.Namespace + "-" + c.Key.Name}
	if err := f.shared(ctx); err != nil {
		return nil, openstackauth.Wrap(op, err)
	}
	if err := f.machines(ctx, machines); err != nil {
		return nil, openstackauth.Wrap(op, err)
	}
	for _, x := range f.claims {
		if x.has != (snapshot.Owner{}) && x.has.Shared() != f.owner {
			return nil, fleet.Errorf(fleet.Conflict, op, "%s belongs to cluster %s of fleet %s", x.what, x.has.Cluster, x.has.Fleet)
		}
	}
	slices.SortStableFunc(f.claims, func(a, b adoption) int { return cmp.Compare(a.balancer, b.balancer) })
	return f.claims, nil
}

// placeWith returns the project that has the server with id.
func (s *observation) placeWith(id string) (projectState, bool) {
	i := slices.IndexFunc(s.projects, func(at projectState) bool { return at.snapshot.Servers.Get(id) != nil })
	if i < 0 {
		return projectState{}, false
	}
	return s.projects[i], true
}

// bastionTags are those of the bastion of c.
func (s *observation) bastionTags(c *fleet.Cluster) map[string]string {
	tags := c.Tags()
	tags[fleet.TagMachine] = string(cloud.Bastion(snapshot.OwnerOf(c)).Machine)
	tags[fleet.TagRole] = string(cloud.RoleBastion)
	tags[fleet.TagTemplate] = string(s.bastionTemplate())
	return tags
}

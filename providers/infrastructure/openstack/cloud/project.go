package cloud

import (
	"context"
	"fmt"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/pools"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver"
	"fairlead.dev/providers/driver/openstackauth"
	"fairlead.dev/providers/driver/snapshot"
)

// A Project is one project of one cloud, as one user. It is safe for concurrent
// use.
type Project struct {
	*openstackauth.Session

	exclusive chan struct{} // holds one: see Exclusive
	snapshots *snapshot.Cache[*Snapshot]
	lookups   lookups
	members   driver.Memory[string, pools.Member]  // of the pools of fleets, by id
	faults    driver.Memory[string, servers.Fault] // why servers of fleets are in ERROR, by id
	deleted   driver.Memory[string, bool]          // servers, by id, that Nova does not know
	lacks     driver.Memory[string, bool]          // see Lacks
}

func newProject(o Options, c openstackauth.Credential) (*Project, error) {
	s, err := openstackauth.New(c, openstackauth.Options{Rate: o.Rate, Timeout: o.Timeout, Observe: o.Observe, Base: o.Base})
	if err != nil {
		return nil, err
	}
	p := &Project{
		Session: s, exclusive: make(chan struct{}, 1), lookups: newLookups(),
	}
	p.snapshots = snapshot.NewCache(o.Tick, "list what is in the project", p.list)
	return p, nil
}

// Name says for people which project this is: "project ID in REGION".
func (p *Project) Name(ctx context.Context) (string, error) {
	id, err := p.ID(ctx)
	if err != nil || p.Region() == "" {
		return id, err
	}
	return fmt.Sprintf("%s/%s", p.Region(), id), nil
}

// Same reports whether o is the same project, if as another user or by another name of
// the cloud. The cloud says so itself: by the id of the project, and by the id and the
// region of Nova in the catalogue. A Keystone that tells no ids of services has the same
// address of Nova.
func (p *Project) Same(ctx context.Context, o *Project) (bool, error) {
	if p == o {
		return true, nil
	}
	a, err := p.ID(ctx)
	if err != nil {
		return false, err
	}
	b, err := o.ID(ctx)
	if err != nil || a != b {
		return false, err
	}
	if p.Origin() == o.Origin() && p.Region() == o.Region() {
		return true, nil
	}
	c, err := p.Compute(ctx)
	if err != nil {
		return false, err
	}
	d, err := o.Compute(ctx)
	if err != nil || c.Endpoint == d.Endpoint {
		return err == nil, err
	}
	at, err := p.Locate(ctx, compute())
	if err != nil || at.Service == "" {
		return false, err
	}
	there, err := o.Locate(ctx, compute())
	return err == nil && at == there, err
}

// Exclusive gives the caller the right to choose among the things of the project, such
// as free addresses, until release is called. One caller has it at a time.
func (p *Project) Exclusive(ctx context.Context) (release func(), err error) {
	select {
	case p.exclusive <- struct{}{}:
		return func() { <-p.exclusive }, nil
	case <-ctx.Done():
		return nil, fleet.Errorf(fleet.Unavailable, "wait for others that choose in the project", "%w", ctx.Err())
	}
}

// Lacks notes that the cloud said it does not have what, so that it is not asked
// again: snapshots that are begun from now on say so.
func (p *Project) Lacks(what string) { p.lacks.Note(what, true) }

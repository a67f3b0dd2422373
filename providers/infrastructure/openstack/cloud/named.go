package cloud

import (
	"bytes"
	"context"
	"net/http"
	"slices"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"golang.org/x/sync/errgroup"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/openstackauth"
	"fairlead.dev/providers/driver/snapshot"
)

// addNamedServers completes the servers of s with those that its listing lacks and
// that ports and volumes of machines name as theirs. That a listing lacks a server
// proves nothing: its cell may be down while it is asked for by page, Nova may keep
// it for a while after its deletion, or it may be younger than the listing.
func (p *Project) addNamedServers(ctx context.Context, s *Snapshot, project string) error {
	named := missingServers(s)
	p.deleted.ForgetIf(func(id string, _ bool) bool { return !slices.Contains(named, id) })
	named = slices.DeleteFunc(named, p.deleted.Has) // Nova gives no id twice, so each is asked for once
	if len(named) == 0 {
		return nil
	}
	found := make([]*servers.Server, len(named))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(listsAtOnce)
	for i, id := range named {
		g.Go(func() (err error) {
			found[i], err = p.Server(ctx, id)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	all := slices.Clone(s.Servers.All)
	for i, v := range found {
		if v == nil {
			p.deleted.Note(named[i], true)
			continue
		}
		all = append(all, *v)
	}
	s.Servers = serverSet(all, project)
	return nil
}

// missingServers returns the ids of the servers that parts of machines name and
// that s lacks, sorted.
func missingServers(s *Snapshot) []string {
	var out []string
	add := func(id string) {
		if id != "" && s.Servers.Get(id) == nil {
			out = append(out, id)
		}
	}
	for i := range s.Ports.All {
		if o, ours := s.Ports.Owner(s.Ports.All[i].ID); ours && o.Machine != "" {
			add(s.Ports.All[i].DeviceID)
		}
	}
	for i := range s.Volumes.All {
		if o, ours := s.Volumes.Owner(s.Volumes.All[i].ID); ours && o.Machine != "" {
			for _, a := range s.Volumes.All[i].Attachments {
				add(a.ServerID)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Server asks Nova for the server with id; nil where Nova knows none. One that Nova
// cannot look up gives the kind Unavailable.
func (p *Project) Server(ctx context.Context, id string) (*servers.Server, error) {
	op := "look at server " + id
	c, err := p.Compute(ctx)
	if err != nil {
		return nil, openstackauth.WrapLook(op, err)
	}
	v, err := servers.Get(ctx, c, id).Extract()
	switch {
	case novaKnowsNone(err):
		return nil, nil //nolint:nilnil // the contract: there is none
	case gophercloud.ResponseCodeIs(err, http.StatusNotFound):
		return nil, fleet.Errorf(fleet.Unavailable, op, "something that is not Nova says that there is nothing at its address")
	case err != nil:
		return nil, openstackauth.WrapLook(op, err)
	case v.ID != id:
		return nil, fleet.Errorf(fleet.Unavailable, op, "Nova answered with server %q", v.ID)
	case cellIsDown(*v):
		return nil, errCellDown(op, id)
	}
	return v, nil
}

// novaKnowsNone reports whether err is Nova's own word that there is no such server,
// and not what anything else says at an address where Nova no longer is.
// Source: Nova, nova/api/openstack/wsgi.py, Fault.
func novaKnowsNone(err error) bool {
	r, ok := openstackauth.Response(err)
	return ok && r.Actual == http.StatusNotFound && bytes.Contains(r.Body, []byte(`"itemNotFound"`))
}

// errCellDown says that only the id of a server is known.
func errCellDown(op, id string) error {
	return fleet.Errorf(fleet.Unavailable, op, "a cell of Nova is down: nothing is known of server %s but its id", id)
}

// serverSet is the set of servers in project. What the metadata of others says
// proves nothing.
func serverSet(all []servers.Server, project string) snapshot.Set[servers.Server] {
	return snapshot.NewSet(all, func(t *servers.Server) string { return t.ID }, func(t *servers.Server) (snapshot.Owner, bool) {
		if t.TenantID != "" && t.TenantID != project {
			return snapshot.Owner{}, false
		}
		return MetadataOwner(t.Metadata)
	})
}

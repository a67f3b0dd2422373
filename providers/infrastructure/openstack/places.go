package openstack

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/openstackauth"
	"fairlead.dev/providers/infrastructure/openstack/api"
	"fairlead.dev/providers/infrastructure/openstack/cloud"
)

// A projectRef is a project, and what leads there.
type projectRef struct {
	project *cloud.Project
	ref     *api.OpenStackIdentityReference // nil: that of the cluster
	named   bool                            // Git leads there
}

// place returns where r leads. A project is the same whatever credential leads
// there, and its id names that of the home whatever region the credential names: one
// that is changed to name the region leads nowhere else. The others may be several regions
// of one project. How to look there again is recorded for the others alone: the home is
// where Git says.
func (r projectRef) place(ctx context.Context) (fleet.Place, error) {
	id, err := r.project.ID(ctx)
	if err != nil {
		return fleet.Place{}, err
	}
	out := fleet.Place{ID: "project " + id}
	if r.ref == nil {
		return out, nil
	}
	if region := r.project.Region(); region != "" {
		out.ID += inRegion + region
	}
	access, err := json.Marshal(r.ref) // it names a Secret, and holds none
	out.Access = string(access)
	return out, err
}

const inRegion = " in region "

// samePlace reports whether a and b are ids of one place. A credential that names no
// region may be for the one that another names.
func samePlace(a, b string) bool {
	a, at, named := strings.Cut(a, inRegion)
	b, at2, named2 := strings.Cut(b, inRegion)
	return a == b && (at == at2 || !named || !named2)
}

// placeSeen tells of the project.
func (at projectState) placeSeen(ctx context.Context) (fleet.PlaceSeen, error) {
	out, err := at.place(ctx)
	used := at.machines.Exists || len(at.machines.Machines) > 0
	if at.images != nil { // where the cluster was, what is not known is not gone
		used = used || at.images.State().Exists || at.images.Err() != nil && !at.named
	}
	return fleet.PlaceSeen{Place: out, Used: used, Named: at.named}, err
}

// projects returns every project that c has or had machines in, its home first,
// each once however many credentials lead to it.
func (p *Provider) projects(ctx context.Context, c *fleet.Cluster) ([]*cloud.Project, *api.OpenStackClusterSpec, error) {
	all, spec, err := p.projectRefs(ctx, c)
	return projectsOf(all), spec, err
}

func projectsOf(all []projectRef) []*cloud.Project {
	out := make([]*cloud.Project, 0, len(all))
	for _, r := range all {
		out = append(out, r.project)
	}
	return out
}

// projectRefs returns the projects that Git leads to, the home first, then those that are
// remembered and that Git does not lead to any more.
func (p *Provider) projectRefs(ctx context.Context, c *fleet.Cluster) ([]projectRef, *api.OpenStackClusterSpec, error) {
	home, spec, err := p.home(ctx, c)
	if err != nil {
		return nil, nil, err
	}
	out := []projectRef{{project: home, named: true}}
	for _, pool := range c.Pools() {
		template, err := api.ReadMachine(pool.Infrastructure)
		if err != nil {
			return nil, nil, err
		}
		project, err := p.projectOf(ctx, c, pool, template, home)
		if err != nil {
			return nil, nil, err
		}
		if out, err = addProject(ctx, out, projectRef{project, template.IdentityRef, true}); err != nil {
			return nil, nil, err
		}
	}
	out, err = p.addRemembered(ctx, c, out)
	return out, spec, err
}

// addProject adds r to all unless they have its project.
func addProject(ctx context.Context, all []projectRef, r projectRef) ([]projectRef, error) {
	for _, a := range all {
		if same, err := a.project.Same(ctx, r.project); same || err != nil {
			return all, err
		}
	}
	return append(all, r), nil
}

// addRemembered adds to all the projects that something of c was in when it was last
// looked at. An error says that they cannot be observed: what is there must not be taken
// for gone, so nothing is reported of the cluster then.
func (p *Provider) addRemembered(ctx context.Context, c *fleet.Cluster, all []projectRef) ([]projectRef, error) {
	var known []string
	for _, r := range all[1:] {
		at, err := r.place(ctx)
		if err != nil {
			return nil, err
		}
		known = append(known, at.ID)
	}
	for _, at := range c.OtherPlaces() {
		if slices.ContainsFunc(known, func(id string) bool { return id == at.ID || at.Access == "" && samePlace(id, at.ID) }) {
			continue
		}
		again, err := p.reopen(ctx, c, at)
		if err != nil {
			return nil, err
		}
		if all, err = addProject(ctx, all, again); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// reopen leads to a project that is remembered, with the credential that the
// remembered identity has now.
func (p *Provider) reopen(ctx context.Context, c *fleet.Cluster, at fleet.Place) (projectRef, error) {
	op := "look in " + at.ID + ", which Git does not lead to any more and which had machines of the cluster"
	gone := "if the project is gone permanently, annotate the Cluster with " + fleet.ForgetPlaceAnnotation + ": " + at.ID
	ref, ok := refOf(at)
	if !ok {
		return projectRef{}, fleet.Errorf(fleet.Unauthorized, op, "it is not known with which credentials (bring back the pool until nothing is there; %s)", gone)
	}
	project, err := p.project(ctx, c, fleet.Object{Namespace: c.Key.Namespace, Secrets: secretsOf(c)}, *ref)
	if fleet.KindOf(err) == fleet.Unauthorized {
		return projectRef{}, fleet.Errorf(fleet.Unauthorized, op, "%w (bring it back until nothing is there; %s)", err, gone)
	}
	if err != nil {
		return projectRef{}, openstackauth.WrapLook(op, err)
	}
	out := projectRef{project: project, ref: ref}
	now, err := out.place(ctx)
	switch {
	case fleet.KindOf(err) == fleet.Unauthorized:
		return projectRef{}, fleet.Errorf(fleet.Unauthorized, op, "%w (bring back credentials of that project until nothing is there; %s)", err, gone)
	case err != nil:
		return projectRef{}, openstackauth.WrapLook(op, err)
	case !samePlace(now.ID, at.ID):
		return projectRef{}, fleet.Errorf(fleet.Unauthorized, op, "%s leads to %s (bring back credentials of the other until nothing is there; %s)", nameOfIdentity(c, ref), now.ID, gone)
	}
	return out, nil
}

// nameOfIdentity names what ref refers to.
func nameOfIdentity(c *fleet.Cluster, ref *api.OpenStackIdentityReference) string {
	if ref.Type == api.IdentityCluster {
		return "OpenStackClusterIdentity " + ref.Name
	}
	return "Secret " + fleet.Key{Namespace: c.Key.Namespace, Name: ref.Name}.String()
}

// refOf returns the identity that led to a place. What the status branch has may be
// nonsense: a Secret of another namespace is never led to.
func refOf(at fleet.Place) (*api.OpenStackIdentityReference, bool) {
	var ref api.OpenStackIdentityReference
	d := json.NewDecoder(bytes.NewReader([]byte(at.Access)))
	d.DisallowUnknownFields()
	if err := d.Decode(&ref); err != nil || ref.Name == "" || strings.Contains(ref.Name, "/") {
		return nil, false
	}
	return &ref, true
}

// secretsOf returns the Secrets that Git has in the namespace of c: that of a pool
// may be there still when the pool is not.
func secretsOf(c *fleet.Cluster) map[fleet.Key]fleet.SecretData {
	out := make(map[fleet.Key]fleet.SecretData, len(c.Secrets))
	for name, data := range c.Secrets {
		out[fleet.Key{Namespace: c.Key.Namespace, Name: name}] = data
	}
	return out
}

package openstack

import (
	"context"
	"slices"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/openstackauth"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/infrastructure/openstack/api"
	"fairlead.dev/providers/infrastructure/openstack/cloud"
	"fairlead.dev/providers/infrastructure/openstack/image"
	"fairlead.dev/providers/infrastructure/openstack/machine"
)

// A login is a credential of the cluster, and the project that it leads to.
type login struct {
	ref     api.OpenStackIdentityReference
	project int // of the cluster's, as projects lists them
}

// wantedImages returns, for each of c's projects, the images that are to be made in
// it. An Image is an order by itself, and made in the project of its credentials where
// these are among those of c; one that machines need has to be there.
func (p *Provider) wantedImages(ctx context.Context, c *fleet.Cluster, spec *api.OpenStackClusterSpec, projects []*cloud.Project) ([][]image.Want, error) {
	out := make([][]image.Want, len(projects))
	var made []fleet.Object
	for _, o := range c.Companions {
		if api.IsImage(o) {
			made = append(made, o)
		}
	}
	if len(made) == 0 {
		return out, nil
	}
	logins, needed, err := p.logins(ctx, c, spec, projects)
	if err != nil {
		return nil, err
	}
	for _, o := range made {
		s, err := api.ReadImage(o)
		if err != nil {
			return nil, err
		}
		if s.Resource == nil {
			continue
		}
		w := image.Want{Spec: s, Needed: needed[s.Essence()]}
		at, err := p.projectOfImage(ctx, c, o, s, spec, logins, projects, w.Needed)
		switch {
		case err != nil:
			w.Fault = openstackauth.WrapLook("make image "+*s.Resource.Name, err)
			out[0] = append(out[0], w)
		case at >= 0:
			out[at] = append(out[at], w)
		}
	}
	return out, nil
}

// logins returns the credentials of c, and the essences of the images that its
// machines and its bastion boot from.
func (p *Provider) logins(ctx context.Context, c *fleet.Cluster, spec *api.OpenStackClusterSpec, projects []*cloud.Project) ([]login, map[string]bool, error) {
	needed := make(map[string]bool)
	need := func(m *api.OpenStackMachineSpec) {
		if m.Image.ImageRef != nil {
			needed[m.Image.ImageRef.Name] = true
		}
	}
	if spec.Bastion.IsEnabled() && spec.Bastion.Spec != nil {
		need(spec.Bastion.Spec)
	}
	out := []login{{spec.IdentityRef, 0}}
	for _, pool := range c.Pools() {
		template, err := api.ReadMachine(pool.Infrastructure)
		if err != nil {
			return nil, nil, err
		}
		need(template)
		if template.IdentityRef == nil {
			continue
		}
		project, err := p.projectOf(ctx, c, pool, template, projects[0])
		if err != nil {
			return nil, nil, err
		}
		at, err := indexOf(ctx, projects, project)
		if err != nil {
			return nil, nil, err
		}
		out = append(out, login{*template.IdentityRef, at})
	}
	return out, needed, nil
}

// projectOfImage returns which of c's projects the Image o is for; below zero it is
// for no project. One that machines need has to be for one.
func (p *Provider) projectOfImage(ctx context.Context, c *fleet.Cluster, o fleet.Object, s *api.ImageSpec, spec *api.OpenStackClusterSpec, logins []login, projects []*cloud.Project, needed bool) (int, error) {
	ref := s.CloudCredentialsRef
	for _, l := range logins {
		if l.ref.Type == api.IdentitySecret && l.ref.Name == ref.SecretName && l.ref.CloudName == ref.CloudName {
			return l.project, nil
		}
	}
	if !needed {
		return -1, nil
	}
	project, err := p.project(ctx, c, o, api.OpenStackIdentityReference{
		Type: api.IdentitySecret, Name: ref.SecretName, CloudName: ref.CloudName, Region: spec.IdentityRef.Region,
	})
	if err != nil {
		return -1, err
	}
	at, err := indexOf(ctx, projects, project)
	if err == nil && at < 0 {
		err = fleet.Errorf(fleet.Invalid, "find the project of Image "+o.Name, "its cloudCredentialsRef leads to another project than that of the machines (make it that of their identityRef)")
	}
	return at, err
}

// indexOf returns the place of project among all; below zero it is not among them.
func indexOf(ctx context.Context, all []*cloud.Project, project *cloud.Project) (int, error) {
	for i, a := range all {
		same, err := a.Same(ctx, project)
		if same || err != nil {
			return i, err
		}
	}
	return -1, nil
}

// haveImages says of each of clusters whether it has Images to make.
func haveImages(clusters []*fleet.Cluster) map[fleet.Key]bool {
	out := make(map[fleet.Key]bool)
	for _, c := range clusters {
		out[c.Key] = slices.ContainsFunc(c.Companions, func(o fleet.Object) bool {
			s, err := api.ReadImage(o)
			return err == nil && s.Resource != nil
		})
	}
	return out
}

// lookAtImages sees the images of c at each place, where c wants some or lets go of
// them: it is to go, or Git does not lead there any more.
func (p *Provider) lookAtImages(ctx context.Context, c *fleet.Cluster, s *observation) error {
	projects := make([]*cloud.Project, len(s.projects))
	for i, at := range s.projects {
		projects[i] = at.project
	}
	wants, err := p.wantedImages(ctx, c, s.spec, projects)
	if err != nil {
		return err
	}
	for i := range s.projects {
		if at := &s.projects[i]; len(wants[i]) > 0 || c.Delete || !at.named {
			at.images = p.images.Look(ctx, at.project, at.snapshot, snapshot.OwnerOf(c), wants[i])
		}
	}
	return nil
}

// imageOf returns what servers of m, which is at home or in another project of c,
// boot from, where that follows from an Image.
func (p *Provider) imageOf(ctx context.Context, c *fleet.Cluster, spec *api.OpenStackClusterSpec, m *api.OpenStackMachineSpec, project *cloud.Project, s *cloud.Snapshot) (machine.Image, error) {
	ref := m.Image.ImageRef
	if ref == nil {
		return machine.Image{}, nil
	}
	for _, o := range c.Companions {
		if !api.IsImage(o) {
			continue
		}
		i, err := api.ReadImage(o)
		if err != nil {
			return machine.Image{}, err
		}
		if i.Import != nil && i.Essence() == ref.Name {
			return machine.Image{Import: i.Import.Filter}, nil
		}
	}
	projects, _, err := p.projects(ctx, c)
	if err != nil {
		return machine.Image{}, err
	}
	wants, err := p.wantedImages(ctx, c, spec, projects)
	if err != nil {
		return machine.Image{}, err
	}
	at, err := indexOf(ctx, projects, project)
	if err == nil && at < 0 {
		err = fleet.Errorf(fleet.Conflict, "find the project of image.imageRef", "it is none of the cluster's any more")
	}
	if err != nil {
		return machine.Image{}, err
	}
	id, err := p.images.Look(ctx, project, s, snapshot.OwnerOf(c), wants[at]).ID(ref.Name)
	return machine.Image{ID: id}, err
}

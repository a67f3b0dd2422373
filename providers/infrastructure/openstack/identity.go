package openstack

import (
	"cmp"
	"context"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/objects"
	"fairlead.dev/providers/driver/openstackauth"
	"fairlead.dev/providers/infrastructure/openstack/api"
	"fairlead.dev/providers/infrastructure/openstack/cloud"
)

// home returns the project of what c's machines share.
func (p *Provider) home(ctx context.Context, c *fleet.Cluster) (*cloud.Project, *api.OpenStackClusterSpec, error) {
	spec, err := api.ReadCluster(c.Infrastructure)
	if err != nil {
		return nil, nil, err
	}
	project, err := p.project(ctx, c, c.Infrastructure, spec.IdentityRef)
	return project, spec, err
}

// projectOf returns the project of the machines of pool.
func (p *Provider) projectOf(ctx context.Context, c *fleet.Cluster, pool fleet.Pool, template *api.OpenStackMachineSpec, home *cloud.Project) (*cloud.Project, error) {
	if template.IdentityRef == nil {
		return home, nil
	}
	own, err := p.project(ctx, c, pool.Infrastructure, *template.IdentityRef)
	if err != nil {
		return nil, err
	}
	same, err := home.Same(ctx, own)
	if same {
		return home, nil
	}
	return own, err
}

// project returns the session of the credential that ref of o names.
func (p *Provider) project(ctx context.Context, c *fleet.Cluster, o fleet.Object, ref api.OpenStackIdentityReference) (*cloud.Project, error) {
	key, secrets := fleet.Key{Namespace: cmp.Or(o.Namespace, c.Key.Namespace), Name: ref.Name}, o.Secrets
	if ref.Type == api.IdentityCluster {
		identity, err := identity(c, ref.Name)
		if err != nil {
			return nil, err
		}
		spec, err := api.ReadIdentity(*identity)
		if err != nil {
			return nil, err
		}
		if err := checkNamespace(c, ref.Name, spec); err != nil {
			return nil, err
		}
		key, secrets = fleet.Key{Namespace: spec.SecretRef.Namespace, Name: spec.SecretRef.Name}, identity.Secrets
	}
	data, err := p.secrets.Find(ctx, key, secrets)
	if err != nil {
		return nil, openstackauth.WrapLook("find Secret "+key.String(), err)
	}
	return p.sessions.Project(openstackauth.Credential{Secret: data, Cloud: ref.CloudName, Region: ref.Region, From: "Secret " + key.String()})
}

// identity returns the OpenStackClusterIdentity called name.
func identity(c *fleet.Cluster, name string) (*fleet.Object, error) {
	if o := objects.Companion(c, "OpenStackClusterIdentity", name); o != nil {
		return o, nil
	}
	return nil, fleet.Errorf(fleet.Unauthorized, "find OpenStackClusterIdentity "+name, "the overlay of the cluster holds none of that name (add it to the overlay, or correct identityRef)")
}

// checkNamespace refuses an identity that is not for the namespace of c.
func checkNamespace(c *fleet.Cluster, name string, spec *api.OpenStackClusterIdentitySpec) error {
	op := "use OpenStackClusterIdentity " + name
	in, err := objects.LetsIn(spec.NamespaceSelector, c)
	if err != nil {
		return fleet.Errorf(fleet.Invalid, op, "namespaceSelector: %w", err)
	}
	if !in {
		return fleet.Errorf(fleet.Unauthorized, op, "its namespaceSelector does not let in namespace %s (label the Namespace in Git, or change the selector)", c.Key.Namespace)
	}
	return nil
}

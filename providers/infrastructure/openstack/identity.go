package openstack

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"fairlead.dev/fleet"
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
	key, secrets := fleet.Key{Namespace: cmpOr(o.Namespace, c.Key.Namespace), Name: ref.Name}, o.Secrets
	if ref.Type == api.IdentityCluster {
		identity, err := identity(c, ref.Name)
		if err != nil {
			return nil, err
		}
		spec, err := api.ReadIdentity(*identity)
		if err != nil {
			return nil, err
		}
		if err := mayUse(c, ref.Name, spec); err != nil {
			return nil, err
		}
		key, secrets = fleet.Key{Namespace: spec.SecretRef.Namespace, Name: spec.SecretRef.Name}, identity.Secrets
	}
	data, err := p.secret(ctx, key, secrets)
	if err != nil {
		return nil, err
	}
	return p.sessions.Project(cloud.Credential{Secret: data, Cloud: ref.CloudName, Region: ref.Region, From: "Secret " + key.String()})
}

func cmpOr(a, b string) string {
	if a == "" {
		return b
	}
	return a
}

// identity returns the OpenStackClusterIdentity called name.
func identity(c *fleet.Cluster, name string) (*fleet.Object, error) {
	i := slices.IndexFunc(c.Companions, func(o fleet.Object) bool {
		return o.GVK.Kind == "OpenStackClusterIdentity" && o.Name == name
	})
	if i < 0 {
		return nil, fleet.Errorf(fleet.Unauthorized, "find OpenStackClusterIdentity "+name, "the overlay of the cluster holds none of that name (add it to the overlay, or correct identityRef)")
	}
	return &c.Companions[i], nil
}

// mayUse refuses an identity that is not for the namespace of c.
func mayUse(c *fleet.Cluster, name string, spec *api.OpenStackClusterIdentitySpec) error {
	op := "use OpenStackClusterIdentity " + name
	if spec.NamespaceSelector == nil {
		return nil
	}
	s, err := metav1.LabelSelectorAsSelector(spec.NamespaceSelector)
	if err != nil {
		return fleet.Errorf(fleet.Invalid, op, "namespaceSelector: %w", err)
	}
	if !s.Matches(labels.Set(c.NamespaceLabels)) {
		return fleet.Errorf(fleet.Unauthorized, op, "its namespaceSelector does not let in namespace %s (label the Namespace in Git, or change the selector)", c.Key.Namespace)
	}
	return nil
}

// secret returns the Secret called k: that of Git, else that of the store.
func (p *Provider) secret(ctx context.Context, k fleet.Key, git map[fleet.Key]fleet.SecretData) (fleet.SecretData, error) {
	if d, ok := git[k]; ok {
		return d, nil
	}
	op := "find Secret " + k.String()
	if p.o.Secret == nil {
		return nil, fleet.Errorf(fleet.Unauthorized, op, "Git does not hold it (add it to the overlay, encrypted)")
	}
	d, err := p.o.Secret(ctx, k)
	if fleet.KindOf(err) == fleet.NotFound {
		return nil, fleet.Errorf(fleet.Unauthorized, op, "neither Git nor the secret store has it (add it to the overlay, encrypted, or put it in with: fairlead secrets set %s --from-file clouds.yaml=FILE)", k)
	}
	return d, cloud.WrapLook(op, err)
}

package vsphere

import (
	"context"
	"encoding/json"
	"slices"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/vsphere/api"
	"fairlead.dev/providers/infrastructure/vsphere/vcenter"
)

// A site is a vCenter that a cluster is on.
type site struct {
	*vcenter.Client
	access access
	named  bool // Git leads there
}

// access is what leads to a vCenter again: who asks is said by the identity of the cluster.
type access struct {
	Server     string `json:"server"`
	Thumbprint string `json:"thumbprint,omitempty"`
}

// place returns s among the places of a cluster.
func (s *site) place() fleet.Place {
	text, _ := json.Marshal(s.access) // strings can always be written
	return fleet.Place{ID: "vCenter " + s.access.Server, Access: string(text)}
}

// sites returns the vCenters that Git leads c to, its own first, then those that are
// remembered and that Git does not lead to any more. Nothing is asked of them.
func (p *Provider) sites(ctx context.Context, c *fleet.Cluster) ([]site, *api.VSphereClusterSpec, error) {
	spec, err := api.ReadCluster(c.Infrastructure)
	if err != nil {
		return nil, nil, err
	}
	wanted := []access{{spec.Server, spec.Thumbprint}}
	add := func(a access) {
		if !slices.ContainsFunc(wanted, func(b access) bool { return api.SameServer(a.Server, b.Server) }) {
			wanted = append(wanted, a)
		}
	}
	for _, pool := range c.Pools() {
		placed, err := placements(c, spec, &pool)
		if err != nil {
			return nil, nil, err
		}
		for _, m := range placed {
			add(m.access())
		}
	}
	named := len(wanted)
	for _, at := range c.OtherPlaces() {
		var a access
		if json.Unmarshal([]byte(at.Access), &a) != nil || a.Server == "" {
			return nil, nil, fleet.Errorf(fleet.Unauthorized, "look in "+at.ID+", which Git does not lead to any more and which had machines of the cluster",
				"it is not known how (bring back the pool until nothing is there; where the vCenter is gone for good, annotate the Cluster with %s: %s)", fleet.ForgetPlaceAnnotation, at.ID)
		}
		add(a)
	}
	var out []site
	for i, a := range wanted {
		client, err := p.client(ctx, c, spec, a)
		if err != nil {
			return nil, nil, err
		}
		out = append(out, site{client, a, i < named})
	}
	return out, spec, nil
}

// client returns the session with a vCenter that c has an account for.
func (p *Provider) client(ctx context.Context, c *fleet.Cluster, spec *api.VSphereClusterSpec, a access) (*vcenter.Client, error) {
	key, git, err := api.CredentialsOf(c, spec)
	if err != nil {
		return nil, err
	}
	data, err := p.secrets.Find(ctx, key, git)
	if err != nil {
		return nil, vcenter.WrapLook("find Secret "+key.String(), err)
	}
	user, password := account(data, a.Server)
	return p.pool.Client(vcenter.Credential{
		Server: a.Server, Thumbprint: a.Thumbprint, Insecure: p.o.Insecure,
		User: string(user.Reveal()), Password: password, From: "Secret " + key.String(),
	})
}

// account returns the user and the password for server: those that a Secret has for it alone,
// by the names that vSphere's cloud controller manager gives them, else those for all.
// Source: https://cloud-provider-vsphere.sigs.k8s.io/concepts/in_tree_vs_out_of_tree
func account(data fleet.SecretData, server string) (user, password fleet.Secret) {
	if own, ok := data[server+"."+api.UsernameKey]; ok {
		return own, data[server+"."+api.PasswordKey]
	}
	return data[api.UsernameKey], data[api.PasswordKey]
}

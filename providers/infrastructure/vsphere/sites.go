package vsphere

import (
	"cmp"
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
	named  bool     // Git leads there
	id     string   // of its place; empty until it is identified
	others []string // servers that are the same vCenter by another name
}

// access is what leads to a vCenter again: who asks is said by the identity of the cluster.
type access struct {
	Server     string `json:"server"`
	Thumbprint string `json:"thumbprint,omitempty"`
	Instance   string `json:"instance,omitempty"` // the UUID that the vCenter gave itself
}

// accessOf reads what place wrote; false: it did not write that.
func accessOf(at fleet.Place) (a access, ok bool) {
	return a, json.Unmarshal([]byte(at.Access), &a) == nil && a.Server != ""
}

// place returns s among the places of a cluster.
func (s *site) place() fleet.Place {
	text, _ := json.Marshal(s.access) // strings can always be written
	return fleet.Place{ID: cmp.Or(s.id, s.String()), Access: string(text)}
}

// is reports whether server is a name of s.
func (s *site) is(server string) bool {
	return slices.ContainsFunc(append(s.others, s.access.Server), func(name string) bool { return api.SameServer(name, server) })
}

// identify asks s which vCenter it is. A name is not one: a vCenter that c was on keeps its place
// under any name, and another vCenter that has the name by now is another place.
func (s *site) identify(ctx context.Context, c *fleet.Cluster) (err error) {
	if s.access.Instance, err = s.InstanceUUID(ctx); err != nil {
		return err
	}
	s.id = s.String()
	for _, at := range c.Residence.Places {
		switch a, ok := accessOf(at); {
		case !ok || a.Instance == "" || s.access.Instance == "":
		case a.Instance == s.access.Instance:
			s.id = at.ID
			return nil
		case at.ID == s.id:
			s.id += " with instance UUID " + s.access.Instance
		}
	}
	return nil
}

// join notes that t is s by another name. Two accounts may see different machines, so that neither
// can stand for both.
func (s *site) join(t *site) error {
	if s.User() != t.User() {
		return fleet.Errorf(fleet.Invalid, "look in "+t.String(), "it is the same as %s, and the Secret has the account %s for one name and %s for the other (use one name of the vCenter in Git)",
			s.String(), t.User(), s.User())
	}
	s.others, s.named = append(s.others, t.access.Server), s.named || t.named
	return nil
}

// sites returns the vCenters that Git leads c to, its own first, then those that are
// remembered and that Git does not lead to any more. Nothing is asked of them.
func (p *Provider) sites(ctx context.Context, c *fleet.Cluster) ([]site, *api.VSphereClusterSpec, error) {
	spec, err := api.ReadCluster(c.Infrastructure)
	if err != nil {
		return nil, nil, err
	}
	wanted := []access{{Server: spec.Server, Thumbprint: spec.Thumbprint}}
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
		a, ok := accessOf(at)
		if !ok {
			return nil, nil, fleet.Errorf(fleet.Unauthorized, "look in "+at.ID+", which Git does not lead to any more and which had machines of the cluster",
				"it is not known how (bring back the pool until nothing is there; if the vCenter is gone permanently, annotate the Cluster with %s: %s)", fleet.ForgetPlaceAnnotation, at.ID)
		}
		add(a)
	}
	key, data, err := p.secretOf(ctx, c, spec)
	if err != nil {
		return nil, nil, err
	}
	var out []site
	for i, a := range wanted {
		client, err := p.open(key, data, a)
		if err != nil {
			return nil, nil, err
		}
		a.Instance = "" // the vCenter reports it itself
		out = append(out, site{Client: client, access: a, named: i < named})
	}
	return out, spec, nil
}

// secretOf reads the Secret with the accounts of c. Each look asks the secret store once.
func (p *Provider) secretOf(ctx context.Context, c *fleet.Cluster, spec *api.VSphereClusterSpec) (fleet.Key, fleet.SecretData, error) {
	key, git, err := api.CredentialsOf(c, spec)
	if err != nil {
		return key, nil, err
	}
	data, err := p.secrets.Find(ctx, key, git)
	return key, data, vcenter.WrapLook("find Secret "+key.String(), err)
}

// open returns the session with a vCenter of the account that the Secret called key has for it.
func (p *Provider) open(key fleet.Key, data fleet.SecretData, a access) (*vcenter.Client, error) {
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

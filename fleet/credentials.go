package fleet

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// useCredentials has c use the credentials of next, its newest definition: the content of Secrets that its objects
// refer to, and identities. Other companions, such as hosts, images and pools of addresses, belong to templates that wait.
//
// Credentials wait where the infrastructure object of a site or the object of a hosted control plane waits: it may name
// another identity or Secret, or another entry of it, or belong to other labels of the namespace.
func (c *Cluster) useCredentials(next *Cluster) {
	if !slices.Equal(c.accounts(), next.accounts()) {
		return
	}
	c.NamespaceLabels = next.NamespaceLabels
	c.Companions = withIdentities(c.Companions, next.Companions)
	c.Guests = slices.Clone(c.Guests)
	for i, g := range c.Guests {
		n, _ := next.guestInGit(g.Provider)
		c.Guests[i].Companions = withIdentities(g.Companions, n.Companions)
	}
	if c.Hosted != nil {
		plane := *c.Hosted
		c.Hosted = &plane
	}
	newest, stored := make(map[Key]SecretData), make(map[Key]bool)
	for _, o := range next.objects() {
		maps.Copy(newest, o.Secrets)
		for _, k := range o.Stored {
			stored[k] = true
		}
	}
	for _, o := range c.objects() {
		o.moveSecrets(newest, stored)
	}
}

// accounts returns what may name a credential for all of c, or for all of a site.
func (c *Cluster) accounts() []string {
	out := []string{c.Provider, hashed(c.Infrastructure)}
	if c.Hosted != nil {
		out = append(out, hashed(c.Hosted.Object))
	}
	for _, g := range c.Guests {
		out = append(out, g.Provider, hashed(g.Infrastructure))
	}
	return out
}

// moveSecrets gives o the content of its Secrets in Git, and has the store asked for those that are there now.
func (o *Object) moveSecrets(newest map[Key]SecretData, stored map[Key]bool) {
	secrets, keys := make(map[Key]SecretData), []Key(nil)
	for _, k := range slices.Concat(slices.Collect(maps.Keys(o.Secrets)), o.Stored) {
		now, inGit := newest[k]
		was, had := o.Secrets[k]
		switch {
		case inGit:
			secrets[k] = now
		case had && !stored[k]:
			secrets[k] = was
		default:
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, Key.Compare)
	if o.Secrets, o.Stored = nil, slices.Compact(keys); len(secrets) > 0 {
		o.Secrets = secrets
	}
}

// isIdentity reports whether o is a credential that other objects refer to. Cluster API's providers name such kinds alike.
func (o Object) isIdentity() bool { return strings.HasSuffix(o.GVK.Kind, "Identity") }

// withIdentities returns companions, with the identities of newest.
func withIdentities(companions, newest []Object) []Object {
	out := slices.Clone(companions)
	for _, o := range newest {
		if !o.isIdentity() {
			continue
		}
		i, known := slices.BinarySearchFunc(out, o, Object.Compare)
		if !known {
			out = slices.Insert(out, i, o)
		}
		out[i] = o
	}
	return out
}

// Compare compares objects by kind, namespace and name.
func (o Object) Compare(other Object) int {
	return cmp.Or(strings.Compare(o.GVK.Kind, other.GVK.Kind), strings.Compare(o.Namespace, other.Namespace), strings.Compare(o.Name, other.Name))
}

// objects returns the provider's objects of c, in place.
func (c *Cluster) objects() []*Object {
	out := []*Object{&c.Infrastructure, &c.ControlPlane.Infrastructure}
	if c.Hosted != nil {
		out = append(out, &c.Hosted.Object)
	}
	for i := range c.Workers {
		out = append(out, &c.Workers[i].Infrastructure)
	}
	for i := range c.KeptPools {
		out = append(out, &c.KeptPools[i].Infrastructure)
	}
	companions := [][]Object{c.Companions}
	for i := range c.Guests {
		out, companions = append(out, &c.Guests[i].Infrastructure), append(companions, c.Guests[i].Companions)
	}
	for _, list := range companions {
		for i := range list {
			out = append(out, &list[i])
		}
	}
	return out
}

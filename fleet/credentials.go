package fleet

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// useCredentials has c use the credentials of next, its newest definition: the content of Secrets that its objects
// refer to, and identities. Other companions, such as hosts, images and pools of addresses, belong to templates that wait.
//
// Credentials wait where what names them may do so otherwise in next: another identity or Secret, or another entry of it.
// All wait with the infrastructure object of a site, the object of a hosted control plane and the identity of a pool;
// those of one companion wait with it.
func (c *Cluster) useCredentials(next *Cluster) {
	if !maps.Equal(c.accounts(next), next.accounts(c)) {
		return
	}
	c.NamespaceLabels = next.NamespaceLabels
	c.Companions = withIdentities(c.Companions, next.Companions)
	changed := make(map[*Object]bool)
	noteChanged(changed, c.Companions, next.Companions)
	c.Guests = slices.Clone(c.Guests)
	for i, g := range c.Guests {
		n, _ := next.guestInGit(g.Provider)
		c.Guests[i].Companions = withIdentities(g.Companions, n.Companions)
		noteChanged(changed, c.Guests[i].Companions, n.Companions)
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
		if !changed[o] {
			o.moveSecrets(newest, stored)
		}
	}
}

// noteChanged adds to changed those of companions that newest has otherwise: their Secrets come with them.
func noteChanged(changed map[*Object]bool, companions, newest []Object) {
	for i := range companions {
		j, known := slices.BinarySearchFunc(newest, companions[i], Object.Compare)
		changed[&companions[i]] = known && hashed(newest[j]) != hashed(companions[i])
	}
}

// accounts returns what may name a credential for all of c, for all of a site, or for a pool that other has, too.
func (c *Cluster) accounts(other *Cluster) map[string]string {
	out := map[string]string{"of " + c.Provider: hashed(c.Infrastructure)}
	if c.Hosted != nil {
		out["control plane"] = hashed(c.Hosted.Object)
	}
	for _, g := range c.Guests {
		out["guest "+g.Provider] = hashed(g.Infrastructure)
	}
	for _, p := range c.Pools() {
		if _, both := other.Pool(p.Name); both {
			var spec struct{ IdentityRef json.RawMessage }
			_ = json.Unmarshal(p.Infrastructure.Spec, &spec) // what is no object names none
			out["pool "+string(p.Name)] = string(spec.IdentityRef)
		}
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

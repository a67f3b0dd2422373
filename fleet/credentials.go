package fleet

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// useCredentials has c use the credentials of next, its newest definition: the content of Secrets that its objects
// refer to, and companions that refer to Secrets, as identities and hosts do. Companions without Secrets, such as
// pools of addresses, and the Secrets of files may be of one piece with a template that waits.
func (c *Cluster) useCredentials(next *Cluster) {
	c.NamespaceLabels = next.NamespaceLabels
	c.Companions = withCredentials(c.Companions, next.Companions)
	c.Guests = slices.Clone(c.Guests)
	for i, g := range c.Guests {
		n, _ := next.guestInGit(g.Provider)
		c.Guests[i].Companions = withCredentials(g.Companions, n.Companions)
	}
	if c.Hosted != nil {
		plane := *c.Hosted
		c.Hosted = &plane
	}
	newest := make(map[Key]SecretData)
	for _, o := range next.objects() {
		maps.Copy(newest, o.Secrets)
	}
	for _, o := range c.objects() {
		for k, data := range o.Secrets {
			if now, ok := newest[k]; ok && !now.Equal(data) {
				o.Secrets = maps.Clone(o.Secrets)
				o.Secrets[k] = now
			}
		}
	}
}

// withCredentials returns companions, with those of newest that refer to Secrets.
func withCredentials(companions, newest []Object) []Object {
	out := slices.Clone(companions)
	for _, o := range newest {
		if len(o.Secrets)+len(o.Stored) == 0 {
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

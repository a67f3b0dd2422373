package fleet

import (
	"encoding/json"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// A Site is one provider on which a cluster has machines, with the objects that the
// provider reads. The first site is in the fields of Cluster itself. The others are
// guests: they have workers alone, and their machines reach the API server from outside.
type Site struct {
	Provider       string
	Infrastructure Object
	Companions     []Object `json:",omitempty"` // the provider's other objects that Git holds for it, as in Cluster
}

// A GuestMemory is what is remembered of a guest for as long as something of the cluster
// may be there.
type GuestMemory struct {
	Provider string
	// Infrastructure and Companions are as Git last had them: they lead there when Git
	// no longer does.
	Infrastructure RememberedObject
	Companions     []RememberedObject `json:",omitempty"`
	Places         []Place            `json:",omitempty"` // as in Residence
	Fingerprint    string             `json:",omitempty"` // as in Memory, of what is on this site
}

// A RememberedObject is what is remembered of an Object: what its provider reads, and no
// secrets.
type RememberedObject struct {
	GVK       schema.GroupVersionKind
	Namespace string `json:",omitempty"`
	Name      string
	Labels    map[string]string `json:",omitempty"`
	Spec      json.RawMessage   `json:",omitempty"`
}

// A GuestSeen is what was seen of a guest. Its machines, and what became of requests for
// them, are with those of the first site.
type GuestSeen struct {
	Provider string
	// Silence says in the provider's own words why it could not be observed; empty: all of
	// it was seen.
	Silence        string
	Infrastructure Infrastructure
}

// SettleTimes say how long the providers of guests may take to show a change, by
// provider.
type SettleTimes map[string]time.Duration

// GuestOf returns the guest of a provider, whether Git has it or it is remembered alone.
func (c *Cluster) GuestOf(provider string) (Site, bool) {
	if g, ok := c.guestInGit(provider); ok {
		return g, true
	}
	if g, ok := c.Residence.Guest(provider); ok && !c.forgets(g) {
		return c.reopened(g), true
	}
	return Site{}, false
}

func (c *Cluster) guestInGit(provider string) (Site, bool) {
	i := slices.IndexFunc(c.Guests, func(s Site) bool { return s.Provider == provider })
	if i < 0 || provider == "" {
		return Site{}, false
	}
	return c.Guests[i], true
}

// GuestProviders returns the providers of all guests, those that left Git and may have
// something of the cluster included, sorted.
func (c *Cluster) GuestProviders() []string {
	var out []string
	for _, g := range c.Guests {
		out = append(out, g.Provider)
	}
	for _, g := range c.Residence.Guests {
		if !slices.Contains(out, g.Provider) && g.Provider != c.Provider && !c.forgets(g) {
			out = append(out, g.Provider)
		}
	}
	slices.Sort(out)
	return out
}

// Providers returns the providers of all sites, the first site's first.
func (c *Cluster) Providers() []string { return append([]string{c.Provider}, c.GuestProviders()...) }

// InUse reports whether Git has pools on the site of a guest's provider.
func (c *Cluster) InUse(provider string) bool {
	return slices.ContainsFunc(c.Workers, func(p Pool) bool { return p.Provider == provider })
}

// forgets reports whether people say that a guest that is not in Git is permanently lost:
// all of its places, or the provider itself.
func (c *Cluster) forgets(g GuestMemory) bool {
	if _, ok := c.guestInGit(g.Provider); ok {
		return false
	}
	return slices.Contains(c.ForgetPlaces, g.Provider) ||
		len(g.Places) > 0 && !slices.ContainsFunc(g.Places, func(p Place) bool { return !slices.Contains(c.ForgetPlaces, p.ID) })
}

// reopened returns a site that is remembered alone, with the Secrets that Git still has in
// the namespace of c.
func (c *Cluster) reopened(g GuestMemory) Site {
	secrets := make(map[Key]SecretData, len(c.Secrets))
	for name, data := range c.Secrets {
		secrets[Key{Namespace: c.Key.Namespace, Name: name}] = data
	}
	object := func(o RememberedObject) Object {
		return Object{GVK: o.GVK, Namespace: o.Namespace, Name: o.Name, Labels: o.Labels, Spec: o.Spec, Secrets: secrets}
	}
	s := Site{Provider: g.Provider, Infrastructure: object(g.Infrastructure)}
	for _, o := range g.Companions {
		s.Companions = append(s.Companions, object(o))
	}
	return s
}

// At returns c as the provider of one of its sites is to see it: with the objects and the
// pools of that site alone. An empty provider is the first site's. On a guest no machine
// serves the API server, which answers at Endpoint: ServedElsewhere tells.
func (c *Cluster) At(provider string) *Cluster {
	if len(c.Guests)+len(c.Residence.Guests) == 0 && provider == "" {
		return c
	}
	out := *c
	out.Guests, out.Residence.Guests = nil, nil
	out.Workers = nil
	for _, p := range c.Workers {
		if p.Provider == provider {
			out.Workers = append(out.Workers, p)
		}
	}
	if provider == "" {
		return &out
	}
	site, _ := c.GuestOf(provider)
	remembered, _ := c.Residence.Guest(provider)
	out.Provider, out.Infrastructure, out.Companions = provider, site.Infrastructure, site.Companions
	out.ControlPlane, out.KeptPools, out.APIElsewhere = Pool{}, nil, true
	if out.Endpoint = c.NamedEndpoint(); out.Endpoint.IsZero() { // Git may name a port alone
		out.Endpoint = c.Residence.Endpoint
	}
	out.Residence = Residence{Provider: provider, Places: remembered.Places, Endpoint: out.Endpoint, ControlPlane: c.Residence.ControlPlane}
	return &out
}

// ServedElsewhere reports whether none of the machines that c's provider makes serves the
// API server: the provider makes neither load balancer nor address for it, and tells no
// endpoint.
func (c *Cluster) ServedElsewhere() bool { return c.APIElsewhere || c.Hosted != nil }

// Guest returns what is remembered of the guest of a provider.
func (r Residence) Guest(provider string) (GuestMemory, bool) {
	i := slices.IndexFunc(r.Guests, func(g GuestMemory) bool { return g.Provider == provider })
	if i < 0 {
		return GuestMemory{}, false
	}
	return r.Guests[i], true
}

// Remembered returns what of s leads there.
func (s Site) Remembered() GuestMemory {
	plain := func(o Object) RememberedObject {
		return RememberedObject{GVK: o.GVK, Namespace: o.Namespace, Name: o.Name, Labels: o.Labels, Spec: o.Spec}
	}
	out := GuestMemory{Provider: s.Provider, Infrastructure: plain(s.Infrastructure)}
	for _, o := range s.Companions {
		out.Companions = append(out.Companions, plain(o))
	}
	return out
}

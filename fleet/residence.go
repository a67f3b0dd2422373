package fleet

import (
	"cmp"
	"encoding/json"
	"slices"
)

// RecreateAnnotation on a Cluster says that its control plane is permanently lost and is
// to be recreated where Git says now: each new value is a new request. What was
// remembered of where the cluster lived is forgotten.
const RecreateAnnotation = "fairlead.dev/recreate"

// ForgetPlaceAnnotation on a Cluster names places, with commas between them, that are
// permanently lost with all that the cluster had there: where Git does not lead there,
// they are no longer observed. The name of a provider stands for all places of a guest.
const ForgetPlaceAnnotation = "fairlead.dev/forget-place"

// A Residence is where a cluster lives, as it was last seen: facts that last. A
// look that contradicts them leads elsewhere, and nothing is done on its word. A
// zero field is not known.
type Residence struct {
	Provider string
	// Places are those that have something of the cluster: first that of what its
	// machines share, then the others by id.
	Places       []Place
	Endpoint     Endpoint // of its API server
	ControlPlane Initialization
	Recreated    string // the last value of RecreateAnnotation that was acted on
	// MachinePools says that the cloud keeps pools of the cluster. No tag or annotation of ours is on their Nodes.
	MachinePools bool `json:",omitempty"`
	// Guests are those that have something of the cluster, or may, sorted by provider.
	Guests []GuestMemory `json:",omitempty"`
}

// IsZero reports whether nothing is known.
func (r Residence) IsZero() bool {
	return r.Provider == "" && len(r.Places) == 0 && r.Endpoint.IsZero() && r.ControlPlane == "" && r.Recreated == "" && !r.MachinePools && len(r.Guests) == 0
}

// A Place is one part of an infrastructure that credentials lead to: a project of
// a cloud in a region, a pool of hosts.
type Place struct {
	// ID identifies it for all credentials: two credentials that lead to one place give
	// one id. People read it in messages.
	ID string
	// Access is what the provider needs to look there again when Git does not name
	// the place any more, in the provider's own words. It holds nothing secret.
	Access string `json:",omitempty"`
}

// A PlaceSeen is a place where a provider looked.
type PlaceSeen struct {
	Place
	Used  bool // something that carries the cluster's tags is there
	Named bool // Git leads there: machines may be made there
}

// An Initialization says whether a control plane ever was one.
type Initialization string

// What is known of the past of a control plane; empty: nothing.
const (
	NeverInitialized Initialization = "Never" // its API server has not answered once
	InitializedOnce  Initialization = "Initialized"
	// DeletionBegan: machines of it were deleted with the cluster. What people keep of
	// it by wishing for the cluster again may lack the majority of etcd.
	DeletionBegan Initialization = "DeletionBegan"
)

// Place returns the first place of r, where what machines share is.
func (r Residence) Place() Place {
	if len(r.Places) == 0 {
		return Place{}
	}
	return r.Places[0]
}

// OtherPlaces returns where something of c was seen besides the place of what its
// machines share. Its provider looks there until nothing is left, whether Git names
// the place or not. Those that people say are gone are left out.
func (c *Cluster) OtherPlaces() []Place {
	if len(c.Residence.Places) < 2 || c.Residence.Provider != c.Provider {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(c.Residence.Places[1:]), func(p Place) bool { return slices.Contains(c.ForgetPlaces, p.ID) })
}

// Extras returns the places of r, and of its guests, beside the first ones.
func (r Residence) Extras() []Place {
	var out []Place
	if len(r.Places) > 1 {
		out = append(out, r.Places[1:]...)
	}
	for _, g := range r.Guests {
		if len(g.Places) > 1 {
			out = append(out, g.Places[1:]...)
		}
	}
	return out
}

// NeighborPlacesOf returns the places beside their first ones that reports of others than k tell of, sorted.
func NeighborPlacesOf(k Key, reports []Report) []Place {
	var out []Place
	for i := range reports {
		if reports[i].Cluster != k {
			out = append(out, reports[i].Residence.Extras()...)
		}
	}
	slices.SortFunc(out, func(a, b Place) int { return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Access, b.Access)) })
	return out
}

// NamedEndpoint is the endpoint that Git names, in the Cluster, in the object of a hosted
// control plane, or in that of its infrastructure; zero where it names none.
func (c *Cluster) NamedEndpoint() Endpoint {
	if !c.Endpoint.IsZero() {
		return c.Endpoint
	}
	if c.Hosted != nil && !c.Hosted.Endpoint.IsZero() {
		return c.Hosted.Endpoint
	}
	var spec struct {
		ControlPlaneEndpoint struct {
			Host string `json:"host"`
			Port int32  `json:"port"`
		} `json:"controlPlaneEndpoint"`
	}
	if json.Unmarshal(c.Infrastructure.Spec, &spec) != nil {
		return Endpoint{} // its provider says what is wrong with it
	}
	return Endpoint{Host: spec.ControlPlaneEndpoint.Host, Port: spec.ControlPlaneEndpoint.Port}
}

// RestoreHost returns the host at which what serves the API server has to come back
// where it is lost: the remembered one, which certificates and machines know. It is
// empty where Git names a host, and where nothing knows the remembered one yet.
func (c *Cluster) RestoreHost() string {
	if !c.NamedEndpoint().IsZero() || c.Residence.ControlPlane != InitializedOnce {
		return ""
	}
	return c.Residence.Endpoint.Host
}

// WithRecreate returns c with the request to recreate it, unless Git has one that was
// not acted on yet.
func (c *Cluster) WithRecreate(wish string) *Cluster {
	if wish == "" || c.Recreate != "" && c.Recreate != c.Residence.Recreated {
		return c
	}
	out := *c
	out.Recreate = wish
	return &out
}

// WithNeighborPlaces returns c with the places of other clusters.
func (c *Cluster) WithNeighborPlaces(places []Place) *Cluster {
	if len(places)+len(c.NeighborPlaces) == 0 {
		return c
	}
	out := *c
	out.NeighborPlaces = places
	return &out
}

// WithResidence returns c with where it lives.
func (c *Cluster) WithResidence(r Residence) *Cluster {
	if r.IsZero() && c.Residence.IsZero() {
		return c
	}
	out := *c
	out.Residence = r
	return &out
}

package status

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"fairlead.dev/fleet"
)

// residence is where a cluster lives.
type residence struct {
	Provider     string    `json:"provider,omitempty"`
	Places       []place   `json:"places,omitempty"` // that of what machines share first
	Endpoint     *endpoint `json:"endpoint,omitempty"`
	ControlPlane string    `json:"controlPlane,omitempty"` // Initialized or Never
	Recreated    string    `json:"recreated,omitempty"`
	MachinePools bool      `json:"machinePools,omitempty"` // the cloud keeps some
	Guests       []guest   `json:"guests,omitempty"`       // providers of workers alone
}

// guest is what leads to a provider that a cluster has workers on.
type guest struct {
	Provider       string           `json:"provider"`
	Infrastructure providerObject   `json:"infrastructure"`
	Companions     []providerObject `json:"companions,omitempty"`
	Places         []place          `json:"places,omitempty"`
	Fingerprint    string           `json:"fingerprint,omitempty"`
}

// providerObject is an object of a provider as Git last had it.
type providerObject struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Namespace  string            `json:"namespace,omitempty"`
	Name       string            `json:"name"`
	Labels     map[string]string `json:"labels,omitempty"`
	Spec       json.RawMessage   `json:"spec,omitempty"`
}

type place struct {
	ID     string `json:"id"`
	Access string `json:"access,omitempty"`
}

type endpoint struct {
	Host string `json:"host"`
	Port int32  `json:"port"`
}

func residenceOf(r fleet.Residence) *residence {
	if r.IsZero() {
		return nil
	}
	out := &residence{Provider: r.Provider, ControlPlane: string(r.ControlPlane), Recreated: r.Recreated, MachinePools: r.MachinePools}
	out.Places = placesOf(r.Places)
	for _, g := range r.Guests {
		to := guest{Provider: g.Provider, Infrastructure: providerObjectOf(g.Infrastructure), Places: placesOf(g.Places), Fingerprint: g.Fingerprint}
		for _, o := range g.Companions {
			to.Companions = append(to.Companions, providerObjectOf(o))
		}
		out.Guests = append(out.Guests, to)
	}
	if !r.Endpoint.IsZero() {
		out.Endpoint = &endpoint{r.Endpoint.Host, r.Endpoint.Port}
	}
	return out
}

// fleet is the inverse of residenceOf. It is zero for a file of an older version.
func (r *residence) fleet() fleet.Residence {
	if r == nil {
		return fleet.Residence{}
	}
	out := fleet.Residence{Provider: r.Provider, ControlPlane: fleet.Initialization(r.ControlPlane), Recreated: r.Recreated, MachinePools: r.MachinePools}
	out.Places = fleetPlaces(r.Places)
	for _, g := range r.Guests {
		to := fleet.GuestMemory{Provider: g.Provider, Infrastructure: g.Infrastructure.fleet(), Places: fleetPlaces(g.Places), Fingerprint: g.Fingerprint}
		for _, o := range g.Companions {
			to.Companions = append(to.Companions, o.fleet())
		}
		out.Guests = append(out.Guests, to)
	}
	if r.Endpoint != nil {
		out.Endpoint = fleet.Endpoint{Host: r.Endpoint.Host, Port: r.Endpoint.Port}
	}
	return out
}

func placesOf(list []fleet.Place) []place {
	var out []place
	for _, p := range list {
		out = append(out, place{p.ID, p.Access})
	}
	return out
}

func fleetPlaces(list []place) []fleet.Place {
	var out []fleet.Place
	for _, p := range list {
		out = append(out, fleet.Place{ID: p.ID, Access: p.Access})
	}
	return out
}

// providerObjectOf leaves out a spec that is not JSON, as Git's are: only those are stored.
func providerObjectOf(o fleet.RememberedObject) providerObject {
	if !json.Valid(o.Spec) {
		o.Spec = nil
	}
	return providerObject{APIVersion: o.GVK.GroupVersion().String(), Kind: o.GVK.Kind, Namespace: o.Namespace, Name: o.Name, Labels: o.Labels, Spec: o.Spec}
}

func (o providerObject) fleet() fleet.RememberedObject {
	return fleet.RememberedObject{GVK: schema.FromAPIVersionAndKind(o.APIVersion, o.Kind), Namespace: o.Namespace, Name: o.Name, Labels: o.Labels, Spec: o.Spec}
}

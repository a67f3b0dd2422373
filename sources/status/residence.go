package status

import "fairlead.dev/fleet"

// residence is where a cluster lives.
type residence struct {
	Provider     string    `json:"provider,omitempty"`
	Places       []place   `json:"places,omitempty"` // that of what machines share first
	Endpoint     *endpoint `json:"endpoint,omitempty"`
	ControlPlane string    `json:"controlPlane,omitempty"` // Initialized or Never
	Recreated    string    `json:"recreated,omitempty"`
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
	out := &residence{Provider: r.Provider, ControlPlane: string(r.ControlPlane), Recreated: r.Recreated}
	for _, p := range r.Places {
		out.Places = append(out.Places, place{p.ID, p.Access})
	}
	if !r.Endpoint.IsZero() {
		out.Endpoint = &endpoint{r.Endpoint.Host, r.Endpoint.Port}
	}
	return out
}

// fleet is the inverse of residenceOf. What an older version wrote has none.
func (r *residence) fleet() fleet.Residence {
	if r == nil {
		return fleet.Residence{}
	}
	out := fleet.Residence{Provider: r.Provider, ControlPlane: fleet.Initialization(r.ControlPlane), Recreated: r.Recreated}
	for _, p := range r.Places {
		out.Places = append(out.Places, fleet.Place{ID: p.ID, Access: p.Access})
	}
	if r.Endpoint != nil {
		out.Endpoint = fleet.Endpoint{Host: r.Endpoint.Host, Port: r.Endpoint.Port}
	}
	return out
}

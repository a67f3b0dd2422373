package driver

import (
	"encoding/json"

	"fairlead.dev/fleet"
)

// Remembered are the machines that ran when a cluster was last observed: their tags, by the thing that they
// ran on. A provider keeps them as a place of the cluster, for a service that may lose its records.
type Remembered map[string]map[string]string

// Remember returns the machines of c in the place called id. Nil: none is remembered, or people say that
// they are gone, by fleet.ForgetPlaceAnnotation.
func Remember(c *fleet.Cluster, id string) (Remembered, error) {
	for _, p := range c.OtherPlaces() {
		if p.ID != id {
			continue
		}
		out := make(Remembered)
		if err := json.Unmarshal([]byte(p.Access), &out); err != nil {
			return nil, fleet.Errorf(fleet.Conflict, "read which machines were on "+p.ID, "the status branch has no such list (if they are gone permanently, annotate the Cluster with %s: %s)", fleet.ForgetPlaceAnnotation, p.ID)
		}
		return out, nil
	}
	return nil, nil
}

// Seen returns r as the place called id of a cluster.
func (r Remembered) Seen(id string) fleet.PlaceSeen {
	text, _ := json.Marshal(r) // strings can always be written
	return fleet.PlaceSeen{Place: fleet.Place{ID: id, Access: string(text)}, Used: true, Named: true}
}

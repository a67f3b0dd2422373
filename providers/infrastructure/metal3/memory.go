package metal3

import (
	"encoding/json"

	"fairlead.dev/fleet"
)

// remembered are the machines that ran when the cluster was last looked at: their tags, by the
// name of the node of their host. It is what a database that was lost is made again from.
type remembered map[string]map[string]string

// hostsPlace is the id of the hosts of a cluster among its places.
func (s *site) hostsPlace() string { return "hosts of " + s.place().ID }

// remember reads what is remembered of c on s. People say that it is gone by
// fleet.ForgetPlaceAnnotation.
func (s *site) remember(c *fleet.Cluster) (remembered, error) {
	for _, at := range c.OtherPlaces() {
		if at.ID != s.hostsPlace() {
			continue
		}
		out := make(remembered)
		if err := json.Unmarshal([]byte(at.Access), &out); err != nil {
			return nil, fleet.Errorf(fleet.Conflict, "read which machines were on "+at.ID, "the status branch has no such list (where they are gone for good, annotate the Cluster with %s: %s)", fleet.ForgetPlaceAnnotation, at.ID)
		}
		return out, nil
	}
	return nil, nil
}

// elsewhere returns what other clusters of c's namespace remember on s.
func (s *site) elsewhere(c *fleet.Cluster) (remembered, error) {
	out := make(remembered)
	for _, at := range c.NeighborPlaces {
		if at.ID != s.hostsPlace() {
			continue
		}
		if err := json.Unmarshal([]byte(at.Access), &out); err != nil { // it adds to what is there
			return nil, err
		}
	}
	return out, nil
}

// rememberedElsewhere says which machine another cluster of the namespace remembers on the host whose node
// is called name; empty: none does.
func (o *observation) rememberedElsewhere(name string) string {
	hosts, err := o.elsewhere()
	switch tags := hosts[name]; {
	case err != nil:
		return "a machine of another cluster, whose machines the status branch does not list any more, perhaps"
	case tags != nil:
		return "machine " + tags[fleet.TagMachine] + " of cluster " + tags[fleet.TagCluster]
	}
	return ""
}

// seen returns r as a place of the cluster.
func (s *site) seen(r remembered) fleet.PlaceSeen {
	text, _ := json.Marshal(r) // strings can always be written
	return fleet.PlaceSeen{Place: fleet.Place{ID: s.hostsPlace(), Access: string(text)}, Used: true, Named: true}
}

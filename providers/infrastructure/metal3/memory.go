package metal3

import (
	"encoding/json"
	"strings"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver"
)

// remembered are the machines that ran when the cluster was last looked at: their tags, by the
// name of the node of their host. From them a lost database is restored.
type remembered = driver.Remembered

// hostsPrefix is what the id of the hosts of a cluster among its places begins with; the id of their
// Ironic follows.
const hostsPrefix = "hosts of "

// hostsOf is the id of the hosts of a cluster among its places, which are in the Ironic at.
func hostsOf(at fleet.Place) string { return hostsPrefix + at.ID }

// remember reads what is remembered of c in the Ironic at. People say that it is gone by
// fleet.ForgetPlaceAnnotation.
func remember(c *fleet.Cluster, at fleet.Place) (remembered, error) {
	return driver.Remember(c, hostsOf(at))
}

// elsewhere returns what other clusters of c's namespace remember, in whatever Ironic: a BareMetalHost is
// one computer, whichever Ironic manages it.
func elsewhere(c *fleet.Cluster) (remembered, error) {
	out := make(remembered)
	for _, p := range c.NeighborPlaces {
		if !strings.HasPrefix(p.ID, hostsPrefix+ironicPrefix) {
			continue
		}
		if err := json.Unmarshal([]byte(p.Access), &out); err != nil { // it adds to what is there
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

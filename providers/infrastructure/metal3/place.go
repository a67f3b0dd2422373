package metal3

import (
	"encoding/json"
	"net/url"
	"strings"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/metal3/api"
)

// ironicPrefix is what the id of an Ironic among the places of a cluster begins with. The address follows
// that the Ironic had when the cluster first had something there.
const ironicPrefix = "Ironic "

// An access is stored with an Ironic whose address differs from the one in its id.
type access struct {
	Endpoint string `json:"endpoint"`
}

// endpointOf returns the address at which the Ironic at was last; empty: it is no Ironic.
func endpointOf(at fleet.Place) string {
	var a access
	if json.Unmarshal([]byte(at.Access), &a) == nil && a.Endpoint != "" {
		return a.Endpoint
	}
	endpoint, ok := strings.CutPrefix(at.ID, ironicPrefix)
	if !ok {
		return ""
	}
	return endpoint
}

// placeOf returns s as a place of c. An Ironic does not say which one it is: it has no id, and its
// conductors have the names of what they run on. What Fairlead wrote into it tells: an Ironic at another
// address is the one that c lives in if it shows a machine, of the same life, that c or another cluster of its
// namespace remembers there. An Ironic that lost its records shows none: at another address it is another place.
func (s *site) placeOf(c *fleet.Cluster, l *listing) (fleet.Place, error) {
	own, home := s.place(), c.Residence.Place()
	known := endpointOf(home)
	if c.Residence.Provider != api.ProviderName || known == "" {
		return own, nil
	}
	if sameEndpoint(known, s.endpoint) {
		return home, nil
	}
	memory, err := remember(c, home)
	if err != nil {
		return fleet.Place{}, err
	}
	shown := l.shows(memory)
	for _, p := range c.NeighborPlaces {
		if p.ID == hostsOf(home) && !shown {
			var theirs remembered
			shown = json.Unmarshal([]byte(p.Access), &theirs) == nil && l.shows(theirs)
		}
	}
	if shown {
		return movedTo(home, s.endpoint), nil
	}
	if own.ID == home.ID { // it had that address before
		own.ID += ", which has no machine of the cluster"
	}
	return own, nil
}

// shows reports whether one of the machines of r is there.
func (l *listing) shows(r remembered) bool {
	for name, tags := range r {
		n := l.byName[name]
		if n == nil || lifeOf(tags).made.IsZero() {
			continue
		}
		if there := l.machineTags(n); there != nil && lifeOf(there) == lifeOf(tags) {
			return true
		}
	}
	return false
}

// movedTo returns the Ironic at, which has the address endpoint now.
func movedTo(at fleet.Place, endpoint string) fleet.Place {
	at.Access = ""
	if at.ID != ironicPrefix+endpoint {
		text, _ := json.Marshal(access{endpoint}) // strings can always be written
		at.Access = string(text)
	}
	return at
}

// sameEndpoint reports whether a and b are spellings of one address.
func sameEndpoint(a, b string) bool { return normalEndpoint(a) == normalEndpoint(b) }

func normalEndpoint(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return text
	}
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	port := u.Port()
	switch {
	case port != "":
	case u.Scheme == "https":
		port = "443"
	default:
		port = "80"
	}
	return u.Scheme + "://" + host + ":" + port + strings.TrimSuffix(u.Path, "/")
}

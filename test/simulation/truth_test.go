package simulation

import (
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/inmemory"
)

// machine returns the machine called id.
func (l *life) machine(id string) (inmemory.MachineFacts, bool) {
	for _, m := range l.cloud.Facts().Machines {
		if m.ID == id {
			return m, true
		}
	}
	return inmemory.MachineFacts{}, false
}

// network returns the network called id.
func (l *life) network(id string) (inmemory.Network, bool) {
	for _, n := range l.cloud.Facts().Networks {
		if n.ID == id {
			return n, true
		}
	}
	return inmemory.Network{}, false
}

// etcd returns what is true of etcd of cluster k.
func (l *life) etcd(k fleet.Key) (out []inmemory.EtcdFacts) {
	facts := l.cloud.Facts()
	for _, n := range facts.Networks {
		if e, ok := facts.Etcd[n.ID]; ok && n.Tags[fleet.TagFleet] == theFleet && n.Tags[fleet.TagCluster] == k.String() {
			out = append(out, e)
		}
	}
	return out
}

// askedOf returns what people asked for of the machine called id, to which the
// agent said yes.
func (l *life) askedOf(id fleet.ProviderID) fleet.Wish {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.asked[id]
}

// disturbed notes that the world of cluster k changed by itself.
func (l *life) disturbed(k fleet.Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.upsets[k] = time.Now()
}

func (l *life) upsetAt(k fleet.Key) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.upsets[k]
}

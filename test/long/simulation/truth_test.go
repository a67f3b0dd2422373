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

// truth returns what is true, with the tags that machines have to have.
func (l *life) truth() inmemory.Facts {
	facts := l.cloud.Facts()
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, m := range facts.Machines {
		if d, ok := l.damaged[m.ID]; ok {
			facts.Machines[i].Tags = d.whole
		}
	}
	return facts
}

// A sickness is for how long a machine is, or was, no Node that is ready.
type sickness struct {
	from, to time.Time // to is zero while it lasts
}

// examine takes in which machines are unwell. l.mu is held.
func (l *life) examine(facts inmemory.Facts) {
	for _, m := range facts.Machines {
		well := m.State == fleet.MachineRunning && !m.Stopped && m.Ready
		s, ok := l.unwell[m.ID]
		switch {
		case !well && (!ok || !s.to.IsZero()):
			l.unwell[m.ID] = sickness{from: time.Now()}
		case well && ok && s.to.IsZero():
			s.to = time.Now()
			l.unwell[m.ID] = s
		}
	}
}

// unwellFor returns for how long machine id was unwell at a time, in one piece.
func (l *life) unwellFor(id string, at time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	s, ok := l.unwell[id]
	if !ok || s.from.After(at) || !s.to.IsZero() && s.to.Before(at) {
		return 0
	}
	return at.Sub(s.from)
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

// askedOf returns what people asked for of a machine, to which the agent said yes.
func (l *life) askedOf(name string, id fleet.ProviderID) fleet.RequestKind {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.asked[fleet.MachineID{Name: fleet.MachineName(name), ProviderID: id}]
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

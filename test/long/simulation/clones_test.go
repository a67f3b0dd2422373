package simulation

import (
	"hash/fnv"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/inmemory"
	"fairlead.dev/providers/infrastructure/vsphere"
)

// How long machines take that are clones of a template, as in a vCenter: copying their
// disks, up to four times that where the datastore is slow, and waiting while as many are
// copied as a host copies at a time; and until the tools in the guest tell its addresses. All
// of that is less than health checks wait.
const (
	cloneTime   = "70s"
	cloneJitter = "3"
	atOnce      = 4
	queueTime   = 30 * time.Second // for each machine that is before it
	longest     = 3 * time.Minute  // in the queue
	guestTime   = 90 * time.Second
)

// settleTime is within which everything shows that the cloud was asked for.
func (l *life) settleTime() time.Duration {
	if l.clones {
		return vsphere.DefaultSettle
	}
	return settle
}

// cloned has a machine that is asked for take as long as a clone does.
func (l *life) cloned(s inmemory.VMSpec) inmemory.VMSpec {
	if !l.clones {
		return s
	}
	before := -atOnce
	for _, m := range l.cloud.Facts().Machines {
		if m.State == fleet.MachinePending && !m.Deleted && m.Refused == "" {
			before++
		}
	}
	base, err := time.ParseDuration(cloneTime)
	if err != nil {
		l.violate("cloneTime: %v", err)
	}
	base += min(time.Duration(max(0, before))*queueTime, longest) / 4 // the jitter is of it, too
	s.Timing.VM = &inmemory.Component{Provisioning: &inmemory.Provisioning{StartupDuration: base.String(), StartupJitter: cloneJitter}}
	return s
}

// beingCloned is the error of asking for the end of a machine whose clone runs: there is
// nothing yet to be ended.
func (l *life) beingCloned(m inmemory.MachineFacts) error {
	if !l.clones || m.ID == "" || m.State != fleet.MachinePending {
		return nil
	}
	return fleet.Errorf(fleet.Unavailable, "delete machine "+m.Name, "its VM is being cloned, and is deleted when it is there")
}

// untold takes from v what a vCenter does not tell yet: who it is while it is cloned, and the
// addresses of its guest, which its tools tell.
func (l *life) untold(v inmemory.VM) inmemory.VM {
	switch {
	case !l.clones:
	case v.State == fleet.MachinePending:
		v.Provider, v.Addresses, v.Message = "", nil, "its VM is being cloned"
	case time.Since(l.runningSince(v.ID)) < guestDelay(v.ID):
		v.Addresses = nil
	}
	return v
}

// guestDelay is how long the tools of machine id take to tell of it.
func guestDelay(id string) time.Duration {
	h := fnv.New32a()
	_, _ = h.Write([]byte(id))
	return guestTime * time.Duration(h.Sum32()%100) / 100
}

func (l *life) runningSince(id string) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	if at, ok := l.running[id]; ok {
		return at
	}
	return time.Now()
}

// runs takes in which machines run, and tells the agent of those whose guests have told their
// addresses, as the Watch of the provider does.
func (l *life) runs(facts inmemory.Facts) {
	if !l.clones {
		return
	}
	for _, m := range facts.Machines {
		if m.State != fleet.MachineRunning || l.reported[m.ID] {
			continue
		}
		l.mu.Lock()
		if _, ok := l.running[m.ID]; !ok {
			l.running[m.ID] = time.Now()
		}
		l.mu.Unlock()
		k, err := fleet.ParseKey(m.Tags[fleet.TagCluster])
		if time.Since(l.runningSince(m.ID)) < guestDelay(m.ID) || err != nil || l.agent == nil {
			continue
		}
		l.reported[m.ID] = true
		l.agent.mu.Lock()
		changed := l.agent.changed
		l.agent.mu.Unlock()
		if changed != nil && m.Tags[fleet.TagFleet] == theFleet {
			changed(k)
		}
	}
}

// failClones has tasks fail that were taken, those of some machines.
func (l *life) failClones(f *inmemory.Faults) {
	if l.clones && l.chance(3) {
		f.FailCreate = []string{"*" + string("0123456789abcdef"[l.random.IntN(16)])}
	}
}

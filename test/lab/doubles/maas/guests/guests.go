// Package guests brings hosts of a double of MAAS to life: one that runs what was installed on it is a machine of the
// Kubernetes lab, which boots with the user data of its deployment.
//
//	g, err := guests.New(region, l.Machines(), log)
//	defer g.Close()
//
// Each host is one machine permanently, and has its address. A deployment gives it a new disk; what is off keeps its
// disk. A host that boots an installer or an erasure runs nothing. The image is the lab's own, whatever was deployed.
// cloud-init reads user data, system id and host name from its data source NoCloud, and not from MAAS.
package guests

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"fairlead.dev/providers/infrastructure/maas/maastest"
	"fairlead.dev/test/lab/kubernetes/lab"
)

// look is the time between requests for which a region has time pass.
const look = 200 * time.Millisecond

// Guests are the machines of hosts.
type Guests struct {
	log    func(string)
	cancel context.CancelFunc
	work   sync.WaitGroup
	guests map[string]*guest // by system id
}

// A guest is the machine of one host. One goroutine switches it.
type guest struct {
	machine *lab.Machine
	changed chan struct{} // has room for one

	mu   sync.Mutex
	name string
	want maastest.Host

	on       bool
	installs int // of what is on the disk
}

// New adds a host to r for each machine, called host-0 and so on, and switches the machines off. edit, if not nil, is
// called with each host before it is added. log is called with what is done.
func New(r *maastest.Region, machines []*lab.Machine, edit func(i int, m *maastest.Machine), log func(string)) (*Guests, error) {
	ctx, cancel := context.WithCancel(context.Background())
	g := &Guests{log: log, cancel: cancel, guests: make(map[string]*guest, len(machines))}
	var errs []error
	for i, at := range machines {
		errs = append(errs, at.Kill())
		m := maastest.Machine{Hostname: fmt.Sprintf("host-%d", i), Address: at.Address}
		if edit != nil {
			edit(i, &m)
		}
		m = r.Add(m)
		g.guests[m.SystemID] = &guest{machine: at, changed: make(chan struct{}, 1)}
	}
	r.SetHardware(g.moves)
	for _, at := range g.guests {
		g.work.Go(func() { g.follow(ctx, at) })
	}
	g.work.Go(func() {
		for ctx.Err() == nil {
			r.Machines() // time passes
			select {
			case <-ctx.Done():
			case <-time.After(look):
			}
		}
	})
	return g, errors.Join(errs...)
}

// Close waits for what is under way. Machines stay unchanged.
func (g *Guests) Close() {
	g.cancel()
	g.work.Wait()
}

// Machine is the one of a host, by its system id; nil: there is no such host.
func (g *Guests) Machine(id string) *lab.Machine {
	if at := g.guests[id]; at != nil {
		return at.machine
	}
	return nil
}

// moves notes what a host does now.
func (g *Guests) moves(m maastest.Machine, h maastest.Host) {
	at := g.guests[m.SystemID]
	if at == nil {
		return
	}
	at.mu.Lock()
	defer at.mu.Unlock()
	at.name, at.want = m.Hostname, h
	select {
	case at.changed <- struct{}{}:
	default:
	}
}

// follow switches a machine as its host is, until ctx ends.
func (g *Guests) follow(ctx context.Context, at *guest) {
	for {
		select {
		case <-at.changed:
		case <-ctx.Done():
			return
		}
		at.mu.Lock()
		name, want := at.name, at.want
		at.mu.Unlock()
		if err := g.apply(ctx, at, name, want); err != nil {
			g.log(fmt.Sprintf("%s: %v", name, err))
		}
	}
}

func (g *Guests) apply(ctx context.Context, at *guest, name string, want maastest.Host) error {
	runs := want.On && want.Runs != nil
	fresh := at.installs != want.Installs
	if at.on && (!runs || fresh) {
		g.log(name + ": off")
		if err := at.machine.Kill(); err != nil {
			return err
		}
		at.on = false
	}
	if !runs || at.on {
		return nil
	}
	if fresh {
		g.log(name + ": a new disk")
		if err := errors.Join(at.machine.Wipe(), at.machine.Seed(want.SystemID, name, want.Runs)); err != nil {
			return err
		}
		at.installs = want.Installs
	}
	g.log(name + ": on, as " + at.machine.Name)
	at.on = true
	return at.machine.Start(ctx)
}

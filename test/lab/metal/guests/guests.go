// Package guests brings hosts of the bare-metal lab to life: one that is switched on with
// something on its disk is a machine of the Kubernetes lab, which boots with the config drive
// that a deployment left there.
//
//	g, err := guests.New(l.Machines(), hosts, log)
//	i, err := metal3test.Start(ctx, metal3test.Options{Hardware: g})
//
// Each host is one machine permanently: host-0 the first, and so on. A new deployment gives it a
// new disk; what is off keeps its disk. What cleaning erases is erased when something is
// deployed again, since nothing else boots from that disk. The image is the lab's own,
// whatever was deployed, and so is the network: the machine's address is fixed, and
// network_data.json of the drive is left out.
package guests

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"

	"fairlead.dev/providers/infrastructure/metal3/metal3test"
	"fairlead.dev/test/lab/kubernetes/lab"
)

// Guests are the machines of hosts.
type Guests struct {
	log    func(string)
	guests map[string]*guest // by name of the host
}

// A guest is the machine of one host.
type guest struct {
	machine *lab.Machine

	mu      sync.Mutex
	prepare func(context.Context, *lab.Machine) error // nil: nothing
	disk    string                                    // the ID of what was deployed last
}

var _ metal3test.Hardware = (*Guests)(nil)

// New makes hosts live on machines, one each, in order. The machines are switched off. log is
// called with what is done.
func New(machines []*lab.Machine, hosts []string, log func(string)) (*Guests, error) {
	if len(machines) < len(hosts) {
		return nil, fmt.Errorf("%d hosts need as many machines, and the lab has %d: make lab-up N=%d", len(hosts), len(machines), len(hosts))
	}
	g := &Guests{log: log, guests: make(map[string]*guest, len(hosts))}
	var errs []error
	for i, name := range hosts {
		g.guests[name] = &guest{machine: machines[i]}
		errs = append(errs, machines[i].Kill())
	}
	return g, errors.Join(errs...)
}

// Prepare has f run on each machine that was switched on.
func (g *Guests) Prepare(f func(context.Context, *lab.Machine) error) {
	for _, at := range g.guests {
		at.mu.Lock()
		at.prepare = f
		at.mu.Unlock()
	}
}

// Machine is the one of a host; nil: there is no such host.
func (g *Guests) Machine(host string) *lab.Machine {
	if at := g.guests[host]; at != nil {
		return at.machine
	}
	return nil
}

// PowerOn implements metal3test.Hardware.
func (g *Guests) PowerOn(ctx context.Context, host string, d metal3test.Disk) error {
	at := g.guests[host]
	if at == nil {
		return fmt.Errorf("host %s has no machine", host)
	}
	at.mu.Lock()
	prepare, fresh := at.prepare, at.disk != d.ID
	at.disk = d.ID
	at.mu.Unlock()
	if fresh {
		g.log(host + ": a new disk, with " + d.Image)
		if err := errors.Join(at.machine.Wipe(), at.machine.SeedConfigDrive(drive(d.Drive))); err != nil {
			return err
		}
	}
	g.log(host + ": on, as " + at.machine.Name)
	if err := at.machine.Start(ctx); err != nil {
		return err
	}
	if prepare != nil {
		if err := prepare(ctx, at.machine); err != nil {
			return err
		}
	}
	g.log(host + ": it runs at " + at.machine.Address)
	return nil
}

// drive leaves the network out.
func drive(files map[string]string) map[string]string {
	files = maps.Clone(files)
	delete(files, "network_data.json")
	return files
}

// PowerOff implements metal3test.Hardware.
func (g *Guests) PowerOff(_ context.Context, host string) error {
	at := g.guests[host]
	if at == nil {
		return fmt.Errorf("host %s has no machine", host)
	}
	g.log(host + ": off")
	return at.machine.Kill()
}

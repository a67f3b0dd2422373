// Package guests brings VMs of a simulated vCenter to life: one that is switched on is a
// machine of the Kubernetes lab, which boots with what the VM has in guestinfo, and whose
// address the VM reports.
//
//	g := guests.New(l.Machines(), log)
//	v, err := vspheretest.Start(vspheretest.Options{Power: g.Power})
//	g.Attach(v)
//	defer g.Close()
//
// A VM that is switched on for the first time gets a machine that no other has, with a new
// disk. One that is switched off keeps both; one that is destroyed gives them back. The
// network of the machine is that of the lab, whatever metadata says of it: its address is
// fixed, and that of its card is another than the VM's.
package guests

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"fairlead.dev/providers/infrastructure/vsphere/vspheretest"
	"fairlead.dev/test/lab/kubernetes/lab"
)

// Guests are the machines of VMs.
type Guests struct {
	log    func(string)
	ctx    context.Context //nolint:containedctx // machines outlive the call that switches them on
	cancel context.CancelFunc
	work   sync.WaitGroup

	mu      sync.Mutex
	vcenter *vspheretest.VCenter
	prepare func(context.Context, *lab.Machine) error // nil: nothing
	free    []*lab.Machine
	freed   chan struct{}     // is closed when a machine becomes free
	guests  map[string]*guest // by the id of the VM
}

// A guest is the machine of one VM. One goroutine switches it.
type guest struct {
	want    vspheretest.Machine
	changed chan struct{} // has room for one
	machine *lab.Machine
	on      bool
}

// New makes VMs live on machines, which are switched off. log gets what is done.
func New(machines []*lab.Machine, log func(string)) (*Guests, error) {
	ctx, cancel := context.WithCancel(context.Background())
	g := &Guests{log: log, ctx: ctx, cancel: cancel, free: slices.Clone(machines), freed: make(chan struct{}), guests: make(map[string]*guest)}
	var err error
	for _, m := range machines {
		err = errors.Join(err, m.Kill())
	}
	return g, err
}

// Attach says whose VMs they are.
func (g *Guests) Attach(v *vspheretest.VCenter) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.vcenter = v
}

// Prepare has f run on each machine that was switched on, before its VM reports an address.
func (g *Guests) Prepare(f func(context.Context, *lab.Machine) error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.prepare = f
}

// Close waits for what is under way. Machines stay unchanged.
func (g *Guests) Close() {
	g.cancel()
	g.work.Wait()
}

// Machine is the one of a VM, by the name of the VM; nil: it has none.
func (g *Guests) Machine(name string) *lab.Machine {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, at := range g.guests {
		if at.want.Name == name && !at.want.Gone {
			return at.machine
		}
	}
	return nil
}

// Power is for vspheretest.Options.
func (g *Guests) Power(vm vspheretest.Machine) {
	g.mu.Lock()
	defer g.mu.Unlock()
	at, ok := g.guests[vm.Ref.Value]
	if !ok {
		if !vm.On {
			return // it never was on
		}
		at = &guest{changed: make(chan struct{}, 1)}
		g.guests[vm.Ref.Value] = at
		g.work.Go(func() { g.follow(at) })
	}
	at.want = vm
	select {
	case at.changed <- struct{}{}:
	default:
	}
}

// follow switches a guest as its VM is, until that is gone.
func (g *Guests) follow(at *guest) {
	for {
		select {
		case <-at.changed:
		case <-g.ctx.Done():
			return
		}
		g.mu.Lock()
		want := at.want
		g.mu.Unlock()
		if err := g.apply(at, want); err != nil {
			g.log(fmt.Sprintf("%s: %v", want.Path, err))
		}
		if want.Gone {
			return
		}
	}
}

func (g *Guests) apply(at *guest, want vspheretest.Machine) error {
	switch {
	case want.Gone:
		return g.release(at, want)
	case want.On && !at.on:
		return g.start(at, want)
	case !want.On && at.on:
		g.log(want.Path + ": off")
		at.on = false
		return at.machine.Kill()
	}
	return nil
}

// start switches the machine on, and reports its address.
func (g *Guests) start(at *guest, vm vspheretest.Machine) error {
	if at.machine == nil {
		m, err := g.take(vm)
		if err != nil {
			return err
		}
		g.mu.Lock()
		at.machine = m
		g.mu.Unlock()
		if err := m.Wipe(); err != nil {
			return err
		}
	}
	g.log(vm.Path + ": on, as " + at.machine.Name)
	at.on = true
	if err := errors.Join(at.machine.SeedGuestinfo(vm.ExtraConfig), at.machine.Start(g.ctx)); err != nil {
		return err
	}
	g.mu.Lock()
	v, prepare := g.vcenter, g.prepare
	g.mu.Unlock()
	if prepare != nil {
		if err := prepare(g.ctx, at.machine); err != nil {
			return err
		}
	}
	v.Report(vm.Ref, at.machine.Address)
	g.log(vm.Path + ": it runs at " + at.machine.Address)
	return nil
}

// take waits for a machine that is free.
func (g *Guests) take(vm vspheretest.Machine) (*lab.Machine, error) {
	for {
		g.mu.Lock()
		freed := g.freed
		if len(g.free) > 0 {
			m := g.free[0]
			g.free = g.free[1:]
			g.mu.Unlock()
			return m, nil
		}
		g.mu.Unlock()
		g.log(vm.Path + ": waits for a machine that is free")
		select {
		case <-freed:
		case <-g.ctx.Done():
			return nil, g.ctx.Err()
		}
	}
}

// release gives the machine back, with a new disk.
func (g *Guests) release(at *guest, vm vspheretest.Machine) error {
	g.mu.Lock()
	m := at.machine
	delete(g.guests, vm.Ref.Value)
	g.mu.Unlock()
	if m == nil {
		return nil
	}
	g.log(vm.Path + ": gone, and " + m.Name + " is free")
	if err := m.Wipe(); err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.free = append(g.free, m)
	close(g.freed)
	g.freed = make(chan struct{})
	return nil
}

// Package instances brings instances of a double of a cloud to life: one that runs is a machine of the Kubernetes lab.
//
//	m, err := instances.New(l, log)
//	cloud := …                        // gives new instances the addresses of m.Place
//	err = m.Serve(ctx, cloud, services)
//
// An instance has the address of its machine from its creation, and its machine until it is gone. It starts with a new
// disk, and starts again with the one that it has. A load balancer has an address of the lab, to which a name server leads,
// and listens there: a connection goes to one of its targets that takes it. The image is the lab's own, whatever was
// requested.
//
// The process must be in the network of the lab.
package instances

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"time"

	"fairlead.dev/test/lab/doubles/nameserver"
	"fairlead.dev/test/lab/kubernetes/lab"
)

// MetadataAddress is that of metadata services.
const MetadataAddress = "169.254.169.254"

// A Cloud is what machines follow.
type Cloud interface {
	// Instances returns those that are there. One that is no longer among them leaves its machine.
	Instances() []Instance
	// Seed writes what an instance finds when it boots first to the disk of its machine.
	Seed(m *lab.Machine, i Instance) error
	// Balancers returns those that listen.
	Balancers() []Balancer
	// Targets returns where one leads to from a port.
	Targets(ctx context.Context, balancer, port string) []netip.AddrPort
	// Lookup returns the address of a name that is none of a load balancer, in lower case.
	Lookup(name string) (address string, ok bool)
}

// An Instance is one of a cloud.
type Instance struct {
	ID      string // of no other instance, before and after
	Name    string
	Address string // that Place returned
	Runs    bool
}

// A Balancer is a load balancer that listens.
type Balancer struct {
	ID, Name string
	Address  string // empty: a free one of the lab
	DNS      string // its name; empty: it has none
	Ports    []string
}

// look is the time between looks at what the cloud has.
const look = 200 * time.Millisecond

// Machines are those of instances.
type Machines struct {
	lab *lab.Lab
	log func(string)

	mu        sync.Mutex
	guests    map[string]*guest    // by address
	balancers map[string]*balancer // by id
}

// A guest is a machine, and the instance that it is.
type guest struct {
	machine          *lab.Machine
	taken            bool   // by a request for an instance
	instance         string // empty: it is free, or its instance was not listed yet
	seeded, on, busy bool
}

// New switches the machines of l off. log is called with what is done.
func New(l *lab.Lab, log func(string)) (*Machines, error) {
	m := &Machines{lab: l, log: log, guests: make(map[string]*guest), balancers: make(map[string]*balancer)}
	var errs []error
	for _, at := range l.Machines() {
		errs = append(errs, at.Kill())
		m.guests[at.Address] = &guest{machine: at}
	}
	return m, errors.Join(errs...)
}

// Place returns the address of a free machine, for a new instance.
func (m *Machines) Place() (string, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, at := range m.lab.Machines() { // in their order
		if g := m.guests[at.Address]; !g.taken {
			g.taken = true
			return at.Address, true
		}
	}
	return "", false
}

// Serve follows c until ctx ends, and leaves machines unchanged then. Services are those that instances find in their cloud,
// by address, at the port of HTTP.
func (m *Machines) Serve(ctx context.Context, c Cloud, services map[string]http.Handler) error {
	var work sync.WaitGroup
	defer work.Wait()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	listen := new(net.ListenConfig)
	for address, handler := range services {
		if err := m.lab.AddAddress(ctx, address); err != nil {
			return err
		}
		at, err := listen.Listen(ctx, "tcp", net.JoinHostPort(address, "80"))
		if err != nil {
			return err
		}
		server := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
		context.AfterFunc(ctx, func() { _ = server.Close() })
		work.Go(func() { _ = server.Serve(at) }) // ends with Close
	}
	names, err := listen.ListenPacket(ctx, "udp", net.JoinHostPort(lab.Gateway, "53"))
	if err != nil {
		return err
	}
	resolved := make(chan error, 1)
	work.Go(func() {
		resolved <- nameserver.Serve(ctx, names, func(name string) ([]string, uint32, bool) { return m.lookup(c, name) })
	})
	for ctx.Err() == nil {
		m.follow(ctx, c, &work)
		select {
		case <-ctx.Done():
		case <-time.After(look):
		}
	}
	return <-resolved
}

// lookup returns the address of a name of a load balancer, or of another one that the cloud has.
func (m *Machines) lookup(c Cloud, name string) ([]string, uint32, bool) {
	m.mu.Lock()
	for _, b := range m.balancers {
		if b.dns != "" && b.dns == name {
			defer m.mu.Unlock()
			return []string{b.address}, 60, true
		}
	}
	m.mu.Unlock()
	address, ok := c.Lookup(name)
	return []string{address}, 60, ok
}

// follow switches machines as their instances are, and has load balancers listen.
func (m *Machines) follow(ctx context.Context, c Cloud, work *sync.WaitGroup) {
	all := c.Instances()
	m.mu.Lock()
	for _, i := range all {
		if g := m.guests[i.Address]; g != nil && g.taken && g.instance == "" {
			g.instance = i.ID
		}
	}
	for _, g := range m.guests {
		if g.busy || g.instance == "" {
			continue
		}
		n := slices.IndexFunc(all, func(i Instance) bool { return i.ID == g.instance })
		switch {
		case n < 0:
			m.begin(g, work, g.instance+": gone", g.machine.Kill, func() { *g = guest{machine: g.machine} })
		case g.on == all[n].Runs:
		case g.on:
			g.on = false
			m.begin(g, work, all[n].Name+": off", g.machine.Kill, nil)
		default:
			first := !g.seeded
			g.seeded, g.on = true, true
			m.begin(g, work, all[n].Name+": on, as "+g.machine.Name, func() error {
				if first {
					if err := errors.Join(g.machine.Wipe(), c.Seed(g.machine, all[n])); err != nil {
						return err
					}
				}
				return g.machine.Start(ctx)
			}, nil)
		}
	}
	m.mu.Unlock()
	listening := c.Balancers()
	for _, b := range listening {
		if err := m.listen(ctx, c, b, work); err != nil {
			m.log(b.Name + ": " + err.Error())
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for id, b := range m.balancers {
		if !slices.ContainsFunc(listening, func(o Balancer) bool { return o.ID == id }) {
			for _, stop := range b.stop {
				stop()
			}
			delete(m.balancers, id)
		}
	}
}

// begin changes the machine of a guest, which no other call does meanwhile, and calls then if that succeeded. The lock is
// held, and is again when then is called.
func (m *Machines) begin(g *guest, work *sync.WaitGroup, what string, change func() error, then func()) {
	g.busy = true
	work.Go(func() {
		m.log(what)
		err := change()
		if err != nil {
			m.log(what + ": " + err.Error())
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		if err == nil && then != nil {
			then()
		}
		g.busy = false
	})
}

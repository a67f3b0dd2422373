// Package guests brings instances of a double of EC2 to life: one that runs is a machine of the Kubernetes lab.
//
//	g := guests.New(l, log)
//	cloud := awstest.New(awstest.Options{Place: g.Place})
//	err := g.Serve(ctx, cloud)
//
// An instance has the address of its machine from its creation, and its machine until it is terminated. It starts with a
// new disk. cloud-init reads metadata and user data from the metadata service, at the address that it has on EC2. A
// network load balancer has an address of the lab, to which a name server leads, and listens there: a connection goes
// to one of its targets that takes it. The image is the lab's own, whatever was requested.
//
// The process must be in the network of the lab.
package guests

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"fairlead.dev/providers/infrastructure/aws/awstest"
	"fairlead.dev/test/lab/doubles/nameserver"
	"fairlead.dev/test/lab/kubernetes/lab"
)

const (
	// look is the time between looks at what the cloud has.
	look = 200 * time.Millisecond
	// metadataAddress is that of the metadata service.
	metadataAddress = "169.254.169.254"
	// answering is how long a target may take to accept a connection.
	answering = 2 * time.Second
)

// Guests are the machines of instances.
type Guests struct {
	lab *lab.Lab
	log func(string)

	mu     sync.Mutex
	guests map[string]*guest // by address

	balancers map[string]*balancer // by ARN
}

// A guest is a machine, and the instance that it is.
type guest struct {
	machine  *lab.Machine
	taken    bool   // by a request for an instance
	instance string // empty: it is free, or its instance was not listed yet
	on, busy bool
}

// A balancer is a network load balancer that listens.
type balancer struct {
	address string
	stop    map[string]func() // by port
}

// New switches the machines of l off. log is called with what is done.
func New(l *lab.Lab, log func(string)) (*Guests, error) {
	g := &Guests{lab: l, log: log, guests: make(map[string]*guest), balancers: make(map[string]*balancer)}
	var errs []error
	for _, m := range l.Machines() {
		errs = append(errs, m.Kill())
		g.guests[m.Address] = &guest{machine: m}
	}
	return g, errors.Join(errs...)
}

// Place is for awstest.Options: it returns the address of a free machine.
func (g *Guests) Place() (string, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, m := range g.lab.Machines() { // in their order
		if at := g.guests[m.Address]; !at.taken {
			at.taken = true
			return m.Address, true
		}
	}
	return "", false
}

// Serve follows c until ctx ends, and leaves machines unchanged then.
func (g *Guests) Serve(ctx context.Context, c *awstest.Cloud) error {
	if err := g.lab.AddAddress(ctx, metadataAddress); err != nil {
		return err
	}
	listen := new(net.ListenConfig)
	metadata, err := listen.Listen(ctx, "tcp", metadataAddress+":80")
	if err != nil {
		return err
	}
	names, err := listen.ListenPacket(ctx, "udp", lab.Gateway+":53")
	if err != nil {
		return errors.Join(err, metadata.Close())
	}
	server := &http.Server{Handler: http.HandlerFunc(c.ServeMetadata), ReadHeaderTimeout: time.Minute}
	var work sync.WaitGroup
	work.Go(func() { _ = server.Serve(metadata) }) // ends with Close
	var resolved error
	work.Go(func() {
		resolved = nameserver.Serve(ctx, names, func(name string) ([]string, uint32, bool) { return g.lookup(c, name) })
	})
	for ctx.Err() == nil {
		g.follow(ctx, c, &work)
		select {
		case <-ctx.Done():
		case <-time.After(look):
		}
	}
	err = server.Close()
	work.Wait()
	return errors.Join(err, resolved)
}

// lookup returns the address of a name of a load balancer, or of an instance.
func (g *Guests) lookup(c *awstest.Cloud, name string) ([]string, uint32, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for address := range g.guests {
		if name == c.HostName(address) {
			return []string{address}, 60, true
		}
	}
	for arn, b := range g.balancers {
		if t, ok := c.Thing(arn); ok && t.Attr["dns"] == name {
			return []string{b.address}, 60, true
		}
	}
	return nil, 0, false
}

// follow switches machines as their instances are, and has load balancers listen.
func (g *Guests) follow(ctx context.Context, c *awstest.Cloud, work *sync.WaitGroup) {
	for _, t := range c.Things(awstest.Instances) {
		at := g.guests[t.Attr["privateIpAddress"]]
		if at != nil {
			g.apply(ctx, at, t, work)
		}
	}
	listeners := c.Things(awstest.Listeners)
	for _, t := range c.Things(awstest.Balancers) {
		if t.Attr["state"] != "active" {
			continue
		}
		if err := g.serve(ctx, c, t, listeners, work); err != nil {
			g.log(t.Attr["name"] + ": " + err.Error())
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for arn, b := range g.balancers {
		if _, there := c.Thing(arn); !there {
			for _, stop := range b.stop {
				stop()
			}
			delete(g.balancers, arn)
		}
	}
}

// apply begins what brings a machine to where its instance is.
func (g *Guests) apply(ctx context.Context, at *guest, t awstest.Thing, work *sync.WaitGroup) {
	g.mu.Lock()
	defer g.mu.Unlock()
	ended := t.Attr["state"] == "terminated" || t.Attr["state"] == "shutting-down"
	if at.instance == "" && at.taken && !ended {
		at.instance = t.ID
	}
	if at.instance != t.ID || at.busy || !ended && (at.on || t.Attr["state"] != "running") {
		return
	}
	at.busy = true
	work.Go(func() {
		var err error
		if ended {
			g.log(t.ID + ": off")
			err = at.machine.Kill()
		} else {
			g.log(t.ID + ": on, as " + at.machine.Name)
			err = errors.Join(at.machine.Wipe(), at.machine.SeedEC2(), at.machine.Start(ctx))
		}
		if err != nil {
			g.log(t.ID + ": " + err.Error())
		}
		g.mu.Lock()
		defer g.mu.Unlock()
		at.busy = false
		switch {
		case !ended:
			at.on = true
		case err == nil:
			at.on, at.instance, at.taken = false, "", false
		}
	})
}

// serve has a load balancer listen at an address of its own, as its listeners say.
func (g *Guests) serve(ctx context.Context, c *awstest.Cloud, t awstest.Thing, listeners []awstest.Thing, work *sync.WaitGroup) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	b := g.balancers[t.ID]
	if b == nil {
		used := func(address string) bool {
			for _, other := range g.balancers {
				if other.address == address {
					return true
				}
			}
			return false
		}
		b = &balancer{stop: make(map[string]func())}
		for n := 200; b.address == "" && n < 255; n++ {
			if address := fmt.Sprintf("10.77.0.%d", n); !used(address) {
				b.address = address
			}
		}
		if err := g.lab.AddAddress(ctx, b.address); err != nil {
			return err
		}
		g.balancers[t.ID] = b
		g.log(t.Attr["name"] + ": at " + b.address)
	}
	for _, l := range listeners {
		port := l.Attr["port"]
		if l.Attr["balancer"] != t.ID || b.stop[port] != nil {
			continue
		}
		at, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort(b.address, port))
		if err != nil {
			return err
		}
		stop := context.AfterFunc(ctx, func() { _ = at.Close() })
		b.stop[port] = func() {
			stop()
			_ = at.Close()
		}
		work.Go(func() {
			for {
				conn, err := at.Accept()
				if err != nil {
					return // it was closed
				}
				work.Go(func() { forward(ctx, conn, c.Targets(t.ID, port)) })
			}
		})
	}
	return nil
}

// forward connects a client with the first target that takes it, until one of them or ctx ends.
func forward(ctx context.Context, client net.Conn, targets []netip.AddrPort) {
	defer client.Close()
	rand.Shuffle(len(targets), func(i, j int) { targets[i], targets[j] = targets[j], targets[i] })
	for _, at := range targets {
		target, err := (&net.Dialer{Timeout: answering}).DialContext(ctx, "tcp", at.String())
		if err != nil {
			continue
		}
		stop := context.AfterFunc(ctx, func() {
			_ = client.Close()
			_ = target.Close()
		})
		defer stop()
		var both sync.WaitGroup
		for _, way := range [][2]net.Conn{{client, target}, {target, client}} {
			both.Go(func() {
				_, _ = io.Copy(way[1], way[0])
				_ = way[0].Close()
				_ = way[1].Close()
			})
		}
		both.Wait()
		return
	}
}

package instances

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"sync"
	"time"
)

// answering is how long a target may take to accept a connection.
const answering = 2 * time.Second

// A balancer is a load balancer that listens.
type balancer struct {
	address, dns string
	stop         map[string]func() // by port
}

// listen has a load balancer listen at its ports, at an address of its own.
func (m *Machines) listen(ctx context.Context, c Cloud, is Balancer, work *sync.WaitGroup) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	b := m.balancers[is.ID]
	if b == nil {
		b = &balancer{address: is.Address, stop: make(map[string]func())}
		for n := 200; b.address == "" && n < 255; n++ {
			if address := fmt.Sprintf("10.77.0.%d", n); !m.listensAt(address) {
				b.address = address
			}
		}
		if err := m.lab.AddAddress(ctx, b.address); err != nil {
			return err
		}
		m.balancers[is.ID] = b
		m.log(is.Name + ": at " + b.address)
	}
	b.dns = is.DNS
	for _, port := range is.Ports {
		if b.stop[port] != nil {
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
				work.Go(func() { forward(ctx, conn, c.Targets(ctx, is.ID, port)) })
			}
		})
	}
	return nil
}

// listensAt reports whether a load balancer has an address. The lock is held.
func (m *Machines) listensAt(address string) bool {
	for _, b := range m.balancers {
		if b.address == address {
			return true
		}
	}
	return false
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

package e2e

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"testing"

	"fairlead.dev/test/lab/kubernetes/lab"
)

// A door leads connections from one address to another network, and may be shut.
type door struct {
	dial func(context.Context) (net.Conn, error)

	mu    sync.Mutex
	shut  bool
	conns map[net.Conn]bool
}

// openDoor has dial answer at an address until the test ends.
func openDoor(t *testing.T, address string, dial func(context.Context) (net.Conn, error)) *door {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	d := &door{dial: dial, conns: make(map[net.Conn]bool)}
	var done sync.WaitGroup
	done.Go(func() {
		for {
			from, err := l.Accept()
			if err != nil {
				return
			}
			done.Go(func() { d.pass(ctx, from) })
		}
	})
	t.Cleanup(func() {
		cancel()
		_ = l.Close() // it accepts no more, whatever it says
		d.close(true)
		done.Wait()
	})
	return d
}

// close shuts the door, with all connections through it, or opens it again.
func (d *door) close(shut bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.shut = shut
	if shut {
		for c := range d.conns {
			_ = c.Close() // it may have ended
		}
	}
}

// hold keeps connections until they end, and reports whether the door is open.
func (d *door) hold(conns ...net.Conn) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.shut {
		return false
	}
	for _, c := range conns {
		d.conns[c] = true
	}
	return true
}

// pass has a connection go through the door.
func (d *door) pass(ctx context.Context, from net.Conn) {
	defer func() { _ = from.Close() }() // it may have ended
	if !d.hold() {
		return
	}
	to, err := d.dial(ctx)
	if err != nil {
		return
	}
	defer func() { _ = to.Close() }() // it may have ended
	if !d.hold(from, to) {
		return
	}
	defer func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.conns, from)
		delete(d.conns, to)
	}()
	var back sync.WaitGroup
	back.Go(func() {
		_, _ = io.Copy(from, to) // ends with either connection
		_ = from.Close()
	})
	_, _ = io.Copy(to, from) // ends with either connection
	_ = to.Close()
	back.Wait()
}

// openStack are the doors to the services of the OpenStack lab, which answers on the
// loopback outside of this lab's network. It answers on this one's loopback, too.
type openStack []*door

func openOpenStack(t *testing.T) openStack {
	t.Helper()
	first, err := strconv.Atoi(cmp.Or(os.Getenv("FAIRLEAD_LAB_OPENSTACK_PORT"), "15000"))
	if err != nil {
		t.Fatal(err)
	}
	var all openStack
	for i := range 8 {
		address := fmt.Sprintf("127.0.0.1:%d", first+i)
		all = append(all, openDoor(t, address, func(ctx context.Context) (net.Conn, error) { return lab.DialOutside(ctx, "tcp", address) }))
	}
	return all
}

// close has nobody reach the services, or reach them again.
func (o openStack) close(shut bool) {
	for _, d := range o {
		d.close(shut)
	}
}

// haveAddress gives an address to the lab's network until the test ends.
func haveAddress(t *testing.T, ip string) {
	t.Helper()
	for _, verb := range []string{"replace", "del"} { // a test that was killed left it
		run := func() {
			if out, err := exec.CommandContext(context.WithoutCancel(t.Context()), "ip", "address", verb, ip+"/32", "dev", "lo").CombinedOutput(); err != nil {
				t.Errorf("ip address %s %s: %v: %s", verb, ip, err, out)
			}
		}
		if verb == "del" {
			t.Cleanup(run)
			continue
		}
		run()
	}
}

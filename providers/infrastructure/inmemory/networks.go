package inmemory

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"fairlead.dev/fleet"
)

// network is a Network with what is behind it.
type network struct {
	Network
	front   *frontend      // nil: its machines join a control plane that is elsewhere
	virtual bool           // its endpoint is what servers announce
	vms     map[string]*vm // that exist
	cluster *cluster       // nil until a machine initialised one
	deleted time.Time
}

// shown reports whether a listing has what was created and perhaps deleted.
func (c *Cloud) shown(created, deleted time.Time, lag time.Duration) bool {
	now := time.Now()
	return now.Sub(created) >= lag && (deleted.IsZero() || now.Sub(deleted) < lag)
}

// carries reports whether have has all of want.
func carries(have, want map[string]string) bool {
	for k, v := range want {
		if got, ok := have[k]; !ok || got != v {
			return false
		}
	}
	return true
}

// Networks implements API.
func (c *Cloud) Networks(ctx context.Context, tags map[string]string) ([]Network, error) {
	var out []Network
	err := c.list(ctx, "list load balancers", func() {
		for _, n := range c.owned.networks.among(c.networks, tags) {
			if carries(n.Tags, tags) && c.shown(n.Created, n.deleted, c.faults.Lag) {
				shown := n.Network
				shown.Pools = c.poolsOf(n)
				out = append(out, shown)
			}
		}
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(out, func(a, b Network) int {
		if d := a.Created.Compare(b.Created); d != 0 {
			return d
		}
		return strings.Compare(a.ID, b.ID)
	})
	return out, nil
}

// CreateNetwork implements API.
func (c *Cloud) CreateNetwork(ctx context.Context, s NetworkSpec) (Network, error) {
	op := "create load balancer " + s.Name
	var out Network
	err := c.change(ctx, op, func() error {
		n, err := c.newNetwork(op, s)
		if err != nil {
			return err
		}
		n.ID, n.Name, n.Tags, n.Created, n.vms = c.newID(), s.Name, maps.Clone(s.Tags), time.Now(), make(map[string]*vm)
		c.networks[n.ID] = n
		c.owned.networks.put(n.Tags, n.ID, n)
		c.showed(ownerOf(n.Tags))
		out = n.Network
		return nil
	})
	return out, err
}

// newNetwork returns one that leads to the API server.
func (c *Cloud) newNetwork(op string, s NetworkSpec) (*network, error) {
	if s.Elsewhere {
		return c.join(op, s)
	}
	l, at, err := c.open(op, s.Endpoint)
	if err != nil {
		return nil, err
	}
	n := &network{Network: Network{Endpoint: at}, front: newFrontend(l), virtual: s.VirtualIP}
	c.serves.Go(n.front.run)
	return n, nil
}

// showed tells the watchers of o now and when the lag is over.
func (c *Cloud) showed(o Owner) {
	c.changed(o)
	if c.faults.Lag > 0 {
		c.after(c.faults.Lag, func() { c.changed(o) })
	}
}

// DeleteNetwork implements API.
func (c *Cloud) DeleteNetwork(ctx context.Context, id string) error {
	op := "delete load balancer " + id
	return c.change(ctx, op, func() error {
		n, ok := c.networks[id]
		if !ok || !n.deleted.IsZero() {
			return &fleet.Error{Kind: fleet.NotFound, Op: op, Err: errNoSuch}
		}
		if len(n.vms) > 0 {
			return fleet.Errorf(fleet.Conflict, op, "409 Conflict: it has %d members", len(n.vms))
		}
		for _, p := range c.pools {
			if p.network == n {
				return fleet.Errorf(fleet.Conflict, op, "409 Conflict: it has pool %s", p.Name)
			}
		}
		n.deleted = time.Now()
		n.close()
		c.after(c.faults.Lag, func() {
			delete(c.networks, id)
			c.owned.networks.drop(n.Tags, id)
			c.changed(ownerOf(n.Tags))
		})
		c.changed(ownerOf(n.Tags))
		return nil
	})
}

var errNoSuch = errors.New("404 Not Found: no such resource")

// maxTries is how many addresses are tried before giving up: others on this
// computer may have taken some.
const maxTries = 256

// open listens at want, or at a free loopback address where it names no host.
func (c *Cloud) open(op string, want fleet.Endpoint) (net.Listener, fleet.Endpoint, error) {
	port := want.Port
	if port == 0 {
		port = defaultPort
	}
	if want.Host != "" {
		ip := net.ParseIP(want.Host)
		if !c.any && want.Host != "localhost" && (ip == nil || !ip.IsLoopback()) {
			return nil, want, fleet.Errorf(fleet.Invalid, op,
				"the control-plane endpoint %s is no loopback address: this cloud has no others", want.Host)
		}
		l, err := c.listen(address(want.Host, port))
		if err != nil {
			return nil, want, &fleet.Error{Kind: fleet.Conflict, Op: op, Err: err}
		}
		return l, fleet.Endpoint{Host: want.Host, Port: port}, nil
	}
	for range maxTries {
		host := c.nextAddress()
		l, err := c.listen(address(host, port))
		if errors.Is(err, syscall.EADDRINUSE) {
			continue
		}
		if err != nil {
			return nil, want, &fleet.Error{Kind: fleet.Unavailable, Op: op, Err: err}
		}
		return l, fleet.Endpoint{Host: host, Port: port}, nil
	}
	return nil, want, fleet.Errorf(fleet.Exhausted, op, "no loopback address has port %d free", port)
}

func address(host string, port int32) string {
	return net.JoinHostPort(host, strconv.Itoa(int(port)))
}

// nextAddress returns the next address of 127.1.0.0–127.254.255.255 that ends
// neither in 0 nor in 255. Each cloud begins at a random one.
func (c *Cloud) nextAddress() string {
	for {
		c.address++
		var b [4]byte
		binary.BigEndian.PutUint32(b[:], c.address)
		if b[1] != 0 && b[1] != 255 && b[3] != 0 && b[3] != 255 {
			return fmt.Sprintf("127.%d.%d.%d", b[1], b[2], b[3])
		}
	}
}

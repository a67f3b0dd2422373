package inmemory

import (
	"container/heap"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// CloudOptions are what a cloud is made with. The zero value is a cloud that
// behaves, on loopback addresses.
type CloudOptions struct {
	// ID is part of the provider ids; a random one where it is empty.
	ID     string
	Log    *slog.Logger // nil means none
	Faults Faults
	// Hook is called before and after each call of API, with the call as error
	// messages name it ("create server NAME"), and without any lock held: what
	// it does (cancel a context, panic, end the goroutine) is what a crash does.
	Hook func(call string, m Moment)
	// Listen opens the address of a load balancer, "127.1.2.3:6443"; nil means
	// net.Listen on TCP. A [PipeNetwork] needs no sockets.
	Listen func(address string) (net.Listener, error)
	// AnyHost lets load balancers have addresses that are no loopback addresses,
	// with a Listen that can open them.
	AnyHost bool
	// Hosts gives servers the provider ids of hosts, as MAAS does: the next server has the id of one that is gone.
	Hosts bool
}

// A Cloud is a cloud in memory. It is safe for concurrent use.
//
// What happens by itself (a machine runs, a node joins) is computed from
// timestamps when somebody looks, and by one timer for the next thing that is
// due. Its time is that of package time, so a Cloud made in a testing/synctest
// bubble lives in the bubble's time.
type Cloud struct {
	id     string
	log    *slog.Logger
	hook   func(string, Moment)
	listen func(string) (net.Listener, error)
	any    bool // host that a load balancer is asked to have
	hosts  bool // have the provider ids

	ctx    context.Context //nolint:containedctx // of everything that serves, until Close
	cancel context.CancelFunc
	serves sync.WaitGroup

	mu       sync.Mutex
	closed   bool
	faults   Faults
	limiter  *rate.Limiter
	networks map[string]*network
	planes   map[string]*plane // by address
	vms      map[string]*vm
	pools    map[string]*keptPool // that the cloud keeps
	owned    struct {
		vms      index[*vm]
		networks index[*network]
	}
	agenda   agenda
	timer    *time.Timer
	sequence uint64 // of everything made
	address  uint32 // the next one to try, of 127.0.0.0/8
	watchers map[*watcher]bool
}

var (
	_ API     = (*Cloud)(nil)
	_ Control = (*Cloud)(nil)
	_ Planes  = (*Cloud)(nil)
)

// NewCloud returns an empty cloud. Close it.
func NewCloud(o CloudOptions) *Cloud {
	var random [12]byte
	_, _ = rand.Read(random[:]) // never fails
	c := &Cloud{
		id: o.ID, log: o.Log, hook: o.Hook, listen: o.Listen, any: o.AnyHost, hosts: o.Hosts,
		faults:   o.Faults,
		limiter:  rate.NewLimiter(rate.Limit(o.Faults.RateLimit), max(1, int(o.Faults.RateLimit))),
		networks: make(map[string]*network),
		planes:   make(map[string]*plane),
		vms:      make(map[string]*vm),
		pools:    make(map[string]*keptPool),
		address:  binary.BigEndian.Uint32(random[8:]),
		watchers: make(map[*watcher]bool),
	}
	c.owned.vms, c.owned.networks = make(index[*vm]), make(index[*network])
	if c.id == "" {
		c.id = fmt.Sprintf("%x", random[:8])
	}
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	if c.listen == nil {
		c.listen = func(address string) (net.Listener, error) { return net.Listen("tcp", address) }
	}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.timer = time.AfterFunc(time.Hour, c.wake)
	c.timer.Stop()
	return c
}

// ID returns the cloud's id, the host part of its provider ids.
func (c *Cloud) ID() string { return c.id }

// Identify implements API.
func (c *Cloud) Identify(context.Context) (string, error) { return c.id, nil }

// Close stops everything that the cloud serves and waits for it.
func (c *Cloud) Close() {
	c.mu.Lock()
	c.closed = true
	c.timer.Stop()
	c.cancel()
	for _, n := range c.networks {
		if n.front != nil {
			n.front.Close()
		}
	}
	for _, p := range c.planes {
		p.net.front.Close()
	}
	c.mu.Unlock()
	c.serves.Wait()
}

// lock takes the lock and brings the cloud up to date.
func (c *Cloud) lock() {
	c.mu.Lock()
	c.advance()
}

// unlock does what became due at once, sets the timer and gives the lock back.
func (c *Cloud) unlock() {
	c.advance()
	if len(c.agenda) > 0 && !c.closed {
		c.timer.Reset(time.Until(c.agenda[0].at))
	} else {
		c.timer.Stop()
	}
	c.mu.Unlock()
}

func (c *Cloud) wake() {
	c.lock()
	c.unlock()
}

// advance does everything that is due.
func (c *Cloud) advance() {
	if c.closed {
		return
	}
	for len(c.agenda) > 0 && !c.agenda[0].at.After(time.Now()) {
		heap.Pop(&c.agenda).(entry).do()
	}
}

// after has do called with the lock held once d has passed.
func (c *Cloud) after(d time.Duration, do func()) {
	c.sequence++
	heap.Push(&c.agenda, entry{at: time.Now().Add(d), order: c.sequence, do: do})
}

// newID returns an id in the form of a UUID that no other thing of the cloud has.
func (c *Cloud) newID() string {
	c.sequence++
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%d", c.id, c.sequence))
	return fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}

// An agenda holds what is to happen, the next first.
type agenda []entry

type entry struct {
	at    time.Time
	order uint64 // keeps what is due at one time in order
	do    func()
}

func (a agenda) Len() int      { return len(a) }
func (a agenda) Swap(i, j int) { a[i], a[j] = a[j], a[i] }
func (a agenda) Less(i, j int) bool {
	if a[i].at.Equal(a[j].at) {
		return a[i].order < a[j].order
	}
	return a[i].at.Before(a[j].at)
}

// Push implements heap.Interface.
func (a *agenda) Push(x any) { *a = append(*a, x.(entry)) }

// Pop implements heap.Interface.
func (a *agenda) Pop() any {
	last := len(*a) - 1
	e := (*a)[last]
	(*a)[last] = entry{}
	*a = (*a)[:last]
	return e
}

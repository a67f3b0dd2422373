// Package limit bounds the concurrent calls to a place, and prevents that a place that does not
// answer delays calls to others. A place is an API of a provider: a cloud, a vCenter, an Ironic.
package limit

import (
	"context"
	"sync"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
)

// Options are the bounds, each for one place. Zero means none.
type Options struct {
	PerSecond float64 // calls begun in a second; as many may come at once
	InFlight  int     // calls at the same time
	// Passes are those at the same time over clusters of a place that is not known to answer.
	// Zero is for a process that makes none: it waits for each look, and no place is silent.
	Passes int
}

// A Provider queues calls. If the context of a call ends in the queue, the call was not sent: its
// error has the kind Unavailable.
//
// While a place does not answer, one observation at a time calls it, and all others get its last
// error immediately. This applies to providers that are a providers.Placer: clusters of other
// providers share the bounds only.
type Provider struct {
	p      providers.Infrastructure
	placer providers.Placer // nil: the places of clusters are not known
	o      Options

	looks sync.WaitGroup

	mu     sync.Mutex
	places map[string]*place
	known  map[fleet.Key]known
	swept  time.Time
}

// known is the place of a cluster, as it was found at a time.
type known struct {
	place string
	at    time.Time
}

const (
	// knownFor is how long the place of a cluster is taken to be what it was.
	knownFor = time.Minute
	// keptFor is after how long without a call a place is forgotten.
	keptFor = time.Hour
)

var _ providers.Infrastructure = (*Provider)(nil)

// New returns p with these bounds.
func New(p providers.Infrastructure, o Options) *Provider {
	return &Provider{
		p: p, placer: providers.AbilitiesOf(p).Placer, o: o,
		places: make(map[string]*place), known: make(map[fleet.Key]known), swept: time.Now(),
	}
}

// placeOf returns the place of c. Where it is not known, it has no name.
func (l *Provider) placeOf(ctx context.Context, c *fleet.Cluster) *place {
	if l.placer == nil || c == nil {
		return l.place(fleet.Key{})
	}
	l.mu.Lock()
	k, ok := l.known[c.Key]
	l.mu.Unlock()
	if !ok || time.Since(k.at) >= knownFor {
		name, err := l.placer.PlaceOf(ctx, c)
		if err != nil { // the call itself tells why
			return l.place(fleet.Key{})
		}
		l.mu.Lock()
		l.known[c.Key] = known{name, time.Now()}
		l.mu.Unlock()
	}
	return l.place(c.Key)
}

// place returns the place that the cluster called k is known to be in.
func (l *Provider) place(k fleet.Key) *place {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sweep()
	name := l.known[k].place
	if l.places[name] == nil {
		l.places[name] = newPlace(name, l.o)
	}
	return l.places[name]
}

// sweep forgets clusters that nothing was asked for lately, and places that have none. The
// caller holds mu.
func (l *Provider) sweep() {
	if time.Since(l.swept) < keptFor {
		return
	}
	l.swept = time.Now()
	named := make(map[string]bool)
	for k, at := range l.known {
		if time.Since(at.at) >= keptFor {
			delete(l.known, k)
			continue
		}
		named[at.place] = true
	}
	for name, p := range l.places {
		if !named[name] && p.idle() {
			delete(l.places, name)
		}
	}
}

// Abilities returns those of the provider inside, decorated.
func (l *Provider) Abilities() providers.Abilities {
	out := providers.AbilitiesOf(l.p).Through(func(ctx context.Context, u providers.Use, call func() error) error {
		return l.place(u.Cluster).do(ctx, u.Op, call)
	})
	if out.Closer != nil {
		out.Closer = closer{l, out.Closer}
	}
	return out
}

// A closer ends observations without a caller before it closes the provider inside.
type closer struct {
	l  *Provider
	in providers.Closer
}

// Close implements providers.Closer.
func (c closer) Close() {
	c.l.mu.Lock()
	for _, p := range c.l.places {
		p.cancel()
	}
	c.l.mu.Unlock()
	c.l.looks.Wait()
	c.in.Close()
}

// InFlight returns the number of calls in flight at the place with most of them, and their limit;
// 0 and 0 without a limit.
func (l *Provider) InFlight() (now, most int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range l.places {
		now = max(now, len(p.slots))
	}
	return now, l.o.InFlight
}

// Enter begins a reconciliation of c, which leave ends. It reports false if the place of c may not
// answer and enough reconciliations wait for it: c has to be reconciled later.
func (l *Provider) Enter(ctx context.Context, c *fleet.Cluster) (leave func(), ok bool) {
	return l.placeOf(ctx, c).enterPass()
}

// Observe implements providers.Infrastructure.
func (l *Provider) Observe(ctx context.Context, c *fleet.Cluster) (got fleet.Infrastructure, err error) {
	op, p := "observe "+c.Key.String(), l.placeOf(ctx, c)
	look := func(ctx context.Context) (got fleet.Infrastructure, err error) {
		err = p.do(ctx, op, func() error {
			got, err = l.p.Observe(ctx, c)
			return err
		})
		return got, err
	}
	if p.name == "" || l.o.Passes == 0 {
		return look(ctx)
	}
	return p.look(ctx, op, look, l.looks.Go)
}

// EnsureInfrastructure implements providers.Infrastructure.
func (l *Provider) EnsureInfrastructure(ctx context.Context, op fleet.OperationID, c *fleet.Cluster) error {
	return l.placeOf(ctx, c).do(ctx, "create infrastructure of "+c.Key.String(), func() error { return l.p.EnsureInfrastructure(ctx, op, c) })
}

// DeleteInfrastructure implements providers.Infrastructure.
func (l *Provider) DeleteInfrastructure(ctx context.Context, op fleet.OperationID, c *fleet.Cluster) error {
	return l.placeOf(ctx, c).do(ctx, "delete infrastructure of "+c.Key.String(), func() error { return l.p.DeleteInfrastructure(ctx, op, c) })
}

// CreateMachine implements providers.Infrastructure.
func (l *Provider) CreateMachine(ctx context.Context, op fleet.OperationID, r providers.MachineRequest) error {
	return l.placeOf(ctx, r.Cluster).do(ctx, "create machine "+string(r.Name), func() error { return l.p.CreateMachine(ctx, op, r) })
}

// DeleteMachine implements providers.Infrastructure.
func (l *Provider) DeleteMachine(ctx context.Context, op fleet.OperationID, c *fleet.Cluster, name fleet.MachineName, id fleet.ProviderID) error {
	return l.placeOf(ctx, c).do(ctx, "delete machine "+string(name), func() error { return l.p.DeleteMachine(ctx, op, c, name, id) })
}

// Settle implements providers.Infrastructure. The wait for a turn comes before
// the call and adds nothing to it.
func (l *Provider) Settle() time.Duration { return l.p.Settle() }

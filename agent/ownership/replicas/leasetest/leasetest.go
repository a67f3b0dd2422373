// Package leasetest is a Lease API in memory that misbehaves as a real one does:
// it is away, loses answers, and lets a request arrive long after its sender
// gave up.
package leasetest

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
)

// An API keeps the Leases of one namespace.
type API struct {
	mu      sync.Mutex
	version int
	leases  map[string]*coordinationv1.Lease
	writes  int
}

// New returns an API without Leases.
func New() *API { return &API{leases: make(map[string]*coordinationv1.Lease)} }

// Writes returns how many writes there were.
func (a *API) Writes() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.writes
}

// Lease returns a copy of the Lease called name, or nil.
func (a *API) Lease(name string) *coordinationv1.Lease {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.leases[name].DeepCopy()
}

// Holder returns who holds the Lease called name, or nothing.
func (a *API) Holder(name string) string {
	if l := a.Lease(name); l != nil && l.Spec.HolderIdentity != nil {
		return *l.Spec.HolderIdentity
	}
	return ""
}

// Remove removes a Lease, as kubectl does.
func (a *API) Remove(name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.leases, name)
}

// A Client is one process's connection to an API.
type Client struct {
	api *API

	mu     sync.Mutex
	faults Faults
}

// Faults are how a connection misbehaves.
type Faults struct {
	Away        bool          // nothing gets through
	LoseAnswers bool          // a write happens, and its sender hears of an error
	Slow        time.Duration // until the answer to a write arrives
	Late        time.Duration // until a write arrives; its sender gives up before
}

// Client returns a connection.
func (a *API) Client() *Client { return &Client{api: a} }

// Fail makes the connection misbehave.
func (c *Client) Fail(f Faults) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults = f
}

func (c *Client) failing() Faults {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.faults
}

// Leases implements coordinationv1client.LeasesGetter.
func (c *Client) Leases(namespace string) coordinationv1client.LeaseInterface {
	return leases{c: c, namespace: namespace}
}

type leases struct {
	coordinationv1client.LeaseInterface // what is not used is not there
	c                                   *Client
	namespace                           string
}

var (
	errAway = errors.New("dial tcp: connection refused")
	errLost = errors.New("unexpected EOF")
)

func resource() schema.GroupResource {
	return schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}
}

// Get implements coordinationv1client.LeaseInterface.
func (l leases) Get(ctx context.Context, name string, _ metav1.GetOptions) (*coordinationv1.Lease, error) {
	if err := l.read(ctx); err != nil {
		return nil, err
	}
	if lease := l.c.api.Lease(name); lease != nil {
		return lease, nil
	}
	return nil, apierrors.NewNotFound(resource(), name)
}

// Create implements coordinationv1client.LeaseInterface.
func (l leases) Create(ctx context.Context, lease *coordinationv1.Lease, _ metav1.CreateOptions) (*coordinationv1.Lease, error) {
	lease = lease.DeepCopy()
	return l.write(ctx, func(a *API) (*coordinationv1.Lease, error) {
		if a.leases[lease.Name] != nil {
			return nil, apierrors.NewAlreadyExists(resource(), lease.Name)
		}
		lease.Namespace, lease.UID = l.namespace, types.UID("uid-"+strconv.Itoa(a.version+1))
		return lease, nil
	})
}

// Update implements coordinationv1client.LeaseInterface.
func (l leases) Update(ctx context.Context, lease *coordinationv1.Lease, _ metav1.UpdateOptions) (*coordinationv1.Lease, error) {
	lease = lease.DeepCopy()
	return l.write(ctx, func(a *API) (*coordinationv1.Lease, error) {
		switch now := a.leases[lease.Name]; {
		case now == nil:
			return nil, apierrors.NewNotFound(resource(), lease.Name)
		case lease.ResourceVersion != "" && lease.ResourceVersion != now.ResourceVersion, lease.UID != "" && lease.UID != now.UID:
			return nil, apierrors.NewConflict(resource(), lease.Name, errors.New("the object has been modified"))
		}
		return lease, nil
	})
}

func (l leases) read(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if l.c.failing().Away {
		return errAway
	}
	return nil
}

// write makes change and stores what it returns.
func (l leases) write(ctx context.Context, change func(a *API) (*coordinationv1.Lease, error)) (*coordinationv1.Lease, error) {
	if err := l.read(ctx); err != nil {
		return nil, err
	}
	f := l.c.failing()
	if f.Late > 0 {
		done := make(chan struct{})
		time.AfterFunc(f.Late, func() {
			defer close(done)
			_, _ = l.c.api.store(change) // its sender will not hear of it
		})
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-done:
			return nil, errLost
		}
	}
	lease, err := l.c.api.store(change)
	if f.Slow > 0 {
		<-time.After(f.Slow)
	}
	if f.LoseAnswers {
		return nil, errLost
	}
	return lease, err
}

func (a *API) store(change func(a *API) (*coordinationv1.Lease, error)) (*coordinationv1.Lease, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	lease, err := change(a)
	if err != nil {
		return nil, err
	}
	a.version++
	a.writes++
	lease.ResourceVersion = strconv.Itoa(a.version)
	a.leases[lease.Name] = lease
	return lease.DeepCopy(), nil
}

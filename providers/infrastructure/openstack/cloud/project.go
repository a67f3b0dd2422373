package cloud

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/snapshot"
	"fairlead.dev/providers/transport"
)

// A Project is one project of one cloud, as one user. It is safe for concurrent
// use.
type Project struct {
	o         Options
	source    string
	login     login
	transport *transport.Transport
	endpoints *endpoints

	connecting chan struct{} // holds one: who connects
	mu         sync.Mutex
	provider   *gophercloud.ProviderClient // nil until connected
	id         string
	refused    error // of the last attempt to connect, until refusedUntil
	until      time.Time
	clients    map[service]*gophercloud.ServiceClient
	absent     map[service]bool
	catalogue  []tokens.CatalogEntry
	catalogued time.Time       // when the catalogue was read
	lacks      map[string]bool // see Lacks

	exclusive chan struct{} // holds one: see Exclusive
	snapshots *snapshot.Cache[*Snapshot]
	lookups   lookups
	members   memberCache
	faults    faultCache
	deleted   deletedServers
}

func newProject(o Options, c Credential, l login) *Project {
	base := o.Base
	if base == nil {
		t := http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert // the standard library's own
		t.TLSClientConfig, t.MaxIdleConnsPerHost = l.tls, 8
		base = t
	}
	at := newEndpoints()
	var sent func(transport.Call)
	if o.Observe != nil {
		sent = func(c transport.Call) { o.Observe(at.call(c)) }
	}
	p := &Project{
		o: o, source: c.From, login: l,
		transport: transport.New(transport.Options{Base: base, PerSecond: o.Rate, Sent: sent}), endpoints: at,
		connecting: make(chan struct{}, 1),
		clients:    make(map[service]*gophercloud.ServiceClient), absent: make(map[service]bool),
		lacks: make(map[string]bool), exclusive: make(chan struct{}, 1), faults: newFaultCache(),
		lookups: newLookups(), members: newMemberCache(), deleted: newDeletedServers(),
	}
	p.snapshots = snapshot.NewCache(o.Tick, "list what is in the project", p.list)
	return p
}

func (p *Project) close() { p.transport.CloseIdleConnections() }

// Region returns the region that the credential names; it may be empty.
func (p *Project) Region() string { return p.login.endpoint.Region }

// refusedFor is how long a refused credential is not tried again, so that many
// clusters that share it do not lock the account.
const refusedTTL = 10 * time.Second

// connect authenticates once.
func (p *Project) connect(ctx context.Context) (*gophercloud.ProviderClient, error) {
	select {
	case p.connecting <- struct{}{}:
		defer func() { <-p.connecting }()
	case <-ctx.Done():
		return nil, fleet.Errorf(fleet.Unavailable, "authenticate", "%w", ctx.Err())
	}
	p.mu.Lock()
	provider, refused, until := p.provider, p.refused, p.until
	p.mu.Unlock()
	if provider != nil {
		return provider, nil
	}
	if refused != nil && time.Now().Before(until) {
		return nil, refused
	}
	provider, id, err := p.authenticate(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		if fleet.KindOf(err) == fleet.Unauthorized {
			p.refused, p.until = err, time.Now().Add(refusedTTL)
		}
		return nil, err
	}
	p.provider, p.id, p.refused = provider, id, nil
	return provider, nil
}

func (p *Project) authenticate(ctx context.Context) (*gophercloud.ProviderClient, string, error) {
	op := "authenticate at " + origin(p.login.auth.IdentityEndpoint) + " with " + p.source
	client, err := openstack.NewClient(p.login.auth.IdentityEndpoint)
	if err != nil {
		return nil, "", fleet.Errorf(fleet.Unauthorized, op, "auth_url: %w", err)
	}
	client.HTTPClient = http.Client{Transport: p.transport, Timeout: p.o.Timeout}
	client.UserAgent.Prepend("fairlead")
	if err := openstack.Authenticate(ctx, client, p.login.auth); err != nil {
		err = WrapLook(op, err)
		if e, ok := errors.AsType[*fleet.Error](err); ok && (e.Kind == fleet.Unknown || e.Kind == fleet.Invalid || e.Kind == fleet.NotFound) {
			e.Kind = fleet.Unauthorized // what is wrong is in the credential
		}
		return nil, "", err
	}
	client.ReauthFunc = p.withoutRetry(client.ReauthFunc)
	p.useCatalogue(client) //nolint:contextcheck // gophercloud asks for endpoints without one
	project, err := projectOf(client.GetAuthResult())
	if err != nil {
		return nil, "", fleet.Errorf(fleet.Unauthorized, op, "%w", err)
	}
	return client, project, nil
}

// withoutRetry is renew for a credential that may have been withdrawn: refused, it is
// not tried again for a while.
func (p *Project) withoutRetry(renew func(context.Context) error) func(context.Context) error {
	if renew == nil {
		return nil
	}
	var refused error // guarded by p.mu, as until
	var until time.Time
	return func(ctx context.Context) error {
		p.mu.Lock()
		err, wait := refused, time.Now().Before(until)
		p.mu.Unlock()
		if wait {
			return err
		}
		if err = renew(ctx); err != nil && kindOf(err) == fleet.Unauthorized {
			p.mu.Lock()
			defer p.mu.Unlock()
			refused, until = err, time.Now().Add(refusedTTL)
		}
		return err
	}
}

func projectOf(r gophercloud.AuthResult) (string, error) {
	var project *tokens.Project
	var err error
	switch r := r.(type) {
	case tokens.CreateResult:
		project, err = r.ExtractProject()
	case tokens.GetResult:
		project, err = r.ExtractProject()
	}
	if err != nil {
		return "", err
	}
	if project == nil || project.ID == "" {
		return "", errors.New("the token is for no project (set project_id, or project_name with its domain)")
	}
	return project.ID, nil
}

// ID returns the id of the project.
func (p *Project) ID(ctx context.Context) (string, error) {
	if _, err := p.connect(ctx); err != nil {
		return "", err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.id, nil
}

// Name says for people which project this is: "project ID in REGION".
func (p *Project) Name(ctx context.Context) (string, error) {
	id, err := p.ID(ctx)
	if err != nil || p.Region() == "" {
		return id, err
	}
	return fmt.Sprintf("%s/%s", p.Region(), id), nil
}

// Same reports whether o is the same project, if as another user. A credential
// that names no region may be for the one that another names, and a cloud may have
// two addresses: where those differ, Nova's address counts.
func (p *Project) Same(ctx context.Context, o *Project) (bool, error) {
	if p == o {
		return true, nil
	}
	a, err := p.ID(ctx)
	if err != nil {
		return false, err
	}
	b, err := o.ID(ctx)
	if err != nil || a != b {
		return false, err
	}
	if origin(p.login.auth.IdentityEndpoint) == origin(o.login.auth.IdentityEndpoint) && p.Region() == o.Region() {
		return true, nil
	}
	c, err := p.Compute(ctx)
	if err != nil {
		return false, err
	}
	d, err := o.Compute(ctx)
	if err != nil {
		return false, err
	}
	return c.Endpoint == d.Endpoint, nil
}

// Exclusive gives the caller the right to choose among the things of the project, such
// as free addresses, until release is called. One caller has it at a time.
func (p *Project) Exclusive(ctx context.Context) (release func(), err error) {
	select {
	case p.exclusive <- struct{}{}:
		return func() { <-p.exclusive }, nil
	case <-ctx.Done():
		return nil, fleet.Errorf(fleet.Unavailable, "wait for others that choose in the project", "%w", ctx.Err())
	}
}

// Lacks notes that the cloud said it does not have what, so that nobody asks
// again: snapshots that are begun from now on say so.
func (p *Project) Lacks(what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lacks[what] = true
}

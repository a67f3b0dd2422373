package openstackauth

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/transport"
	"fairlead.dev/providers/driver/transport/logins"
)

// Options say how to reach clouds.
type Options struct {
	Rate    float64           // requests per second; zero or negative: no bound
	Timeout time.Duration     // of one request; zero: none
	Observe func(Call)        // called with each request; nil: no call
	Base    http.RoundTripper // instead of the network, in tests
}

// A Session is one project of one cloud, as one user. It is safe for concurrent use.
type Session struct {
	source    string
	login     login
	timeout   time.Duration
	transport *transport.Transport
	endpoints *endpoints

	connecting chan struct{} // holds one: who connects
	mu         sync.Mutex
	provider   *gophercloud.ProviderClient // nil until connected
	id         string
	gate       *logins.Gate // of attempts to connect
	clients    map[string]*gophercloud.ServiceClient
	absent     map[string]bool
	catalogue  []tokens.CatalogEntry
	catalogued time.Time // when the catalogue was read
}

// New returns the session of c. Nothing is asked of the cloud yet.
func New(c Credential, o Options) (*Session, error) {
	l, err := c.parse()
	if err != nil {
		return nil, err
	}
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
	return &Session{
		source: c.From, login: l, timeout: o.Timeout,
		transport: transport.New(transport.Options{Base: base, PerSecond: o.Rate, Sent: sent}), endpoints: at,
		connecting: make(chan struct{}, 1), gate: logins.NewGate(refusedTTL, refusedTTL),
		clients: make(map[string]*gophercloud.ServiceClient), absent: make(map[string]bool),
	}, nil
}

// Close closes idle connections.
func (s *Session) Close() { s.transport.CloseIdleConnections() }

// Region returns the region that the credential names; it may be empty.
func (s *Session) Region() string { return s.login.endpoint.Region }

// Origin returns scheme and host of Keystone.
func (s *Session) Origin() string { return origin(s.login.auth.IdentityEndpoint) }

// refusedTTL is how long a refused credential is not tried again, so that many
// clusters that share it do not lock the account.
const refusedTTL = 10 * time.Second

// connect authenticates once.
func (s *Session) connect(ctx context.Context) (*gophercloud.ProviderClient, error) {
	select {
	case s.connecting <- struct{}{}:
		defer func() { <-s.connecting }()
	case <-ctx.Done():
		return nil, fleet.Errorf(fleet.Unavailable, "authenticate", "%w", ctx.Err())
	}
	s.mu.Lock()
	provider := s.provider
	s.mu.Unlock()
	if provider != nil {
		return provider, nil
	}
	if err := s.gate.Enter(""); err != nil {
		return nil, err
	}
	provider, id, err := s.authenticate(ctx)
	if err != nil {
		if fleet.KindOf(err) == fleet.Unauthorized {
			s.gate.Refused("", err)
		}
		return nil, err
	}
	s.gate.Accepted()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.provider, s.id = provider, id
	return provider, nil
}

func (s *Session) authenticate(ctx context.Context) (*gophercloud.ProviderClient, string, error) {
	op := "authenticate at " + origin(s.login.auth.IdentityEndpoint) + " with " + s.source
	client, err := openstack.NewClient(s.login.auth.IdentityEndpoint)
	if err != nil {
		return nil, "", fleet.Errorf(fleet.Unauthorized, op, "auth_url: %w", err)
	}
	client.HTTPClient = http.Client{Transport: s.transport, Timeout: s.timeout}
	client.UserAgent.Prepend("fairlead")
	if err := openstack.Authenticate(ctx, client, s.login.auth); err != nil {
		err = WrapLook(op, err)
		if e, ok := errors.AsType[*fleet.Error](err); ok && (e.Kind == fleet.Unknown || e.Kind == fleet.Invalid || e.Kind == fleet.NotFound) {
			e.Kind = fleet.Unauthorized // what is wrong is in the credential
		}
		return nil, "", err
	}
	client.ReauthFunc = withoutRetry(client.ReauthFunc)
	s.useCatalogue(client) //nolint:contextcheck // gophercloud asks for endpoints without one
	project, err := projectOf(client.GetAuthResult())
	if err != nil {
		return nil, "", fleet.Errorf(fleet.Unauthorized, op, "%w", err)
	}
	return client, project, nil
}

// withoutRetry is renew for a credential that may have been withdrawn: refused, it is
// not tried again for a while.
func withoutRetry(renew func(context.Context) error) func(context.Context) error {
	if renew == nil {
		return nil
	}
	gate := logins.NewGate(refusedTTL, refusedTTL)
	return func(ctx context.Context) error {
		err := gate.Enter("")
		if err != nil {
			return err
		}
		if err = renew(ctx); err != nil && kindOf(err) == fleet.Unauthorized {
			gate.Refused("", err)
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
func (s *Session) ID(ctx context.Context) (string, error) {
	if _, err := s.connect(ctx); err != nil {
		return "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.id, nil
}

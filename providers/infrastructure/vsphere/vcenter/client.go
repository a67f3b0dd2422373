package vcenter

import (
	"cmp"
	"context"
	"crypto/tls"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"

	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/driver/transport"
	"fairlead.dev/providers/driver/transport/logins"
)

// The defaults of Options.
const (
	DefaultTick    = 10 * time.Second
	DefaultRate    = 20
	DefaultTimeout = 2 * time.Minute
)

// Options say how to reach vCenters. Zero values mean the defaults.
type Options struct {
	Rate    float64       `setting:"rate" usage:"requests per second to a vCenter"` // as one user
	Timeout time.Duration // of one request
	Tick    time.Duration `setting:"tick" usage:"maximum age of cached vCenter data, as a 'duration'; clusters of that vCenter share the cache"`
	Observe func(Call)    // called for each request, from any goroutine; may be nil
	Log     *slog.Logger

	// Ours reports whether the instance UUID of a VM without tags may be one that Fairlead gave
	// it: somebody may have wiped the tags. Nil: none is.
	Ours func(instanceUUID string) bool

	// Wrap stands before the network, in tests.
	Wrap func(http.RoundTripper) http.RoundTripper
}

// A Client is one vCenter as one user. It is safe for concurrent use.
type Client struct {
	credential Credential
	at         *url.URL
	o          Options
	login      *logins.Gate
	base       *transport.Transport

	connecting chan struct{} // holds one: who connects
	mu         sync.Mutex
	vim        *vim25.Client // nil until connected
	session    uint64        // counts logins; 0: there was none
	ahead      time.Duration // that the clock of vCenter is of the one here
	key        string        // id of the last session
	opened     bool          // there is a session to end
	restful    *rest.Client  // nil until it is needed
	known      map[Ref]identity
	latest     *Look         // the last that was whole
	next       chan struct{} // closed by the next
	waiting    bool          // vCenter will tell changes of what latest shows
	changing   map[Ref]Ref   // the last task that changes a cluster, by cluster
	clusters   chan struct{} // holds one: who asks for such a change

	looks       *snapshot.Cache[*Look]
	inventories *snapshot.Cache[*Inventory]
	policies    *snapshot.Cache[map[string][]string] // ids by name
	groups      map[Ref]*snapshot.Cache[*Groups]     // by cluster; guarded by mu
	asked       asked                                // tasks that this process asked for
	page        int32                                // objects that one answer has at most
	poll        time.Duration                        // how long vCenter holds back an answer that nothing changed
}

// open returns the client of c. Nothing is asked of vCenter yet.
func open(c Credential, o Options, login *logins.Gate) (*Client, error) {
	at, err := c.parse()
	if err != nil {
		return nil, err
	}
	o.Rate, o.Timeout, o.Tick = cmp.Or(o.Rate, DefaultRate), cmp.Or(o.Timeout, DefaultTimeout), cmp.Or(o.Tick, DefaultTick)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	plain := http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert // the standard library's own
	plain.TLSClientConfig, plain.MaxIdleConnsPerHost, plain.ForceAttemptHTTP2 = c.tlsConfig(), 8, false
	plain.TLSNextProto = map[string]func(string, *tls.Conn) http.RoundTripper{} // HTTP 1.1, as govmomi
	var base http.RoundTripper = plain
	if o.Wrap != nil {
		base = o.Wrap(base)
	}
	client := &Client{
		credential: c, at: at, o: o, login: login,
		base:       transport.New(transport.Options{Base: &told{base: base, observe: o.Observe}, PerSecond: o.Rate}),
		connecting: make(chan struct{}, 1), clusters: make(chan struct{}, 1), changing: make(map[Ref]Ref), groups: make(map[Ref]*snapshot.Cache[*Groups]), next: make(chan struct{}), page: 1000, poll: longestPoll,
	}
	client.looks = snapshot.NewCache(o.Tick, "list the virtual machines of vCenter "+c.Server, client.look)
	client.inventories = snapshot.NewCache(inventoryAge, "list the inventory of vCenter "+c.Server, client.listInventory)
	client.policies = snapshot.NewCache(policiesAge, "list the storage policies of vCenter "+c.Server, client.listPolicies)
	return client, nil
}

// Server returns the vCenter as the credential names it.
func (c *Client) Server() string { return c.credential.Server }

// User returns who asks vCenter, as the credential names it.
func (c *Client) User() string { return c.credential.User }

// String names c in messages.
func (c *Client) String() string { return "vCenter " + c.credential.Server }

// soapClient returns a client of one of vCenter's services that speak SOAP.
func (c *Client) soapClient() *soap.Client {
	s := soap.NewClient(c.at, false)
	s.Client.Transport = answers{c.base}
	s.UserAgent = "fairlead"
	return s
}

// conn connects where there is no session, and returns what speaks to vCenter.
func (c *Client) conn(ctx context.Context) (*vim25.Client, error) {
	c.mu.Lock()
	vim, session, opened := c.vim, c.session, c.opened
	c.mu.Unlock()
	if opened {
		return vim, nil
	}
	if err := c.connect(ctx, session); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.vim, nil
}

// Now returns the time by the clock of vCenter, which says when VMs were powered on, and which is the
// same to all agents. Until there is a session it is that of this computer.
func (c *Client) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.ahead)
}

// InstanceUUID returns the instance UUID of the vCenter, which is the same at all its addresses.
func (c *Client) InstanceUUID(ctx context.Context) (string, error) {
	vim, err := c.conn(ctx)
	if err != nil {
		return "", err
	}
	return vim.ServiceContent.About.InstanceUuid, nil
}

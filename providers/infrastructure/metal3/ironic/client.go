package ironic

import (
	"context"
	"net/http"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/baremetal/httpbasic"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/transport"
)

// Microversion is that of Ironic's API which is spoken: Ironic 21.3 (2023.1) has it. It has
// config drives as JSON (1.56), the health of hosts' power as faults (1.42), automated_clean
// (1.47), and what inspection found (1.81).
// Source: Ironic, REST API version history.
const Microversion = "1.81"

// The bounds of requests.
const (
	defaultTimeout = time.Minute // Ironic waits that long for its own lock of a node
	pageSize       = 1000        // Ironic's own bound
)

// Options say how to ask. Zero values mean the defaults.
type Options struct {
	Rate    float64              `setting:"rate" usage:"requests per second to an Ironic"` // no bound by default
	Timeout time.Duration        // of one request; default a minute
	Sent    func(transport.Call) // called for each request; may be nil
}

// A Client asks one Ironic as one account. It is safe for concurrent use.
type Client struct {
	service   *gophercloud.ServiceClient
	transport *transport.Transport
}

// New returns a client. Nothing is asked yet.
func New(c Credential, o Options) (*Client, error) {
	const op = "use Ironic's credential"
	base, err := transport.Trusting(c.CA)
	if err != nil {
		return nil, fleet.Errorf(fleet.Unauthorized, op, "%w", err)
	}
	service, err := httpbasic.NewBareMetalHTTPBasic(httpbasic.EndpointOpts{IronicEndpoint: c.Endpoint, IronicUser: c.Username, IronicUserPassword: c.Password})
	if err != nil {
		return nil, fleet.Errorf(fleet.Unauthorized, op, "%w", err)
	}
	t := transport.New(transport.Options{Base: base, PerSecond: o.Rate, Sent: o.Sent})
	if o.Timeout == 0 {
		o.Timeout = defaultTimeout
	}
	service.HTTPClient = http.Client{
		Transport: t, Timeout: o.Timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	service.UserAgent.Prepend("fairlead")
	service.Microversion = Microversion
	return &Client{service: service, transport: t}, nil
}

// Close closes idle connections.
func (c *Client) Close() { c.transport.CloseIdleConnections() }

// Check asks whether Ironic is there, is new enough, and takes the account.
func (c *Client) Check(ctx context.Context) error {
	_, err := c.page(ctx, "", 1)
	return WrapLook("reach Ironic at "+c.service.Endpoint, err)
}

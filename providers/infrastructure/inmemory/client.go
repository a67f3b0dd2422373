package inmemory

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
)

// A Client is a cloud in another process.
type Client struct {
	base      string
	http      *http.Client
	requested func(providers.Request) // nil: no call
}

var (
	_ API     = (*Client)(nil)
	_ Control = (*Client)(nil)
	_ Planes  = (*Client)(nil)
	_ Pools   = (*Client)(nil)
)

// Dial returns a client of the cloud that [Handler] serves at base, "http://127.0.0.1:7000".
// It connects when it is used.
func Dial(base string) (*Client, error) {
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" || u.Host == "" {
		return nil, fleet.Errorf(fleet.Invalid, "reach the cloud", "%q is no http URL", base)
	}
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.Proxy = nil
	t.MaxIdleConnsPerHost = 64
	return &Client{base: strings.TrimSuffix(base, "/"), http: &http.Client{Transport: t}}, nil
}

// Close ends the connections that are not in use.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// callTimeout is when a call without an answer is given up.
const callTimeout = 30 * time.Second

// post makes one call. An answer that did not come is of kind Unanswered where
// the request may have arrived, and of kind Unavailable where it cannot have.
func post[Out any](ctx context.Context, c *Client, path string, in any) (Out, error) {
	var out Out
	op := "call " + path
	body, err := json.Marshal(in)
	if err != nil {
		return out, fleet.Errorf(fleet.Invalid, op, "%w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	var sent atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { sent.Store(true) }})
	unanswered := func(err error) error {
		if sent.Load() && !strings.HasSuffix(path, "/list") {
			return &fleet.Error{Kind: fleet.Unanswered, Op: op, Err: err}
		}
		return &fleet.Error{Kind: fleet.Unavailable, Op: op, Err: err}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+"/v1/"+path, bytes.NewReader(body))
	if err != nil {
		return out, fleet.Errorf(fleet.Invalid, op, "%w", err)
	}
	began := time.Now()
	resp, err := c.http.Do(req)
	c.tell(path, resp, time.Since(began))
	if err != nil {
		return out, unanswered(err)
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return out, unanswered(err)
	}
	if resp.StatusCode == http.StatusOK {
		if err := json.Unmarshal(data, &out); err != nil {
			return out, unanswered(err)
		}
		return out, nil
	}
	var fail failure
	if err := json.Unmarshal(data, &fail); err != nil || fail.Kind == "" {
		if resp.StatusCode == http.StatusNotFound { // nothing is served there: the call reached no cloud
			return out, fleet.Errorf(fleet.NotFound, op, "%s: %.200s", resp.Status, data)
		}
		return out, unanswered(fmt.Errorf("%s: %.200s", resp.Status, data))
	}
	return out, &fleet.Error{Kind: fail.Kind, Op: fail.Op, Err: errors.New(fail.Message)}
}

// tell tells of a request and its answer, nil for none.
func (c *Client) tell(path string, resp *http.Response, took time.Duration) {
	if c.requested == nil {
		return
	}
	service, _, _ := strings.Cut(path, "/")
	r := providers.Request{Service: service, Method: http.MethodPost, Took: took}
	if resp != nil {
		r.Status = resp.StatusCode
	}
	c.requested(r)
}

// Identify implements API. It asks each time: another cloud may be served there.
func (c *Client) Identify(ctx context.Context) (string, error) {
	id, err := post[string](ctx, c, "identity/get", nothing{})
	if fleet.KindOf(err) == fleet.NotFound {
		return "", nil
	}
	return id, err
}

// Networks implements API.
func (c *Client) Networks(ctx context.Context, tags map[string]string) ([]Network, error) {
	return post[[]Network](ctx, c, "networks/list", filter{tags})
}

// CreateNetwork implements API.
func (c *Client) CreateNetwork(ctx context.Context, s NetworkSpec) (Network, error) {
	return post[Network](ctx, c, "networks/create", s)
}

// DeleteNetwork implements API.
func (c *Client) DeleteNetwork(ctx context.Context, id string) error {
	return c.act(ctx, "networks/delete", reference{id})
}

// VMs implements API.
func (c *Client) VMs(ctx context.Context, tags map[string]string) ([]VM, error) {
	return post[[]VM](ctx, c, "vms/list", filter{tags})
}

// CreateVM implements API.
func (c *Client) CreateVM(ctx context.Context, s VMSpec) (VM, error) {
	return post[VM](ctx, c, "vms/create", s)
}

// DeleteVM implements API.
func (c *Client) DeleteVM(ctx context.Context, id string) error {
	return c.act(ctx, "vms/delete", reference{id})
}

// StopVM implements Control.
func (c *Client) StopVM(ctx context.Context, id string) error {
	return c.act(ctx, "vms/stop", reference{id})
}

// StartVM implements Control.
func (c *Client) StartVM(ctx context.Context, id string) error {
	return c.act(ctx, "vms/start", reference{id})
}

// Faults implements Control.
func (c *Client) Faults(ctx context.Context) (Faults, error) {
	return post[Faults](ctx, c, "faults/get", nothing{})
}

// SetFaults implements Control.
func (c *Client) SetFaults(ctx context.Context, f Faults) error {
	return c.act(ctx, "faults/set", f)
}

// Planes implements Planes.
func (c *Client) Planes(ctx context.Context) ([]Plane, error) {
	return post[[]Plane](ctx, c, "planes/list", nothing{})
}

// CreatePlane implements Planes.
func (c *Client) CreatePlane(ctx context.Context, s PlaneSpec) (Plane, error) {
	return post[Plane](ctx, c, "planes/create", s)
}

// SetPlane implements Planes.
func (c *Client) SetPlane(ctx context.Context, p Plane) error { return c.act(ctx, "planes/set", p) }

// CreatePool implements Pools.
func (c *Client) CreatePool(ctx context.Context, s PoolSpec) (Pool, error) {
	return post[Pool](ctx, c, "pools/create", s)
}

// UpdatePool implements Pools.
func (c *Client) UpdatePool(ctx context.Context, s PoolUpdate) (Pool, error) {
	return post[Pool](ctx, c, "pools/update", s)
}

// DeletePool implements Pools.
func (c *Client) DeletePool(ctx context.Context, id string) error {
	return c.act(ctx, "pools/delete", reference{id})
}

// ScalePool implements Pools.
func (c *Client) ScalePool(ctx context.Context, id string, count int) error {
	return c.act(ctx, "pools/scale", scale{id, count})
}

func (c *Client) act(ctx context.Context, path string, in any) error {
	_, err := post[nothing](ctx, c, path, in)
	return err
}

// reconnectAfter is how long a Watch waits before it connects again.
const reconnectAfter = time.Second

// Watch implements API. It connects again when the connection is lost; what
// changes meanwhile is not told.
func (c *Client) Watch(ctx context.Context, changed func(Owner)) error {
	retry := time.NewTimer(0)
	defer retry.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-retry.C:
		}
		c.watch(ctx, changed)
		retry.Reset(reconnectAfter)
	}
}

// watch follows one connection to its end.
func (c *Client) watch(ctx context.Context, changed func(Owner)) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+"/v1/watch", nil)
	if err != nil {
		return
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return
	}
	defer func() { _ = resp.Body.Close() }()
	dec := json.NewDecoder(resp.Body)
	for {
		var o Owner
		if dec.Decode(&o) != nil {
			return
		}
		changed(o)
	}
}

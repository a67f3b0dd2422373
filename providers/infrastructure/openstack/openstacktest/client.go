package openstacktest

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"syscall"
)

// URL is where a [Client] finds its cloud.
const URL = "http://openstack.test"

// A Call is one request that was made.
type Call struct {
	N       int    // counted from 1
	Service string // type in the catalogue
	Method  string
	Path    string // below the service's version
	Query   string
	Status  int // of the answer; 0 where none was given
}

// Changes reports whether the call may change something. Getting a token does
// not.
func (c Call) Changes() bool {
	return c.Method != http.MethodGet && c.Method != http.MethodHead && c.Service != "identity"
}

// callLog remembers calls.
type callLog struct {
	mu    sync.Mutex
	calls []Call
}

func (l *callLog) add(c Call) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c.N = len(l.calls) + 1
	l.calls = append(l.calls, c)
	return c.N
}

func (l *callLog) done(n, status int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n <= len(l.calls) {
		l.calls[n-1].Status = status
	}
}

func (l *callLog) all() []Call {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.calls)
}

// Calls returns all calls that reached the cloud, in order.
func (c *Cloud) Calls() []Call { return c.log.all() }

// ForgetCalls empties what Calls returns. No call may be under way.
func (c *Cloud) ForgetCalls() {
	c.log.mu.Lock()
	defer c.log.mu.Unlock()
	c.log.calls = nil
}

// A Client is a way into a cloud without sockets: the connections of one
// program. It answers any host name. It is safe for concurrent use.
type Client struct {
	cloud *Cloud
	log   callLog

	mu      sync.Mutex
	dieAt   int
	changes bool // dieAt counts only calls that change something
	moment  Moment
	dead    bool
}

var _ http.RoundTripper = (*Client)(nil)

// Client returns a new client.
func (c *Cloud) Client() *Client { return &Client{cloud: c} }

// DieAt lets the program behind the client die at its nth call from now on,
// counted from 1 and without calls for tokens: before the call did anything, or
// after it did all. From then on every call fails.
func (cl *Client) DieAt(n int, m Moment) {
	cl.mu.Lock()
	defer cl.mu.Unlock()
	cl.dieAt, cl.changes, cl.moment = n, false, m
}

// DieAtChange is DieAt with only those calls counted that change something.
func (cl *Client) DieAtChange(n int, m Moment) {
	cl.mu.Lock()
	defer cl.mu.Unlock()
	cl.dieAt, cl.changes, cl.moment = n, true, m
}

// Dead reports whether the program died.
func (cl *Client) Dead() bool {
	cl.mu.Lock()
	defer cl.mu.Unlock()
	return cl.dead
}

// Calls returns the client's calls, in order.
func (cl *Client) Calls() []Call { return cl.log.all() }

// The errors of connections that fail.
var (
	errRefused = &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	errReset   = &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}
)

// RoundTrip implements http.RoundTripper.
func (cl *Client) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := req.Context().Err(); err != nil {
		return nil, err
	}
	kind, path := cl.cloud.locate(req.URL.Path)
	call := Call{Service: kind, Method: req.Method, Path: path, Query: req.URL.RawQuery}
	alive, last := cl.next(call)
	if !alive {
		return nil, errRefused
	}
	n := cl.log.add(call)
	if last && cl.moment == Before {
		return nil, errReset
	}
	res, err := cl.cloud.serve(req)
	switch {
	case last:
		return nil, errReset
	case req.Context().Err() != nil:
		return nil, req.Context().Err()
	case err != nil:
		return nil, err
	}
	cl.log.done(n, res.StatusCode)
	return res, nil
}

// next counts a call. last says that the program dies at it.
func (cl *Client) next(c Call) (alive, last bool) {
	cl.mu.Lock()
	defer cl.mu.Unlock()
	if cl.dead {
		return false, false
	}
	if cl.dieAt > 0 && c.Service != "identity" && (c.Changes() || !cl.changes) {
		cl.dieAt--
		cl.dead = cl.dieAt == 0
	}
	return true, cl.dead
}

// serve answers a request without sockets.
func (c *Cloud) serve(req *http.Request) (res *http.Response, err error) {
	in := req.Clone(req.Context())
	if in.Host == "" {
		in.Host = req.URL.Host
	}
	var body []byte
	if req.Body != nil {
		body, err = io.ReadAll(req.Body)
		if err = errors.Join(err, req.Body.Close()); err != nil {
			return nil, err
		}
	}
	in.Body = io.NopCloser(bytes.NewReader(body))
	defer func() {
		if x := recover(); x != nil {
			if e, ok := x.(error); !ok || !errors.Is(e, http.ErrAbortHandler) {
				panic(x)
			}
			res, err = nil, errReset
		}
	}()
	rec := httptest.NewRecorder()
	c.ServeHTTP(rec, in)
	res = rec.Result()
	res.Request = req
	return res, nil
}

// Package workload reaches into workload clusters through their API servers: nodes,
// drain, resources and watches. What is of a cluster's distribution is asked through a
// Conn.
//
// It keeps one HTTP/2 connection per cluster, and no caches: an observation is
// a few selective lists, a watch is one stream that says when to look again.
package workload

import (
	"context"
	"crypto/sha256"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"fairlead.dev/fleet"
	"fairlead.dev/fleet/documents"
	"fairlead.dev/providers"
	"fairlead.dev/providers/workload/bearer"
)

// Options are what a client is made of.
type Options struct {
	Log     *slog.Logger     // nil means none
	Timeout time.Duration    // of one call; 0 means 15 s
	Now     func() time.Time // nil means time.Now
	// Dial connects to API servers; nil means TCP.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Proxy says which proxy leads to an API server whose kubeconfig names none; nil
	// means the one of the environment.
	Proxy func(*http.Request) (*url.URL, error)
}

const (
	defaultTimeout = 15 * time.Second
	dialTimeout    = 5 * time.Second
	idleTimeout    = 90 * time.Second
	// pingEvery finds connections that broke in silence, under a watch above all.
	pingEvery   = 30 * time.Second
	pingTimeout = 15 * time.Second
)

// A Client is a providers.Workload.
type Client struct {
	o Options

	mu    sync.Mutex
	conns map[fleet.Key]*conn
	wg    sync.WaitGroup // of watches
}

var _ providers.Workload = (*Client)(nil)

// New returns a client that knows no cluster yet.
func New(o Options) *Client {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Timeout == 0 {
		o.Timeout = defaultTimeout
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Dial == nil {
		o.Dial = (&net.Dialer{Timeout: dialTimeout}).DialContext
	}
	if o.Proxy == nil {
		o.Proxy = http.ProxyFromEnvironment
	}
	return &Client{o: o, conns: make(map[fleet.Key]*conn)}
}

// A conn is what is kept for one cluster and one kubeconfig.
type conn struct {
	digest    [sha256.Size]byte // of the kubeconfig
	bearer    *bearer.Transport // nil: the kubeconfig has a credential
	config    *rest.Config
	transport *http.Transport
	rest      *rest.RESTClient // of the core API
	expires   atomic.Int64     // when the certificate does that the API server showed last, in seconds since 1970
	clock     clock            // of the API server

	mu      sync.Mutex
	blocked map[podID]string // why the last eviction of a pod was refused
	unseen  map[string]bool  // draining Nodes that the last look had no time for
	kept    io.Closer        // by a distribution
	watch   *nodeWatch
}

// conn returns what is kept for a's cluster. Another kubeconfig than the last
// one makes all of it again, but for a watch, which goes on with the new one.
func (c *Client) conn(a providers.Access) (*conn, error) {
	digest := sha256.Sum256(a.Kubeconfig.Reveal())
	c.mu.Lock()
	defer c.mu.Unlock()
	old := c.conns[a.Cluster]
	if old != nil && old.digest == digest && (old.bearer == nil) == (a.Tokens == nil) {
		if old.bearer != nil {
			old.bearer.Use(a.Tokens)
		}
		return old, nil
	}
	n, err := newConn(a, c.o)
	if err != nil {
		return nil, err
	}
	n.digest = digest
	if old != nil {
		n.watch = old.close()
		if n.watch != nil {
			n.watch.use(n)
		}
	}
	c.conns[a.Cluster] = n
	return n, nil
}

func newConn(a providers.Access, o Options) (*conn, error) {
	op := "reach cluster " + a.Cluster.String()
	kubeconfig, err := documents.Plain(a.Kubeconfig.Reveal(), documents.DefaultLimits())
	if err != nil {
		return nil, fleet.Errorf(fleet.Invalid, op, "kubeconfig: %w", err)
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	if err != nil {
		return nil, fleet.Errorf(fleet.Invalid, op, "kubeconfig: %w", err)
	}
	// A kubeconfig may name programs to run: it comes from a store, not from
	// the person who runs this.
	config.ExecProvider, config.AuthProvider = nil, nil
	config.ContentType, config.AcceptContentTypes = "application/json", "application/json"
	config.APIPath, config.GroupVersion = "/api", &corev1.SchemeGroupVersion
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	config.UserAgent = "fairlead"
	config.Dial = o.Dial
	config.QPS = -1 // the reconciler bounds what runs at once
	tlsConfig, err := rest.TLSConfigFor(config)
	if err != nil {
		return nil, fleet.Errorf(fleet.Invalid, op, "kubeconfig: %w", err)
	}
	transport := &http.Transport{
		Proxy:               o.Proxy,
		DialContext:         o.Dial,
		TLSClientConfig:     tlsConfig,
		TLSHandshakeTimeout: dialTimeout,
		IdleConnTimeout:     idleTimeout,
		ForceAttemptHTTP2:   true,
		HTTP2:               &http.HTTP2Config{SendPingTimeout: pingEvery, PingTimeout: pingTimeout},
	}
	if config.Proxy != nil {
		transport.Proxy = config.Proxy
	}
	n := &conn{config: config, transport: transport, blocked: make(map[podID]string)}
	var sends http.RoundTripper = noting{transport, &n.expires, &n.clock, o.Now}
	if a.Tokens != nil {
		n.bearer = bearer.New(sends, a.Tokens, o.Now)
		sends = n.bearer
	}
	rt, err := rest.HTTPWrappersForConfig(config, sends)
	if err != nil {
		return nil, fleet.Errorf(fleet.Invalid, op, "kubeconfig: %w", err)
	}
	n.rest, err = rest.RESTClientForConfigAndClient(config, &http.Client{Transport: rt})
	if err != nil {
		return nil, fleet.Errorf(fleet.Invalid, op, "kubeconfig: %w", err)
	}
	return n, nil
}

// noting is a transport that notes when the certificate of the other side
// expires, how its clock differs, and whether a change was sent.
type noting struct {
	*http.Transport
	expires *atomic.Int64
	clock   *clock
	now     func() time.Time
}

// RoundTrip implements http.RoundTripper.
func (n noting) RoundTrip(r *http.Request) (*http.Response, error) {
	if changes(r.Method) {
		r = r.WithContext(Changing(r.Context()))
	}
	resp, err := n.Transport.RoundTrip(r)
	if err == nil {
		n.clock.read(resp.Header, n.now())
	}
	if err == nil && resp.TLS != nil && len(resp.TLS.PeerCertificates) > 0 {
		n.expires.Store(resp.TLS.PeerCertificates[0].NotAfter.Unix())
	}
	return resp, err
}

// close ends the connections and returns the watch that was on them.
func (n *conn) close() *nodeWatch {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.kept != nil {
		_ = n.kept.Close() // it closes connections that may be broken
		n.kept = nil
	}
	n.transport.CloseIdleConnections()
	w := n.watch
	n.watch = nil
	return w
}

// Forget implements providers.Workload. It does not wait for calls that run.
func (c *Client) Forget(k fleet.Key) {
	c.mu.Lock()
	n := c.conns[k]
	delete(c.conns, k)
	c.mu.Unlock()
	if n == nil {
		return
	}
	if w := n.close(); w != nil {
		w.cancel()
	}
}

// Close forgets all clusters and waits for their watches to end.
func (c *Client) Close() {
	c.mu.Lock()
	var keys []fleet.Key
	for k := range c.conns {
		keys = append(keys, k)
	}
	c.mu.Unlock()
	for _, k := range keys {
		c.Forget(k)
	}
	c.wg.Wait()
}

// call runs f against a's cluster, bounded in time, and classifies its error.
func (c *Client) call(ctx context.Context, a providers.Access, op string, f func(ctx context.Context, n *conn) error) error {
	n, err := c.conn(a)
	if err != nil {
		return err
	}
	bounded, cancel := context.WithTimeout(ctx, c.o.Timeout)
	defer cancel()
	bounded, sent := noteSent(bounded)
	err = f(bounded, n)
	if err != nil && bounded.Err() != nil && ctx.Err() == nil {
		c.leave(a.Cluster, n)
	}
	return sent.classify(op+" of cluster "+a.Cluster.String(), err)
}

// leave has the next call connect again. Behind n is one API server, of maybe
// several: it may have lost its etcd, and answer pings and nothing else.
func (c *Client) leave(k fleet.Key, n *conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conns[k] == n {
		n.digest = [sha256.Size]byte{} // of no kubeconfig
	}
}

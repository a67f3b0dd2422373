package workload

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	upgrade "k8s.io/apimachinery/pkg/util/httpstream/spdy"
	"k8s.io/apimachinery/pkg/util/portforward"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/streaming/pkg/httpstream"
)

// ErrTunnel is what every failure of a tunnel to a pod is: nothing answers there.
var ErrTunnel = errors.New("port-forward failed")

// dialPod connects to a port of a pod through the API server, with SPDY: every
// version of Kubernetes serves that, and WebSocket only from 1.31 on. The tunnel
// lasts as long as the connection. SPDY knows no context once it is connected, and
// an API server may accept a connection and answer nothing: what is given up, or
// takes longer than any dial may, is closed below it.
func (n *conn) dialPod(ctx context.Context, pod string, port int) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(untraced{ctx}, dialTimeout) //nolint:contextcheck // untraced is ctx without its values
	defer cancel()
	keep := func() bool { return true }
	upgrader, err := upgrade.NewRoundTripperWithConfig(upgrade.RoundTripperConfig{
		PingPeriod: pingEvery,
		UpgradeTransport: &http.Transport{
			TLSClientConfig: n.transport.TLSClientConfig,
			DialContext: func(dialing context.Context, network, address string) (net.Conn, error) {
				c, err := n.dial(dialing, network, address)
				if err == nil {
					keep = context.AfterFunc(ctx, func() { _ = c.Close() })
				}
				return c, err
			},
		},
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrTunnel, err)
	}
	transport, err := rest.HTTPWrappersForConfig(n.config, upgrader)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrTunnel, err)
	}
	url := n.rest.Post().Resource("pods").Namespace(metav1.NamespaceSystem).
		Name(pod).SubResource("portforward").URL()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url.String(), nil)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrTunnel, err)
	}
	tunnel, _, err := spdy.NegotiateStreaming(upgrader, &http.Client{Transport: transport}, req, portforward.PortForwardV1Name)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrTunnel, cmp.Or(ctx.Err(), err))
	}
	c, err := forward(tunnel, port)
	if !keep() {
		err = ctx.Err()
	}
	if err != nil {
		_ = tunnel.Close()
		return nil, fmt.Errorf("%w: %w", ErrTunnel, err)
	}
	return c, nil
}

// forward opens the streams to port in tunnel.
func forward(tunnel httpstream.Connection, port int) (net.Conn, error) {
	headers := http.Header{}
	headers.Set(corev1.StreamType, corev1.StreamTypeError)
	headers.Set(corev1.PortHeader, strconv.Itoa(port))
	headers.Set(corev1.PortForwardRequestIDHeader, "0")
	failure, err := tunnel.CreateStream(headers)
	if err != nil {
		return nil, err
	}
	_ = failure.Close() // nothing is written to it
	headers.Set(corev1.StreamType, corev1.StreamTypeData)
	data, err := tunnel.CreateStream(headers)
	if err != nil {
		return nil, err
	}
	c := &tunnelConn{Stream: data, tunnel: tunnel, failed: make(chan struct{})}
	go c.watch(failure)
	return c, nil
}

// A tunnelConn is one connection through its own tunnel.
type tunnelConn struct {
	httpstream.Stream
	tunnel httpstream.Connection
	once   sync.Once
	failed chan struct{} // closed once reason is set
	reason error
}

// watch waits for the error, or its absence, that ends every forwarded
// connection.
func (c *tunnelConn) watch(failure io.Reader) {
	message, err := io.ReadAll(failure)
	if len(message) > 0 {
		err = errors.New(string(message))
	}
	if err != nil {
		c.reason = fmt.Errorf("%w: %w", ErrTunnel, err)
	}
	close(c.failed)
	if c.reason != nil {
		_ = c.Close()
	}
}

// Read implements net.Conn. An end that the other side gave a reason for is
// that error.
func (c *tunnelConn) Read(p []byte) (int, error) {
	n, err := c.Stream.Read(p)
	if err == nil {
		return n, nil
	}
	select {
	case <-c.failed:
		if c.reason != nil {
			return n, c.reason
		}
	case <-c.tunnel.CloseChan():
	}
	return n, err
}

// Close implements net.Conn.
func (c *tunnelConn) Close() error {
	var err error
	c.once.Do(func() { err = c.tunnel.Close() })
	return err
}

type tunnelAddr struct{}

func (tunnelAddr) Network() string { return "portforward" }
func (tunnelAddr) String() string  { return "portforward" }

// LocalAddr implements net.Conn.
func (*tunnelConn) LocalAddr() net.Addr { return tunnelAddr{} }

// RemoteAddr implements net.Conn.
func (*tunnelConn) RemoteAddr() net.Addr { return tunnelAddr{} }

// Streams have no deadlines: contexts end the requests that use them.

// SetDeadline implements net.Conn.
func (*tunnelConn) SetDeadline(time.Time) error { return nil }

// SetReadDeadline implements net.Conn.
func (*tunnelConn) SetReadDeadline(time.Time) error { return nil }

// SetWriteDeadline implements net.Conn.
func (*tunnelConn) SetWriteDeadline(time.Time) error { return nil }

package workload

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"net/url"

	"golang.org/x/net/proxy"
)

// dial connects to the API server at address. It goes through the proxy that requests
// to the API server go through: a tunnel has a connection of its own, which
// http.Transport does not make.
func (n *conn) dial(ctx context.Context, network, address string) (net.Conn, error) {
	server, err := n.transport.Proxy(&http.Request{URL: &url.URL{Scheme: "https", Host: address}})
	if err != nil {
		return nil, err
	}
	if server == nil {
		return n.transport.DialContext(ctx, network, address)
	}
	c, err := n.dialProxy(ctx, server, network, address)
	if err != nil {
		return nil, fmt.Errorf("proxy %s: %w", server.Redacted(), err)
	}
	return c, nil
}

func (n *conn) dialProxy(ctx context.Context, server *url.URL, network, address string) (net.Conn, error) {
	switch server.Scheme {
	case "http", "https":
		return n.connect(ctx, server, network, address)
	case "socks5", "socks5h":
		d, err := proxy.FromURL(server, dialer(n.transport.DialContext))
		if err != nil {
			return nil, err
		}
		return d.(proxy.ContextDialer).DialContext(ctx, network, address)
	}
	return nil, fmt.Errorf("%s is no scheme of a proxy: use http, https or socks5", server.Scheme)
}

// connect asks the HTTP proxy server for a connection to address.
// Source: RFC 9110, section 9.3.6.
func (n *conn) connect(ctx context.Context, server *url.URL, network, address string) (_ net.Conn, err error) {
	port := server.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[server.Scheme]
	}
	c, err := n.transport.DialContext(ctx, network, net.JoinHostPort(server.Hostname(), port))
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	defer func() {
		if !stop() {
			err = ctx.Err()
		}
		if err != nil {
			_ = c.Close()
		}
	}()
	if server.Scheme == "https" {
		c = tls.Client(c, &tls.Config{ServerName: server.Hostname(), MinVersion: tls.VersionTLS12})
	}
	req := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: address}, Host: address, Header: http.Header{}}
	if u := server.User; u != nil {
		password, _ := u.Password()
		req.Header.Set("Proxy-Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(u.Username()+":"+password)))
	}
	if err := req.Write(c); err != nil {
		return nil, err
	}
	answer := bufio.NewReader(c)
	res, err := http.ReadResponse(answer, req) //nolint:bodyclose // what follows is the connection, and closing would read it
	switch {
	case err != nil:
		return nil, err
	case res.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("it answered %s to CONNECT %s", res.Status, address)
	case answer.Buffered() > 0:
		return nil, fmt.Errorf("it sent more than its answer to CONNECT %s", address)
	}
	return c, nil
}

// A dialer is a function that connects, as what connects.
type dialer func(ctx context.Context, network, address string) (net.Conn, error)

func (d dialer) Dial(network, address string) (net.Conn, error) {
	return d(context.Background(), network, address)
}

func (d dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	return d(ctx, network, address)
}

// Package haproxy writes the configuration of HAProxy for the API servers of a
// cluster. It passes TCP on: certificates stay between client and API server.
package haproxy

import (
	"bytes"
	_ "embed"
	"fmt"
	"net"
	"net/netip"
	"strconv"
)

// A Balancer is one port in front of API servers.
type Balancer struct {
	Address string // that clients connect to, an IP address or a name
	Port    int32
	Servers []Server
}

// A Server is one API server.
type Server struct {
	Name    string // letters, digits, and "-._:"
	Address string // IP address or name
	Port    int32
}

//go:embed haproxy.cfg
var head string

// Config returns the configuration of b, for HAProxy 2.2 and later: the same b, the
// same bytes.
func (b Balancer) Config() []byte {
	var out bytes.Buffer
	out.WriteString(head)
	bind := fmt.Sprintf("*:%d", b.Port)
	if ip, err := netip.ParseAddr(b.Address); err == nil && ip.Is6() {
		bind = fmt.Sprintf(":::%d v4v6", b.Port)
	}
	fmt.Fprintf(&out, "\tbind %s\n", bind)
	for _, s := range b.Servers {
		fmt.Fprintf(&out, "\tserver %s %s\n", s.Name, net.JoinHostPort(s.Address, strconv.Itoa(int(s.Port))))
	}
	return out.Bytes()
}

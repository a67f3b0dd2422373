// Package haproxy writes the configuration of HAProxy for the API servers of a
// cluster. It passes TCP on: certificates stay between client and API server.
package haproxy

import (
	"bytes"
	_ "embed"
	"fmt"
	"net"
	"net/netip"
	"regexp"
	"strconv"
)

// A Balancer is one port in front of API servers.
type Balancer struct {
	Address string // that clients connect to, an IP address or a name
	Port    int32
	Servers []Server
	More    []int32 // ports of the servers beside that of the API, which clients connect to as well
}

// A Server is one API server.
type Server struct {
	Name    string // letters, digits, and "-._"
	Address string // IP address or name
	Port    int32
}

//go:embed haproxy.cfg
var head string

// more is a section for another port, whose servers answer it with TLS where they are up.
const more = `
listen port-%d
	mode tcp
	balance leastconn
	timeout connect 2s
	timeout client 4h
	timeout server 4h
	option clitcpka
	option srvtcpka
	retries 3
	option redispatch 1
	timeout check 5s
	default-server check check-ssl verify none inter 2s fall 2 rise 1 on-marked-down shutdown-sessions init-addr last,libc,none
	bind %s
`

// A line of the configuration that holds anything else could become two.
var (
	plainName    = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,252}$`)
	plainAddress = regexp.MustCompile(`^[A-Za-z0-9:][A-Za-z0-9.:-]{0,252}$`)
)

func (s *Server) check() error {
	switch {
	case !plainName.MatchString(s.Name):
		return fmt.Errorf("%.80q cannot be the name of a server", s.Name)
	case !plainAddress.MatchString(s.Address):
		return fmt.Errorf("%.80q cannot be the address of server %s", s.Address, s.Name)
	case s.Port < 1 || s.Port > 65535:
		return fmt.Errorf("%d cannot be the port of server %s", s.Port, s.Name)
	}
	return nil
}

// Config returns the configuration of b, for HAProxy 2.2 and later: the same b, the
// same bytes. It refuses names and addresses that could be more than that.
func (b Balancer) Config() ([]byte, error) {
	var out bytes.Buffer
	out.WriteString(head)
	bind := fmt.Sprintf("*:%d", b.Port)
	if ip, err := netip.ParseAddr(b.Address); err == nil && ip.Is6() {
		bind = fmt.Sprintf(":::%d v4v6", b.Port)
	}
	fmt.Fprintf(&out, "\tbind %s\n", bind)
	for _, p := range b.More {
		if p < 1 || p > 65535 {
			return nil, fmt.Errorf("%d cannot be a port of servers", p)
		}
	}
	named := make(map[string]bool)
	for _, s := range b.Servers {
		if err := s.check(); err != nil {
			return nil, err
		}
		if named[s.Name] {
			return nil, fmt.Errorf("two servers are called %s", s.Name)
		}
		named[s.Name] = true
		fmt.Fprintf(&out, "\tserver %s %s\n", s.Name, net.JoinHostPort(s.Address, strconv.Itoa(int(s.Port))))
	}
	for _, p := range b.More {
		b.section(&out, p)
	}
	return out.Bytes(), nil
}

// section writes the section for another port of the servers.
func (b Balancer) section(out *bytes.Buffer, port int32) {
	bind := fmt.Sprintf("*:%d", port)
	if ip, err := netip.ParseAddr(b.Address); err == nil && ip.Is6() {
		bind = fmt.Sprintf(":::%d v4v6", port)
	}
	fmt.Fprintf(out, more, port, bind)
	for _, s := range b.Servers {
		fmt.Fprintf(out, "\tserver %s %s\n", s.Name, net.JoinHostPort(s.Address, strconv.Itoa(int(port))))
	}
}

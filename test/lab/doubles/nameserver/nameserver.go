// Package nameserver answers questions for names by DNS, with addresses of IPv4.
package nameserver

import (
	"context"
	"net"
	"net/netip"
	"strings"

	"golang.org/x/net/dns/dnsmessage"
)

// Serve answers at c until ctx ends. lookup returns the addresses of a name, which is in lower case and has no dot
// at its end, for how many seconds an answer may be kept, and whether there is such a name.
func Serve(ctx context.Context, c net.PacketConn, lookup func(name string) (addresses []string, ttl uint32, ok bool)) error {
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	defer stop()
	buffer := make([]byte, 4096)
	for {
		n, from, err := c.ReadFrom(buffer)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		if out := answer(buffer[:n], lookup); out != nil {
			_, _ = c.WriteTo(out, from) // who asks asks again
		}
	}
}

// answer returns the answer to a question; nil: it is none.
func answer(packet []byte, lookup func(string) ([]string, uint32, bool)) []byte {
	var p dnsmessage.Parser
	h, err := p.Start(packet)
	if err != nil || h.Response {
		return nil
	}
	q, err := p.Question()
	if err != nil {
		return nil
	}
	addresses, ttl, ok := lookup(strings.ToLower(strings.TrimSuffix(q.Name.String(), ".")))
	out := dnsmessage.Message{
		Header:    dnsmessage.Header{ID: h.ID, Response: true, Authoritative: true, RecursionDesired: h.RecursionDesired, RecursionAvailable: true},
		Questions: []dnsmessage.Question{q},
	}
	if !ok {
		out.RCode = dnsmessage.RCodeNameError
	}
	if q.Type == dnsmessage.TypeA {
		for _, s := range addresses {
			if ip, err := netip.ParseAddr(s); err == nil && ip.Is4() {
				out.Answers = append(out.Answers, dnsmessage.Resource{
					Header: dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class, TTL: ttl}, Body: &dnsmessage.AResource{A: ip.As4()},
				})
			}
		}
	}
	packed, err := out.Pack()
	if err != nil {
		return nil
	}
	return packed
}

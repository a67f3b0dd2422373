package maastest

import (
	"context"
	"net"
	"net/netip"
	"strings"

	"golang.org/x/net/dns/dnsmessage"
)

// nameTTL is the TTL of answers of ServeNames, in seconds: CAPMAAS asks MAAS for the same.
const nameTTL = 10

// ServeNames answers questions for names of the region by DNS at c until ctx ends, with addresses of
// IPv4. Other names do not exist.
func (r *Region) ServeNames(ctx context.Context, c net.PacketConn) error {
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
		if out := r.resolve(buffer[:n]); out != nil {
			_, _ = c.WriteTo(out, from) // who asks asks again
		}
	}
}

// resolve returns the answer to a question; nil: it is none.
func (r *Region) resolve(packet []byte) []byte {
	var p dnsmessage.Parser
	h, err := p.Start(packet)
	if err != nil || h.Response {
		return nil
	}
	q, err := p.Question()
	if err != nil {
		return nil
	}
	addresses, _, ok := r.Lookup(strings.ToLower(strings.TrimSuffix(q.Name.String(), ".")))
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
					Header: dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class, TTL: nameTTL}, Body: &dnsmessage.AResource{A: ip.As4()},
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

package maastest

import (
	"context"
	"net"

	"fairlead.dev/test/lab/doubles/nameserver"
)

// nameTTL is the TTL of answers of ServeNames, in seconds: CAPMAAS asks MAAS for the same.
const nameTTL = 10

// ServeNames answers questions for names of the region by DNS at c until ctx ends, with addresses of
// IPv4. Other names do not exist.
func (r *Region) ServeNames(ctx context.Context, c net.PacketConn) error {
	return nameserver.Serve(ctx, c, func(name string) ([]string, uint32, bool) {
		addresses, _, ok := r.Lookup(name)
		return addresses, nameTTL, ok
	})
}

package conformance

import (
	"fmt"
	"testing"
	"time"

	"fairlead.dev/fleet"
)

// certificatesLive is how long certificates of machines do, and soon when it is time to
// know that they end.
const (
	certificatesLive = 365 * 24 * time.Hour
	soon             = 60 * 24 * time.Hour
)

// expiryIsSeen: when the certificates on a server expire is seen two months before, and the
// end of new ones once it has them. The clock is that of a bubble: no test waits for it.
func expiryIsSeen(t testing.TB, o DistributionOptions) {
	if o.Around == nil {
		t.Skip("it takes a year")
	}
	p := newPlane(t, o)
	p.servers(1)
	made := time.Now()
	wait(t, certificatesLive-soon)
	p.until("it is seen that certificates expire", func() string {
		if at := p.expiry("s-0"); at.Before(made.Add(certificatesLive-24*time.Hour)) || at.After(made.Add(certificatesLive+24*time.Hour)) {
			return fmt.Sprintf("at %s, and machines are of %s", at, made)
		}
		return ""
	})
	p.server("s-1")
	p.until("it is seen that those of a new machine do not", func() string {
		if at := p.expiry("s-1"); !at.IsZero() && at.Before(time.Now().Add(certificatesLive-24*time.Hour)) {
			return at.String()
		}
		return ""
	})
}

// expiry returns when the certificates of the server on a Node expire; zero: not known, or
// not soon.
func (p *plane) expiry(node string) time.Time {
	p.t.Helper()
	a := p.access()
	a.Certificates = true
	w, err := p.w.Workload.Observe(p.t.Context(), a)
	if err == nil {
		err = p.w.Distribution.Observe(p.t.Context(), a, &w)
	}
	if err != nil {
		return time.Time{}
	}
	for _, n := range w.Nodes {
		if n.Name == node && !n.CertificatesNotAfter.IsZero() {
			return n.CertificatesNotAfter
		}
	}
	return expiryOf(w.Servers, node)
}

func expiryOf(servers []fleet.Server, node string) time.Time {
	for _, s := range servers {
		if s.Node == node {
			return s.CertificatesNotAfter
		}
	}
	return time.Time{}
}

// Package guests brings VMs of a double of Azure to life: one that runs is a machine of the Kubernetes lab.
//
//	g, err := guests.New(l, log)
//	cloud := azuretest.New(azuretest.Options{Place: g.Place})
//	err = g.Serve(ctx, cloud)
//
// cloud-init reads custom data from the file that is on a new VM's medium, asks the metadata service, and reports to the wire
// server; the VM is created then. A load balancer listens at its addresses, public or private, and leads to servers whose
// probe succeeds. Azure Resource Manager and its login are at their own names, with a certificate of Authority. Package
// instances has what is the same in other clouds.
package guests

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"fairlead.dev/providers/infrastructure/azure/azuretest"
	"fairlead.dev/test/lab/doubles/azure/front"
	"fairlead.dev/test/lab/doubles/instances"
	"fairlead.dev/test/lab/kubernetes/lab"
)

// wireAddress is that of the wire server.
const wireAddress = "168.63.129.16"

// Guests are the machines of VMs.
type Guests struct {
	*instances.Machines
	certificate tls.Certificate
}

// New switches the machines of l off. log is called with what is done.
func New(l *lab.Lab, log func(string)) (*Guests, error) {
	m, err := instances.New(l, log)
	if err != nil {
		return nil, err
	}
	c, err := front.Certificate()
	return &Guests{m, c}, err
}

// Authority returns the CA certificate, in PEM, by which clients know Azure Resource Manager.
func (g *Guests) Authority() []byte { return front.Authority(g.certificate) }

// Serve follows c until ctx ends, and leaves machines unchanged then.
func (g *Guests) Serve(ctx context.Context, c *azuretest.Cloud) error {
	at, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort(lab.Gateway, "443"))
	if err != nil {
		return err
	}
	manager := &http.Server{Handler: c, ReadHeaderTimeout: time.Minute, TLSConfig: &tls.Config{Certificates: []tls.Certificate{g.certificate}, MinVersion: tls.VersionTLS12}}
	served := make(chan error, 1)
	go func() { served <- manager.ServeTLS(at, "", "") }()
	err = g.Machines.Serve(ctx, &subscription{c: c, probes: make(map[string]*probe)}, map[string]http.Handler{
		instances.MetadataAddress: http.HandlerFunc(c.ServeMetadata), wireAddress: http.HandlerFunc(c.ServeWire),
	})
	err = errors.Join(err, manager.Close())
	if end := <-served; !errors.Is(end, http.ErrServerClosed) {
		err = errors.Join(err, end)
	}
	return err
}

// A subscription is what machines follow.
type subscription struct {
	c *azuretest.Cloud

	mu     sync.Mutex
	probes map[string]*probe // by their URL
}

var _ instances.Cloud = (*subscription)(nil)

// Instances implements instances.Cloud.
func (s *subscription) Instances() (out []instances.Instance) {
	for _, g := range s.c.Guests() {
		out = append(out, instances.Instance(g))
	}
	return out
}

// Seed implements instances.Cloud.
func (s *subscription) Seed(m *lab.Machine, i instances.Instance) error {
	medium, ok := s.c.Medium(i.ID)
	if !ok {
		return fmt.Errorf("VM %s is gone", i.Name)
	}
	return m.SeedAzure(i.ID, medium)
}

// Balancers implements instances.Cloud: each address is one.
func (s *subscription) Balancers() (out []instances.Balancer) {
	for _, f := range s.c.Frontends() {
		out = append(out, instances.Balancer{ID: f.ID, Name: f.ID[strings.LastIndexByte(f.ID, '/')+1:], Address: f.Address, Ports: f.Ports})
	}
	return out
}

// Targets implements instances.Cloud.
func (s *subscription) Targets(ctx context.Context, balancer, port string) (out []netip.AddrPort) {
	for _, t := range s.c.Targets(balancer, port) {
		if t.Probe == "" || s.probe(t.Probe).succeeds(ctx, t.Probe, time.Duration(t.Interval)*time.Second) {
			out = append(out, t.AddrPort)
		}
	}
	return out
}

// Lookup implements instances.Cloud.
func (s *subscription) Lookup(name string) (string, bool) {
	if slices.Contains(front.Names(), name) {
		return lab.Gateway, true
	}
	return s.c.Lookup(name)
}

// A probe is what a load balancer knows of a server.
type probe struct {
	mu sync.Mutex
	at time.Time
	ok bool
}

func (s *subscription) probe(url string) *probe {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.probes[url] = cmp.Or(s.probes[url], new(probe))
	return s.probes[url]
}

// answering is how long a server may take to answer a probe.
const answering = 2 * time.Second

// succeeds reports whether the server answered its last probe well, which is not older than the interval.
// Source: Azure documentation, "Azure Load Balancer health probes": one probe decides.
func (p *probe) succeeds(ctx context.Context, url string, interval time.Duration) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Since(p.at) < interval {
		return p.ok
	}
	p.ok = answers(ctx, url)
	p.at = time.Now()
	return p.ok
}

func answers(ctx context.Context, url string) bool {
	client := http.Client{Timeout: answering, Transport: &http.Transport{
		DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // probes do not check certificates
	}}
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false
	}
	res, err := client.Do(q)
	if err != nil {
		return false
	}
	return res.Body.Close() == nil && res.StatusCode == http.StatusOK
}

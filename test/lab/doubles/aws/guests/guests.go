// Package guests brings instances of a double of EC2 to life: one that runs is a machine of the Kubernetes lab.
//
//	g, err := guests.New(l, log)
//	cloud := awstest.New(awstest.Options{Place: g.Place})
//	err = g.Serve(ctx, cloud)
//
// cloud-init reads metadata and user data from the metadata service, at the address that it has on EC2. Network load
// balancers listen. Package instances has what is the same in other clouds.
package guests

import (
	"context"
	"net/http"
	"net/netip"

	"fairlead.dev/providers/infrastructure/aws/awstest"
	"fairlead.dev/test/lab/doubles/instances"
	"fairlead.dev/test/lab/kubernetes/lab"
)

// Guests are the machines of instances.
type Guests struct{ *instances.Machines }

// New switches the machines of l off. log is called with what is done.
func New(l *lab.Lab, log func(string)) (*Guests, error) {
	m, err := instances.New(l, log)
	return &Guests{m}, err
}

// Serve follows c until ctx ends, and leaves machines unchanged then.
func (g *Guests) Serve(ctx context.Context, c *awstest.Cloud) error {
	return g.Machines.Serve(ctx, account{c}, map[string]http.Handler{instances.MetadataAddress: http.HandlerFunc(c.ServeMetadata)})
}

// An account is what machines follow.
type account struct{ c *awstest.Cloud }

var _ instances.Cloud = account{}

// Instances implements instances.Cloud.
func (a account) Instances() (out []instances.Instance) {
	for _, t := range a.c.Things(awstest.Instances) {
		if t.Attr["state"] != "terminated" {
			out = append(out, instances.Instance{ID: t.ID, Name: t.ID, Address: t.Attr["privateIpAddress"], Runs: t.Attr["state"] == "running"})
		}
	}
	return out
}

// Seed implements instances.Cloud.
func (account) Seed(m *lab.Machine, _ instances.Instance) error { return m.SeedEC2() }

// Balancers implements instances.Cloud.
func (a account) Balancers() (out []instances.Balancer) {
	listeners := a.c.Things(awstest.Listeners)
	for _, t := range a.c.Things(awstest.Balancers) {
		if t.Attr["state"] != "active" {
			continue
		}
		b := instances.Balancer{ID: t.ID, Name: t.Attr["name"], DNS: t.Attr["dns"]}
		for _, l := range listeners {
			if l.Attr["balancer"] == t.ID {
				b.Ports = append(b.Ports, l.Attr["port"])
			}
		}
		out = append(out, b)
	}
	return out
}

// Targets implements instances.Cloud.
func (a account) Targets(_ context.Context, balancer, port string) []netip.AddrPort {
	return a.c.Targets(balancer, port)
}

// Lookup implements instances.Cloud: instances have names.
func (a account) Lookup(name string) (string, bool) {
	for _, i := range a.Instances() {
		if name == a.c.HostName(i.Address) {
			return i.Address, true
		}
	}
	return "", false
}

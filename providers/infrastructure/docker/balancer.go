package docker

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver"
	"fairlead.dev/providers/driver/endpoint"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/infrastructure/docker/engine"
)

// configFile is where the image has its configuration of HAProxy.
const configFile = "usr/local/etc/haproxy/haproxy.cfg"

const (
	defaultAPIPort = 6443
	serverMark     = "  server "
)

// config returns the configuration of HAProxy for servers, which are "name address" and sorted.
func config(port int32, servers []string) string {
	out := fmt.Sprintf("global\n  maxconn 8000\ndefaults\n  mode tcp\n  timeout connect 5s\n  timeout client 50s\n  timeout server 50s\n  default-server init-addr none\n"+
		"frontend api\n  bind *:%d\n  default_backend servers\nbackend servers\n  option httpchk GET /healthz\n", port)
	for _, s := range servers {
		name, address, _ := strings.Cut(s, " ")
		out += fmt.Sprintf("%s%s %s:%d check check-ssl verify none\n", serverMark, name, address, port)
	}
	return out
}

// configOf reads the configuration of a load balancer back; empty: it has none yet.
func (p *Provider) configOf(ctx context.Context, id string) (string, error) {
	files, err := p.client.Read(ctx, id, "/"+configFile)
	return string(files["haproxy.cfg"]), err
}

func (o *observation) port() int32 {
	return cmp.Or(endpoint.Wanted(o.cluster).Port, o.spec.ControlPlaneEndpoint.Port, defaultAPIPort)
}

// servers returns those behind the endpoint, without the one called leaving.
func (o *observation) servers(leaving fleet.MachineName) (out []string) {
	for _, b := range o.boxes {
		if m := &b.machine; m.Name != leaving && m.Damaged == "" && endpoint.Leads(m) && len(m.Addresses) > 0 {
			out = append(out, string(m.Name)+" "+m.Addresses[0])
		}
	}
	slices.Sort(out)
	return out
}

// endpoint returns the endpoint, and why it is not ready.
func (o *observation) endpoint() (fleet.Endpoint, string) {
	e := endpoint.Wanted(o.cluster)
	e.Port = o.port()
	switch {
	case o.cluster.ServedElsewhere():
		return e, ""
	case o.spec.LoadBalancer.Disable:
		e.Host = cmp.Or(e.Host, o.spec.ControlPlaneEndpoint.Host)
		return e, ""
	case len(o.balancers) == 0:
		return e, "the load balancer is not there"
	}
	b := &o.balancers[0]
	addresses := b.Addresses()
	switch {
	case len(addresses) == 0:
		return e, "the load balancer " + b.Name() + " has no address: it is " + string(b.State)
	case e.Host != "" && e.Host != addresses[0]:
		return e, fmt.Sprintf("the load balancer %s has the address %s, and machines know %s. The addresses of containers changed, and Fairlead cannot change those that machines know: recreate the cluster", b.Name(), addresses[0], e.Host)
	}
	e.Host = addresses[0]
	return e, ""
}

// balance says what is to be changed of the load balancer; empty: nothing is.
func (o *observation) balance() string {
	for _, b := range o.balancers {
		switch {
		case b.State != container.StateRunning:
			return "start the load balancer " + b.Name()
		case o.configs[b.ID] != config(o.port(), o.servers("")):
			return "update the servers of the load balancer " + b.Name()
		}
	}
	return ""
}

// EnsureInfrastructure implements providers.Infrastructure.
func (p *Provider) EnsureInfrastructure(ctx context.Context, _ fleet.OperationID, c *fleet.Cluster) error {
	op := "ensure infrastructure of " + c.Key.String()
	got, err := p.look(ctx, c, snapshot.OwnerOf(c))
	if err != nil {
		return engine.WrapLook(op, err)
	}
	errs := driver.Step(ctx, keeper{p, got}, got.boxes)
	switch {
	case got.spec.LoadBalancer.Disable || c.ServedElsewhere():
		p.found.Note(snapshot.OwnerOf(c), true)
	case len(got.balancers) == 0:
		errs = append(errs, p.createBalancer(ctx, got))
	case got.balance() != "":
		errs = append(errs, p.write(ctx, got, ""))
	}
	return engine.Wrap(op, fleet.JoinErrors(errs...))
}

// createBalancer creates the load balancer.
func (p *Provider) createBalancer(ctx context.Context, o *observation) error {
	const op = "create the load balancer"
	l := o.spec.LoadBalancer
	image := l.ImageRepository + "/haproxy:" + l.ImageTag
	if err := p.haveImage(ctx, op, snapshot.OwnerOf(o.cluster), image); err != nil {
		return err
	}
	if err := p.client.EnsureNetwork(ctx, p.o.Network); err != nil {
		return engine.Wrap(op, err)
	}
	defer p.listings.Changed(snapshot.OwnerOf(o.cluster))
	labels := o.cluster.Tags()
	labels[labelPart] = endpointPart
	port, _ := network.PortFrom(uint16(o.port()), network.TCP) // validation bounds ports
	id, err := p.client.Create(ctx, containerName(o.cluster, "lb"),
		&container.Config{Image: image, Labels: labels, ExposedPorts: network.PortSet{port: {}}},
		&container.HostConfig{NetworkMode: container.NetworkMode(p.o.Network), PortBindings: network.PortMap{port: {{HostIP: netip.MustParseAddr("127.0.0.1")}}}})
	if err == nil {
		err = p.writeConfig(ctx, id, config(o.port(), nil))
	}
	if err == nil {
		err = p.client.Start(ctx, id)
	}
	return engine.Wrap(op, err)
}

func (p *Provider) writeConfig(ctx context.Context, id, text string) error {
	return p.client.Write(ctx, id, []engine.File{{Path: configFile, Mode: 0o644, Content: []byte(text)}})
}

// write brings load balancers up to date, without the server called leaving.
func (p *Provider) write(ctx context.Context, o *observation, leaving fleet.MachineName) error {
	for _, b := range o.balancers {
		defer p.listings.Changed(snapshot.OwnerOf(o.cluster))
		text := config(o.port(), o.servers(leaving))
		var err error
		if o.configs[b.ID] != text {
			if err = p.writeConfig(ctx, b.ID, text); err == nil && b.State == container.StateRunning {
				err = p.client.Kill(ctx, b.ID, "HUP")
			}
		}
		if err == nil && b.State != container.StateRunning {
			err = p.client.Start(ctx, b.ID)
		}
		if err != nil {
			return engine.Wrap("update the load balancer "+b.Name(), err)
		}
	}
	return nil
}

// LeaveEndpoint implements providers.EndpointKeeper.
func (p *Provider) LeaveEndpoint(ctx context.Context, c *fleet.Cluster, name fleet.MachineName, id fleet.ProviderID) error {
	op := "take machine " + string(name) + " off the endpoint"
	got, err := p.look(ctx, c, snapshot.OwnerOf(c))
	if err != nil {
		return engine.WrapLook(op, err)
	}
	leaving, others := false, false
	for _, b := range got.boxes {
		switch is := b.machine.Name == name && b.machine.ProviderID == id; {
		case is:
			leaving = true
		case endpoint.Leads(&b.machine):
			others = true
		}
	}
	if !leaving || !others {
		return nil
	}
	if len(got.servers(name)) == 0 {
		return fleet.Errorf(fleet.Conflict, op, "no other server has an address yet")
	}
	if err := p.write(ctx, got, name); err != nil {
		return fleet.Errorf(fleet.Conflict, op, "%w", err)
	}
	return nil
}

// RemoveShared implements driver.Driver.
func (p machines) RemoveShared(ctx context.Context, _ string, c *fleet.Cluster, got *observation) error {
	p.found.Forget(snapshot.OwnerOf(c))
	defer p.listings.Changed(snapshot.OwnerOf(c))
	for _, b := range got.balancers {
		now, err := p.again(ctx, c, b.ID)
		if err == nil && now != nil {
			err = p.client.Remove(ctx, b.ID)
		}
		if err != nil {
			return engine.Wrap("remove the load balancer "+b.Name(), err)
		}
	}
	return nil
}

package openstack_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/inmemory"
	"fairlead.dev/test/lab/openstack/lab"
)

// lookInterval is how often the booter looks at the servers.
const lookInterval = 1500 * time.Millisecond

// A booter boots the servers of a project that Nova calls ACTIVE, in an
// in-memory cloud, from the user data that Nova has for them.
type booter struct {
	project *lab.Project
	network *lab.Routes
	cloud   *inmemory.Cloud
	pipes   *inmemory.PipeNetwork
	log     *slog.Logger

	mu       sync.Mutex
	networks map[string]string         // id by fleet, cluster and endpoint
	booted   map[string]bool           // servers, by id; false: powered off
	userData map[string]map[string]int // sizes by cluster and machine, of all that ever were
	refused  map[string]string         // why a server cannot boot
}

func newBooter(t testing.TB, p *lab.Project, log *slog.Logger) *booter {
	t.Helper()
	pipes := inmemory.NewPipeNetwork()
	b := &booter{
		project: p, network: lab.NewRoutes(p), pipes: pipes, log: log,
		cloud:    inmemory.NewCloud(inmemory.CloudOptions{Listen: pipes.Listen, AnyHost: true, Log: log}),
		networks: make(map[string]string), booted: make(map[string]bool),
		userData: make(map[string]map[string]int), refused: make(map[string]string),
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var done sync.WaitGroup
	done.Go(func() { b.run(ctx) })
	t.Cleanup(func() { cancel(); done.Wait(); b.cloud.Close() })
	return b
}

func (b *booter) run(ctx context.Context) {
	tick := time.NewTicker(lookInterval)
	defer tick.Stop()
	for {
		if err := b.look(ctx); err != nil && ctx.Err() == nil {
			b.log.Error("the booter cannot look at the servers", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// look brings the in-memory machines in line with Nova's servers.
func (b *booter) look(ctx context.Context) error {
	c := b.project.Admin.Compute
	pages, err := servers.List(c, servers.ListOpts{AllTenants: true, TenantID: b.project.ID}).AllPages(ctx)
	if err != nil {
		return err
	}
	list, err := servers.ExtractServers(pages)
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	there := make(map[string]bool)
	for _, s := range list {
		if s.TenantID != b.project.ID || s.Metadata["fairlead.dev:machine"] == "" {
			continue
		}
		there[s.ID] = true
		on, known := b.booted[s.ID]
		switch {
		case !known && s.Status == "ACTIVE":
			if err := b.boot(ctx, s); err != nil {
				if b.refused[s.ID] != err.Error() {
					b.refused[s.ID] = err.Error()
					b.log.Warn("a server cannot boot", "server", s.Name, "error", err)
				}
				continue
			}
			b.booted[s.ID] = true
		case known && on && s.Status != "ACTIVE":
			err = b.cloud.StopVM(ctx, s.ID)
			b.booted[s.ID] = false
		case known && !on && s.Status == "ACTIVE":
			err = b.cloud.StartVM(ctx, s.ID)
			b.booted[s.ID] = true
		}
		if err != nil {
			return err
		}
	}
	for id := range b.booted {
		if there[id] {
			continue
		}
		if err := b.cloud.DeleteVM(ctx, id); err != nil && fleet.KindOf(err) != fleet.NotFound {
			return err
		}
		delete(b.booted, id)
	}
	return nil
}

// boot boots one server. A server whose user data names an address that leads
// to no server does not boot.
func (b *booter) boot(ctx context.Context, s servers.Server) error {
	if s.Userdata == nil {
		return fmt.Errorf("no user data")
	}
	data, err := base64.StdEncoding.DecodeString(*s.Userdata)
	if err != nil {
		return fmt.Errorf("user data: %w", err)
	}
	spec := inmemory.VMSpec{
		ID: s.ID, Name: s.Name, Version: s.Metadata["fairlead.dev:version"], UserData: data,
		Provider: fleet.ProviderID("openstack:///" + s.ID), Addresses: addresses(s),
	}
	endpoint, join, err := inmemory.BootEndpoint(spec)
	if err != nil {
		return err
	}
	ids, err := b.network.Servers(ctx, endpoint)
	if err != nil {
		return err
	}
	if len(ids) == 0 {
		return fmt.Errorf("the API server's address %s leads to no server", endpoint)
	}
	cluster := s.Metadata["fairlead.dev:fleet"] + " " + s.Metadata["fairlead.dev:cluster"]
	network, ok := b.networks[cluster+" "+endpoint]
	if !ok {
		if join {
			return fmt.Errorf("no cluster was initialised at %s", endpoint)
		}
		host, port, err := net.SplitHostPort(endpoint)
		if err != nil {
			return err
		}
		at := fleet.Endpoint{Host: host}
		if _, err := fmt.Sscan(port, &at.Port); err != nil {
			return err
		}
		n, err := b.cloud.CreateNetwork(ctx, inmemory.NetworkSpec{Name: cluster, Endpoint: at})
		if err != nil {
			return err
		}
		network = n.ID
		b.networks[cluster+" "+endpoint] = network
	}
	spec.Network = network
	if _, err := b.cloud.CreateVM(ctx, spec); err != nil {
		return err
	}
	if b.userData[cluster] == nil {
		b.userData[cluster] = make(map[string]int)
	}
	b.userData[cluster][s.Name] = len(data)
	delete(b.refused, s.ID)
	return nil
}

func addresses(s servers.Server) []string {
	var out []string
	for _, network := range s.Addresses {
		list, _ := network.([]any)
		for _, a := range list {
			if m, ok := a.(map[string]any); ok && m["OS-EXT-IPS:type"] == "fixed" {
				out = append(out, fmt.Sprint(m["addr"]))
			}
		}
	}
	return out
}

// Dial connects to the API server behind an address, as workload.Options.Dial
// does: there must be a server behind it that is up.
func (b *booter) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	ids, err := b.network.Servers(ctx, address)
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	up := false
	for _, id := range ids {
		up = up || b.booted[id]
	}
	b.mu.Unlock()
	if !up {
		return nil, fmt.Errorf("dial %s: no route to host: it leads to the servers %s, of which none is up", address, strings.Join(ids, ", "))
	}
	return b.pipes.DialContext(ctx, network, address)
}

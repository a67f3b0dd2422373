package sites_test

import (
	"bytes"
	"context"
	"strings"
	"sync"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/infrastructure/inmemory"
)

// boots has the machines of the other site boot in the network of the in-memory cloud that
// the API server is in. No machine in it has tags, so that the in-memory provider takes
// none for its own.
type boots struct {
	providers.Infrastructure
	nodeID string
	cloud  *inmemory.Cloud

	mu   sync.Mutex
	away bool
	data map[fleet.MachineName]inmemory.VMSpec
	on   map[string]bool
}

// Abilities are those of the site.
func (b *boots) Abilities() providers.Abilities { return providers.AbilitiesOf(b.Infrastructure) }

// goAway has nobody reach the site, or reach it again.
func (b *boots) goAway(away bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.away = away
}

// CreateMachine implements providers.Infrastructure.
func (b *boots) CreateMachine(ctx context.Context, op fleet.OperationID, r providers.MachineRequest) error {
	b.mu.Lock()
	b.data[r.Name] = inmemory.VMSpec{Name: string(r.Name), Version: r.Pool.Version, UserData: r.UserData.Content.Reveal()}
	b.mu.Unlock()
	return b.Infrastructure.CreateMachine(ctx, op, r)
}

// Observe implements providers.Infrastructure.
func (b *boots) Observe(ctx context.Context, c *fleet.Cluster) (fleet.Infrastructure, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.away {
		return fleet.Infrastructure{}, fleet.Errorf(fleet.Unavailable, "observe "+c.Key.String(), "%w", errNoRoute)
	}
	got, err := b.Infrastructure.Observe(ctx, c)
	if err != nil {
		return got, err
	}
	return got, b.boot(ctx, c, got.Machines)
}

// boot brings the simulated machines in line with those of the site.
func (b *boots) boot(ctx context.Context, c *fleet.Cluster, machines []fleet.Machine) error {
	networks, err := b.cloud.Networks(ctx, c.Tags())
	if err != nil {
		return err
	}
	there := map[string]bool{}
	for _, m := range machines {
		id := strings.NewReplacer("://", "-", "/", "-").Replace(string(m.ProviderID))
		there[id] = true
		spec, known := b.data[m.Name]
		if b.on[id] || !known || m.State != fleet.MachineRunning || len(networks) == 0 {
			continue
		}
		spec.ID, spec.Network, spec.Provider, spec.Addresses = id, networks[0].ID, m.ProviderID, m.Addresses
		if b.nodeID != "" {
			spec.UserData = bytes.ReplaceAll(spec.UserData, []byte(b.nodeID), []byte(m.ProviderID))
		}
		if _, err := b.cloud.CreateVM(ctx, spec); err != nil {
			return err
		}
		b.on[id] = true
	}
	for id := range b.on {
		if there[id] {
			continue
		}
		if err := b.cloud.DeleteVM(ctx, id); err != nil && fleet.KindOf(err) != fleet.NotFound {
			return err
		}
		delete(b.on, id)
	}
	return nil
}

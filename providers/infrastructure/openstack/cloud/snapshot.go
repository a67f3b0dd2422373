package cloud

import (
	"context"
	"sync"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumes"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/listeners"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/monitors"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/pools"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/external"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/routers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/mtu"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/portsecurity"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/trunks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"

	"fairlead.dev/fleet"
)

// A Network is a network with the extensions that matter.
type Network struct {
	networks.Network
	external.NetworkExternalExt
	mtu.NetworkMTUExt
	portsecurity.PortSecurityExt
}

// A Port is a port with the extensions that matter.
type Port struct {
	ports.Port
	portsecurity.PortSecurityExt
}

// A Snapshot is all that is in a project, and the networks, subnets and security
// groups of others that it may use. It is complete: what is not in it was not
// there. Servers that ports and volumes of machines name are in it though their
// listing lacks them. It is shared and must not be changed.
type Snapshot struct {
	Began time.Time

	Servers        Set[servers.Server]
	Networks       Set[Network]
	Subnets        Set[subnets.Subnet]
	Ports          Set[Port]
	Routers        Set[routers.Router]
	SecurityGroups Set[groups.SecGroup] // with their rules
	FloatingIPs    Set[floatingips.FloatingIP]
	Trunks         Set[trunks.Trunk] // empty where Neutron has none

	// The load balancers are empty where the catalogue has no Octavia. Members of
	// pools that a fleet owns have their addresses; of others only the id is known.
	LoadBalancers Set[loadbalancers.LoadBalancer]
	Listeners     Set[listeners.Listener]
	Pools         Set[pools.Pool]
	Monitors      Set[monitors.Monitor] // these carry no mark: they are whose their pool is

	// LoadBalancerFlavors has the names of Octavia's flavors by id, where a load
	// balancer of a fleet has one and the project may list them.
	LoadBalancerFlavors map[string]string

	Volumes Set[volumes.Volume] // empty where the catalogue has no Cinder

	// Lacks has what the cloud does not have: LacksTags, and what Project.Lacks noted.
	Lacks map[string]bool

	plugged map[string][]Part // by server
	seq     uint64
	memo    *memo
}

// memo remembers what was asked about a snapshot, besides what it holds.
type memo struct {
	mu      sync.Mutex
	answers map[string]any
}

// Beside returns the answer to question, which is asked once for s and is as old as
// s or younger. It is for what few clusters need, and what must not fail the look of
// the others. Errors are not remembered.
func Beside[T any](s *Snapshot, question string, ask func() (T, error)) (T, error) {
	if s.memo == nil {
		return ask()
	}
	s.memo.mu.Lock()
	defer s.memo.mu.Unlock()
	if v, ok := s.memo.answers[question].(T); ok {
		return v, nil
	}
	v, err := ask()
	if err == nil {
		s.memo.answers[question] = v
	}
	return v, err
}

// Clusters returns the clusters that own anything, in no order, each once.
func (s *Snapshot) Clusters() []Owner {
	seen := make(map[Owner]bool)
	for _, list := range [][]Owner{
		s.Servers.Owners(), s.Networks.Owners(), s.Subnets.Owners(), s.Ports.Owners(), s.Routers.Owners(),
		s.SecurityGroups.Owners(), s.FloatingIPs.Owners(), s.Trunks.Owners(), s.LoadBalancers.Owners(),
		s.Listeners.Owners(), s.Pools.Owners(), s.Volumes.Owners(),
	} {
		for _, o := range list {
			seen[o] = true
		}
	}
	out := make([]Owner, 0, len(seen))
	for o := range seen {
		out = append(out, o)
	}
	return out
}

// Snapshot returns what is in the project, never older than the tick. For a
// cluster it was begun after every change of it that Changed was told of; for a
// machine after those of the machine and of what all machines share. All that
// ask at one time share one look.
func (p *Project) Snapshot(ctx context.Context, o Owner) (*Snapshot, error) {
	return p.shelf.get(ctx, p.o.Tick, o, func(ctx context.Context, seq uint64) (*Snapshot, error) {
		s, err := p.look(ctx)
		if err != nil {
			p.mistrust()
			if fleet.KindOf(err) == fleet.NotFound { // a service is not where it was: nothing is known to be gone
				err = fleet.Errorf(fleet.Unavailable, "look at the project", "%w", err)
			}
			return nil, err
		}
		s.seq = seq
		return s, nil
	})
}

// Changed says that something of o was changed, or may have been: what was seen
// before is not good enough for it any more.
func (p *Project) Changed(o Owner) { p.shelf.changed(o) }

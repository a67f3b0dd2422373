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
	"fairlead.dev/providers/driver/snapshot"
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

	Servers        snapshot.Set[servers.Server]
	Networks       snapshot.Set[Network]
	Subnets        snapshot.Set[subnets.Subnet]
	Ports          snapshot.Set[Port]
	Routers        snapshot.Set[routers.Router]
	SecurityGroups snapshot.Set[groups.SecGroup] // with their rules
	FloatingIPs    snapshot.Set[floatingips.FloatingIP]
	Trunks         snapshot.Set[trunks.Trunk] // empty where Neutron has none

	// The load balancers are empty where the catalogue has no Octavia. Members of
	// pools that a fleet owns have their addresses; of others only the id is known.
	LoadBalancers snapshot.Set[loadbalancers.LoadBalancer]
	Listeners     snapshot.Set[listeners.Listener]
	Pools         snapshot.Set[pools.Pool]
	Monitors      snapshot.Set[monitors.Monitor] // these carry no mark: they are whose their pool is

	// LoadBalancerFlavors has the names of Octavia's flavors by id, where a load
	// balancer of a fleet has one and the project may list them.
	LoadBalancerFlavors map[string]string

	Volumes snapshot.Set[volumes.Volume] // empty where the catalogue has no Cinder

	// Lacks has what the cloud does not have: LacksTags, and what Project.Lacks noted.
	Lacks map[string]bool

	partsByServer map[string][]Part // by server
	memo          *memo
}

// memo remembers what was asked about a snapshot, besides what it holds.
type memo struct {
	mu      sync.Mutex
	answers map[string]any
}

// Once returns the answer to question, which is asked once for s and is as old as
// s or younger. It is for what few clusters need, and what must not fail the look of
// the others. Errors are not remembered.
func Once[T any](s *Snapshot, question string, ask func() (T, error)) (T, error) {
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
func (s *Snapshot) Clusters() []snapshot.Owner {
	seen := make(map[snapshot.Owner]bool)
	for _, list := range [][]snapshot.Owner{
		s.Servers.Owners(), s.Networks.Owners(), s.Subnets.Owners(), s.Ports.Owners(), s.Routers.Owners(),
		s.SecurityGroups.Owners(), s.FloatingIPs.Owners(), s.Trunks.Owners(), s.LoadBalancers.Owners(),
		s.Listeners.Owners(), s.Pools.Owners(), s.Volumes.Owners(),
	} {
		for _, o := range list {
			seen[o] = true
		}
	}
	out := make([]snapshot.Owner, 0, len(seen))
	for o := range seen {
		out = append(out, o)
	}
	return out
}

// Snapshot returns what is in the project, never older than the tick, and good enough
// for o: see snapshot.Cache.
func (p *Project) Snapshot(ctx context.Context, o snapshot.Owner) (*Snapshot, error) {
	return p.snapshots.Get(ctx, o)
}

// list lists what is in the project.
func (p *Project) list(ctx context.Context) (*Snapshot, error) {
	s, err := p.look(ctx)
	if err != nil {
		p.ExpireCatalogue()
		if fleet.KindOf(err) == fleet.NotFound { // a service is not where it was: nothing is known to be gone
			err = fleet.Errorf(fleet.Unavailable, "look at the project", "%w", err)
		}
		return nil, err
	}
	return s, nil
}

// Changed says that something of o was changed, or may have been: what was seen
// before is not good enough for it any more.
func (p *Project) Changed(o snapshot.Owner) { p.snapshots.Changed(o) }

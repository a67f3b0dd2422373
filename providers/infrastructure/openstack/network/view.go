package network

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/monitors"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/infrastructure/openstack/api"
	"fairlead.dev/providers/infrastructure/openstack/cloud"
)

// A view is a project as one cluster sees it: the snapshot, and on top of it what
// steps did since. The slices of the snapshot are shared and never written to.
type view struct {
	cluster *fleet.Cluster
	spec    *api.OpenStackClusterSpec
	owner   snapshot.Owner
	project *cloud.Project // that steps change; nil where there are none to be taken
	at      time.Time      // when the snapshot was begun

	all  things // of the project, and what others let it use
	mine things // of all what carries the mark of the cluster and is for what this package makes

	monitors map[string]monitors.Monitor // by pool of the cluster
	lacks    map[string]bool             // what the cloud does not have

	lbFlavors map[string]string // names of Octavia's flavors by id, as far as known

	machines []machine                  // of the cluster, without the bastion; oldest first
	held     map[fleet.MachineName]bool // machines that a server may be which does not say so
	bastion  []string                   // ids of its servers
	parts    int                        // ports of machines and bastion, with or without their server

	ports      []cloud.Port // of machines, whose network is the cluster's choice
	onNetworks []string     // ids of the networks that machines have ports on, sorted
	onSubnets  []string     // ids of the subnets that machines have addresses in, sorted
}

// A machine is a server of the cluster.
type machine struct {
	id           string
	name         fleet.MachineName
	pool         fleet.PoolName
	controlPlane bool
	leaving      bool // it is being deleted, or leaves the endpoint before that
	template     fleet.TemplateHash
	active       bool
}

// newView is a view of cluster c, whose servers with the ids leaving are to go.
func newView(s *cloud.Snapshot, c *fleet.Cluster, spec *api.OpenStackClusterSpec, leaving ...string) *view {
	v := ownedView(s, snapshot.OwnerOf(c))
	v.cluster, v.spec = c, spec
	for i := range v.machines {
		v.machines[i].leaving = v.machines[i].leaving || slices.Contains(leaving, v.machines[i].id)
	}
	v.standing()
	return v
}

// ownedView is a view without what Git says.
func ownedView(s *cloud.Snapshot, o snapshot.Owner) *view {
	v := &view{
		owner: o, at: s.Began, lacks: s.Lacks, lbFlavors: s.LoadBalancerFlavors,
		all: things{
			networks: s.Networks.All, subnets: s.Subnets.All, routers: s.Routers.All, ports: s.Ports.All,
			groups: s.SecurityGroups.All, floatingIPs: s.FloatingIPs.All, loadBalancers: s.LoadBalancers.All,
			listeners: s.Listeners.All, pools: s.Pools.All,
		},
		mine: things{
			networks: values(s.Networks.SharedBy(o)), subnets: values(s.Subnets.SharedBy(o)),
			routers: values(s.Routers.SharedBy(o)), groups: values(s.SecurityGroups.SharedBy(o)),
			// Floating IPs that a pool keeps for the cluster belong to the pool.
			ports: filter(values(s.Ports.SharedBy(o)), func(p cloud.Port) bool { return isFor(p.Description, ForEndpoint) }),
			floatingIPs: filter(values(s.FloatingIPs.SharedBy(o)), func(f floatingips.FloatingIP) bool {
				return isFor(f.Description, ForEndpoint)
			}),
			loadBalancers: values(s.LoadBalancers.SharedBy(o)), listeners: values(s.Listeners.SharedBy(o)),
			pools: values(s.Pools.SharedBy(o)),
		},
		monitors: make(map[string]monitors.Monitor),
		held:     make(map[fleet.MachineName]bool),
	}
	for _, p := range v.mine.pools {
		if m := s.Monitors.Get(p.MonitorID); m != nil {
			v.monitors[p.ID] = *m
		}
	}
	v.see(s)
	v.parts = len(s.Ports.Parts(o))
	v.hold(s)
	return v
}

// hold notes the machines that are no machine of the view, though a server is there
// that has a port of theirs and says that it is something else, or nothing.
func (v *view) hold(s *cloud.Snapshot) {
	for o, all := range s.Ports.Parts(v.owner) {
		known := slices.ContainsFunc(v.machines, func(m machine) bool { return m.name == o.Machine })
		if !known && slices.ContainsFunc(all, func(p *cloud.Port) bool {
			is, _ := s.Servers.Owner(p.DeviceID)
			return is != o && s.Servers.Get(p.DeviceID) != nil
		}) {
			v.held[o.Machine] = true
		}
	}
}

// mayServe reports whether the machine of that name, which is none of the control
// plane by what its server says, may be one anyway: nothing but such a machine
// ever had a member, so it is one until its server goes.
func (v *view) mayServe(name fleet.MachineName) bool {
	return v.held[name] || slices.ContainsFunc(v.machines, func(m machine) bool { return m.name == name && !m.controlPlane && !m.leaving })
}

// see sorts the servers of the cluster.
func (v *view) see(all *cloud.Snapshot) {
	own := values(all.Servers.Of(v.owner))
	slices.SortFunc(own, func(a, b servers.Server) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID))
	})
	for _, s := range own {
		tags := cloud.Tags(s.Metadata)
		role := fleet.Role(tags[fleet.TagRole])
		if part, doubted := all.Contradiction(s.ID); doubted {
			if part.Owner.Shared() == v.owner {
				v.held[part.Owner.Machine] = true
			}
			continue
		}
		if cloud.IsBastion(v.owner, tags) {
			v.bastion = append(v.bastion, s.ID)
			continue
		}
		if role != fleet.RoleControlPlane && role != fleet.RoleWorker {
			v.held[fleet.MachineName(tags[fleet.TagMachine])] = true
			continue
		}
		v.machines = append(v.machines, machine{
			id: s.ID, name: fleet.MachineName(tags[fleet.TagMachine]), pool: fleet.PoolName(tags[fleet.TagPool]), controlPlane: role == fleet.RoleControlPlane,
			template: fleet.TemplateHash(tags[fleet.TagTemplate]),
			leaving:  s.TaskState == "deleting" || strings.HasSuffix(s.Status, "DELETED"), active: s.Status == "ACTIVE",
		})
	}
}

// started reports whether the cluster has machines.
func (v *view) started() bool { return len(v.machines)+len(v.held) > 0 }

// controlPlane returns the machines of the control plane that are to stay,
// oldest first.
func (v *view) controlPlane() []machine {
	return filter(v.machines, func(m machine) bool { return m.controlPlane && !m.leaving })
}

// An address is one of a server.
type address struct{ ip, subnet, port string }

// addressOf returns where a server answers: in subnet if it has an address
// there, else its first one in network, else its first one.
func (v *view) addressOf(server, network, subnet string) (address, bool) {
	all := v.addressesOf(server, network)
	if a, ok := find(all, func(a address) bool { return a.subnet == subnet }); ok {
		return a, true
	}
	return find(all, func(address) bool { return true })
}

// addressesOf returns the addresses of a server, those in network first.
func (v *view) addressesOf(server, network string) []address {
	var in, out []address
	for _, p := range v.all.ports {
		if p.DeviceID != server {
			continue
		}
		for _, ip := range p.FixedIPs {
			a := address{ip.IPAddress, ip.SubnetID, p.ID}
			if p.NetworkID == network {
				in = append(in, a)
			} else {
				out = append(out, a)
			}
		}
	}
	return append(in, out...)
}

// What a shared thing of a cluster is for: the text before its mark.
const (
	ForNodes    = "nodes"
	ForEndpoint = "API server"
)

// description returns that of a shared thing of the cluster that is for what.
func (v *view) description(what string) string { return cloud.FormatOwner(what, v.owner) }

// isFor reports whether the description of one of the cluster's things says that
// it is for what.
func isFor(description, what string) bool { return strings.HasPrefix(description, what+" [") }

// name returns what the cluster's things are called, for people.
func (v *view) name(suffix ...string) string {
	return strings.Join(append([]string{v.owner.Cluster.Namespace, v.owner.Cluster.Name}, suffix...), "-")
}

package machine

import (
	"cmp"
	"slices"

	"fairlead.dev/providers"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/infrastructure/openstack/api"
	"fairlead.dev/providers/infrastructure/openstack/cloud"
)

// A Request is a server to make.
type Request struct {
	Owner    snapshot.Owner    // with the name of the machine, which is that of the server
	Tags     map[string]string // ownership tags
	Spec     *api.OpenStackMachineSpec
	Image    Image    // in place of that of Spec, where Spec refers to one
	More     []string // tags of OpenStack besides those of Spec
	Zone     string   // availability zone; empty leaves it to Nova
	UserData providers.UserData
	Place    Place
	Floating Floating
}

// An Image is what a server boots from where an Image object says so: ID, or what
// finds one that exists.
type Image struct {
	ID     string
	Import *api.ImageImportFilter
}

// A Place is what the cluster gives its servers.
type Place struct {
	Network       string   // id of the network of ports that name none
	Subnets       []string // ids of the subnets that such a port gets an address in; none: Neutron chooses
	SecurityGroup string   // id of the managed security group; empty: none is managed
}

// Floating says where the floating IP of a server comes from.
type Floating struct {
	Pool    *Pool
	Address string // the one that exists, which is not deleted with the server
	Network string // id of the external network to make one in
}

// wanted reports whether the server gets a floating IP.
func (f Floating) wanted() bool { return f.Pool != nil || f.Address != "" || f.Network != "" }

// A Pool is an OpenStackFloatingIPPool.
type Pool struct {
	Name    string
	Spec    *api.OpenStackFloatingIPPoolSpec
	Network string // id of the external network
}

// ExcessLength is by how many characters the name of p is too long for the description of
// its floating IPs, which has the mark of a machine of o as well; 0 or below: it fits.
func (p *Pool) ExcessLength(o snapshot.Owner) int {
	const machine = 63 // the longest name of one
	return len(p.text()) - cloud.Room(o) + machine + len(" machine=")
}

// text is what the description of a floating IP of the pool begins with.
func (p *Pool) text() string { return PoolText + p.Name }

const PoolText = "floating IP pool "

func (r *Request) name() string { return string(r.Owner.Machine) }

// tags returns the tags of OpenStack for server, trunks and ports.
func (r *Request) tags(more ...string) []string {
	all := slices.Concat(r.Spec.Tags, r.More, more)
	slices.Sort(all)
	return slices.Compact(all)
}

// metadata returns that of the server: the user's, and ours.
func (r *Request) metadata() map[string]string {
	out := make(map[string]string, len(r.Tags)+len(r.Spec.ServerMetadata))
	for _, m := range r.Spec.ServerMetadata {
		out[m.Key] = m.Value
	}
	for k, v := range cloud.Metadata(r.Tags) {
		out[k] = v
	}
	return out
}

// oldest orders by age, then id.
func oldest[T any](all []*T, created func(*T) int64, id func(*T) string) []*T {
	slices.SortFunc(all, func(a, b *T) int {
		return cmp.Or(cmp.Compare(created(a), created(b)), cmp.Compare(id(a), id(b)))
	})
	return all
}

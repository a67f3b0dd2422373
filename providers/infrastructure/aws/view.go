package aws

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/driver/steps"
	"fairlead.dev/providers/infrastructure/aws/api"
	"fairlead.dev/providers/infrastructure/aws/cloud"
)

// A view is what was seen of one cluster. Steps enter into it what they made.
type view struct {
	p     *Provider
	c     *fleet.Cluster
	spec  *api.AWSClusterSpec
	owner snapshot.Owner
	place *cloud.Place
	s     *cloud.Snapshot
	zones []string // of the region

	service string   // the name by which controllers of Kubernetes know the cluster
	before  []string // others by which they knew it, as subnets that were made for it say
	kept    bool     // EKS has its control plane
	// cluster is that control plane; nil: none was looked for, or it is not there.
	cluster *cloud.ManagedCluster

	// What carries the tags of the cluster.
	vpcs      []cloud.VPC
	subnets   []cloud.Subnet
	gateways  []cloud.Gateway
	egresses  []cloud.Egress
	addresses []cloud.Address
	nats      []cloud.NAT
	tables    []cloud.Table
	groups    []cloud.Group
	balancers []cloud.Balancer
	targets   []cloud.TargetGroup
	secrets   []cloud.Secret   // of all stores
	instances []cloud.Instance // that are not terminated
	bastions  []cloud.Instance // that are not, too
	ended     []cloud.Instance // that are

	members    map[string][]string          // ids of instances behind target groups and classic load balancers, by their ids
	attributes map[string]map[string]string // of load balancers and target groups, by id; what is missing is not known
	unlisted   []error                      // why what is stored in a store is not known
	unread     map[string]error             // why attributes are not known
	marked     map[string]bool              // ids of what got its tags just now
	shut       bool                         // the security group of servers lacks rules
	looked     time.Time                    // when the look began
	named      bool                         // this process had the VPC give its instances names

	bucket   *cloud.Bucket // for machines of Ignition; nil: it is not there
	noBucket error         // why it cannot be read
	roles    string        // how ARNs of roles of the account begin

	open *cloud.Group // the default security group of a VPC that was made, if it is to have no rules

	interfaces []cloud.Interface // of a VPC that is to go
	strays     []cloud.Group     // security groups in it that are not of the cluster
}

// values returns copies of things.
func values[T any](all []*T) []T {
	out := make([]T, 0, len(all))
	for _, t := range all {
		out = append(out, *t)
	}
	return out
}

// look observes c, with all changes of o.
func (p *Provider) look(ctx context.Context, c *fleet.Cluster, o snapshot.Owner) (*view, error) {
	spec, err := api.ReadShared(c)
	if err != nil {
		return nil, err
	}
	place, err := p.accounts.Place(ctx, c, spec)
	if err != nil {
		return nil, err
	}
	if err := sameAccount(ctx, c, place); err != nil {
		return nil, err
	}
	p.watch.Looked(snapshot.OwnerOf(c), []*cloud.Place{place})
	looked := time.Now()
	s, err := place.Snapshot(ctx, o)
	if err != nil {
		return nil, err
	}
	v := &view{p: p, c: c, spec: spec, owner: snapshot.OwnerOf(c), place: place, s: s, service: c.Key.Name, marked: make(map[string]bool), looked: looked}
	v.sort()
	if v.zones, err = place.KnownZones(ctx); err != nil {
		return nil, err
	}
	if err := v.lookAtMembers(ctx); err != nil {
		return nil, err
	}
	if err := v.lookAtBucket(ctx); err != nil {
		return nil, err
	}
	if err := v.lookAtDefaultGroup(ctx); err != nil {
		return nil, err
	}
	if err := v.lookAtEgress(ctx); err != nil {
		return nil, err
	}
	if err := v.lookAtStores(ctx); err != nil {
		return nil, err
	}
	if c.Delete {
		if err := v.lookAtInterfaces(ctx); err != nil {
			return nil, err
		}
	}
	return v, nil
}

// sameAccount refuses another account or region than the one that c was seen in: what is there would be taken for
// gone.
func sameAccount(ctx context.Context, c *fleet.Cluster, place *cloud.Place) error {
	was := c.Residence.Place().ID
	if was == "" || c.Residence.Provider != api.ProviderName {
		return nil
	}
	id, err := place.ID(ctx)
	if err != nil || id == was {
		return err
	}
	return fleet.Errorf(fleet.Unauthorized, "find the account of "+c.Key.String(), "its identityRef and region lead to %s, and it is in %s (bring back credentials of that account; a cluster cannot move)", id, was)
}

// sort finds what is of the cluster in the listing.
func (v *view) sort() {
	s, o := v.s, v.owner
	v.vpcs, v.subnets, v.gateways = values(s.VPCs.Of(o)), values(s.Subnets.Of(o)), values(s.Gateways.Of(o))
	v.addresses, v.nats, v.tables = values(s.Addresses.Of(o)), values(s.NATs.Of(o)), values(s.Tables.Of(o))
	v.groups, v.balancers, v.targets = slices.DeleteFunc(values(s.Groups.Of(o)), v.isCopy), values(s.Balancers.Of(o)), values(s.Targets.Of(o))
	v.secrets = values(s.Secrets.Of(o))
	for _, i := range values(s.Instances.Of(o)) {
		switch {
		case i.Ended():
			v.ended = append(v.ended, i)
		case i.Tags[partTag] == bastionPart && isCopied(i): // people's
		case i.Tags[partTag] == bastionPart:
			v.bastions = append(v.bastions, i)
		default:
			v.instances = append(v.instances, i)
		}
	}
	slices.SortFunc(v.vpcs, func(a, b cloud.VPC) int {
		return cmp.Or(boolFirst(v.used(a.ID), v.used(b.ID)), cmp.Compare(a.ID, b.ID))
	})
	slices.SortFunc(v.gateways, func(a, b cloud.Gateway) int {
		return cmp.Or(boolFirst(a.VPC != "", b.VPC != ""), cmp.Compare(a.ID, b.ID))
	})
	slices.SortFunc(v.addresses, func(a, b cloud.Address) int {
		return cmp.Or(boolFirst(a.Association != "", b.Association != ""), cmp.Compare(a.ID, b.ID))
	})
	slices.SortFunc(v.tables, func(a, b cloud.Table) int {
		return cmp.Or(boolFirst(len(a.Associations) > 0, len(b.Associations) > 0), cmp.Compare(a.ID, b.ID))
	})
	slices.SortFunc(v.bastions, func(a, b cloud.Instance) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortFunc(v.subnets, func(a, b cloud.Subnet) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortFunc(v.nats, func(a, b cloud.NAT) int { return cmp.Compare(a.ID, b.ID) })
	for _, s := range v.subnets {
		for k := range s.Tags {
			if name, ok := strings.CutPrefix(k, serviceTag("")); ok {
				v.before = append(v.before, name)
			}
		}
	}
}

// boolFirst orders what is so before what is not.
func boolFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// used reports whether a VPC has subnets of the cluster.
func (v *view) used(vpc string) bool {
	return slices.ContainsFunc(v.subnets, func(s cloud.Subnet) bool { return s.VPC == vpc })
}

// lookAtMembers finds the instances behind the endpoint, and the attributes of what leads there. What does not exist any
// more has none.
func (v *view) lookAtMembers(ctx context.Context) error {
	v.members, v.attributes, v.unread = make(map[string][]string), make(map[string]map[string]string), make(map[string]error)
	for _, b := range v.balancers {
		if b.Classic {
			v.members[b.ID] = b.Targets
		}
		if err := v.lookAtAttributes(ctx, b.ID); err != nil {
			return err
		}
	}
	for _, g := range v.targets {
		ids, err := v.place.Targets(ctx, g.ID)
		if cloud.IsNotFound(err) {
			continue
		}
		if err != nil {
			return err
		}
		v.members[g.ID] = ids
		if err := v.lookAtAttributes(ctx, g.ID); err != nil {
			return err
		}
	}
	return nil
}

func (v *view) lookAtAttributes(ctx context.Context, id string) error {
	if v.c.Delete {
		return nil
	}
	got, err := v.place.Attributes(ctx, id)
	switch {
	case cloud.IsNotFound(err):
		return nil
	case cloud.Kind(err) == fleet.Unauthorized:
		v.unread[id] = cloud.WrapLook("read the attributes of "+id, err)
		return nil
	}
	v.attributes[id] = got
	return err
}

// lookAtEgress finds gateways for IPv6, of a cluster that has it.
func (v *view) lookAtEgress(ctx context.Context) (err error) {
	if !slices.ContainsFunc(v.vpcs, func(n cloud.VPC) bool { return len(n.Six) > 0 }) {
		return nil
	}
	v.egresses, err = v.place.Egresses(ctx, "tag:"+fleet.TagFleet, string(v.owner.Fleet), "tag:"+fleet.TagCluster, v.owner.Cluster.String())
	slices.SortFunc(v.egresses, func(a, b cloud.Egress) int { return cmp.Compare(a.ID, b.ID) })
	return err
}

// lookAtInterfaces finds what is plugged into networks of the cluster: whatever it is keeps them from
// being deleted.
func (v *view) lookAtInterfaces(ctx context.Context) error {
	filters := [][2]string{}
	for _, n := range v.vpcs {
		filters = append(filters, [2]string{"vpc-id", n.ID})
	}
	if len(v.vpcs) == 0 {
		for _, g := range v.groups {
			filters = append(filters, [2]string{"group-id", g.ID})
		}
	}
	for _, f := range filters {
		some, err := v.place.Interfaces(ctx, f[0], f[1])
		if err != nil {
			return err
		}
		v.interfaces = append(v.interfaces, some...)
	}
	for _, n := range v.vpcs {
		all, err := v.place.Groups(ctx, "vpc-id", n.ID)
		if err != nil {
			return err
		}
		for _, g := range all {
			if g.Name != defaultGroup && !slices.ContainsFunc(v.groups, func(o cloud.Group) bool { return o.ID == g.ID }) {
				v.strays = append(v.strays, g)
			}
		}
	}
	return nil
}

// exists reports whether something is there that machines share.
func (v *view) exists() bool {
	return len(v.vpcs)+len(v.subnets)+len(v.gateways)+len(v.addresses)+len(v.nats)+len(v.tables)+len(v.groups)+len(v.balancers)+len(v.targets)+len(v.bastions) > 0 || v.makesBucket() && !v.leavesBucket()
}

// leavesBucket reports whether the bucket of a cluster that goes stays, since objects in it could not be deleted and may stay.
func (v *view) leavesBucket() bool {
	return v.c.Delete && slices.ContainsFunc(v.secrets, func(s cloud.Secret) bool { return s.Store == cloud.BucketStore(v.bucket.Name) && !v.hasToGo(s) })
}

// started reports whether machines are there, or a control plane of EKS.
func (v *view) started() bool { return v.kept || len(v.instances) > 0 }

// changed records that something was changed that machines share.
func (v *view) changed() { v.place.Changed(v.owner) }

// An asked is a thing that AWS has no token for, and that may be made twice.
type asked struct {
	owner snapshot.Owner
	part  string
}

// awaits reports whether such a thing was asked for and may still show.
func (v *view) awaits(part string) bool {
	at, ok := v.p.asked.Of(asked{v.owner, part})
	return ok && time.Since(at) < v.p.o.Settle
}

// ask asks for a thing that may be made twice, and remembers it until it shows for certain, unless it was refused.
func (v *view) ask(part string, do func() error) error {
	v.p.asked.ForgetIf(func(_ asked, at time.Time) bool { return time.Since(at) >= v.p.o.Settle })
	k := asked{v.owner, part}
	v.p.asked.Note(k, time.Now())
	err := do()
	if kind := cloud.Kind(err); err != nil && kind != fleet.Unanswered {
		v.p.asked.Forget(k)
	}
	return err
}

// perform takes the steps that decide finds, as far as possible, and returns the errors.
func (v *view) perform(ctx context.Context, decide func() *steps.Decision) []error {
	defer v.changed()
	return steps.Perform(ctx, func() []steps.Step { return decide().Steps }, cloud.Wrap)
}

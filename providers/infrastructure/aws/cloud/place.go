package cloud

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/driver/steps"
)

// A Place is an account in a region, as one credential sees it. All clusters there share its listing.
type Place struct {
	*Client
	lists *snapshot.Cache[*Snapshot]

	mu       sync.Mutex
	identity *Identity
	zones    []string
	asOf     time.Time                       // when zones were listed
	offered  driver.Memory[string, []string] // zones of a type of instances

	attributes driver.Memory[string, attributesAt] // of load balancers and target groups, by id
}

// zonesFor is how long the zones of a region are remembered.
const zonesFor = time.Hour

func newPlace(c *Client, age time.Duration) *Place {
	p := &Place{Client: c}
	p.lists = snapshot.NewCache(age, "list what is in "+c.region, p.list)
	return p
}

// Close closes the connections to AWS.
func (p *Place) Close() { p.http.CloseIdleConnections() }

// ID returns the account and the region.
func (p *Place) ID(ctx context.Context) (string, error) {
	known, err := p.known(ctx)
	if err != nil {
		return "", err
	}
	return "account " + known.Account + " in " + p.region, nil
}

// known returns whose the credentials are, which does not change.
func (p *Place) known(ctx context.Context) (*Identity, error) {
	p.mu.Lock()
	known := p.identity
	p.mu.Unlock()
	if known != nil {
		return known, nil
	}
	got, err := p.Identity(ctx)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.identity = &got
	p.account.Store(got.Account)
	return &got, nil
}

// RoleARN returns the ARN of a role of the account. The path begins and ends with a slash.
func (p *Place) RoleARN(ctx context.Context, path, name string) (string, error) {
	known, err := p.known(ctx)
	if err != nil {
		return "", err
	}
	partition := "aws"
	if parts := strings.SplitN(known.ARN, ":", 3); len(parts) == 3 {
		partition = parts[1]
	}
	return "arn:" + partition + ":iam::" + known.Account + ":role" + path + name, nil
}

// IsOwn reports whether principal, as an access entry names it, is the user or the role whose credentials these are. Of a
// role the credentials show no path.
func (p *Place) IsOwn(ctx context.Context, principal string) (bool, error) {
	known, err := p.known(ctx)
	if err != nil {
		return false, err
	}
	before, session, assumed := strings.Cut(known.ARN, ":assumed-role/")
	role, _, _ := strings.Cut(session, "/")
	if !assumed {
		return principal == known.ARN, nil
	}
	return strings.HasPrefix(principal, strings.Replace(before, ":sts:", ":iam:", 1)+":role/") && strings.HasSuffix(principal, "/"+role), nil
}

// KnownZones returns the zones of the region, sorted.
func (p *Place) KnownZones(ctx context.Context) ([]string, error) {
	p.mu.Lock()
	zones, asOf := p.zones, p.asOf
	p.mu.Unlock()
	if zones != nil && time.Since(asOf) < zonesFor {
		return zones, nil
	}
	zones, err := p.Zones(ctx)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.zones, p.asOf = zones, time.Now()
	return zones, nil
}

// ZonesOf returns the zones that have a type of instances.
func (p *Place) ZonesOf(ctx context.Context, kind string) ([]string, error) {
	if known, ok := p.offered.Of(kind); ok {
		return known, nil
	}
	zones, err := p.Offered(ctx, kind)
	if err == nil && len(zones) > 0 {
		p.offered.Note(kind, zones)
	}
	return zones, err
}

// Changed records that something of o was changed, or may have been.
func (p *Place) Changed(o snapshot.Owner) { p.lists.Changed(o) }

// Snapshot returns what is there, new enough for o.
func (p *Place) Snapshot(ctx context.Context, o snapshot.Owner) (*Snapshot, error) {
	return p.lists.Get(ctx, o)
}

// A Snapshot is what was in a place at one time: what carries tags of a fleet, and of networks all, since
// clusters may be in given ones.
type Snapshot struct {
	Began     time.Time
	Instances snapshot.Set[Instance] // terminated ones, too
	VPCs      snapshot.Set[VPC]
	Subnets   snapshot.Set[Subnet]
	Gateways  snapshot.Set[Gateway]
	Addresses snapshot.Set[Address]
	NATs      snapshot.Set[NAT]
	Tables    snapshot.Set[Table]
	Groups    snapshot.Set[Group]
	Balancers snapshot.Set[Balancer] // all
	Targets   snapshot.Set[TargetGroup]
	Secrets   snapshot.Set[Secret]
}

// owner returns whose a thing with these tags is.
func owner(tags Tags) (snapshot.Owner, bool) {
	o, ok := driver.OwnerOf(tags)
	return o.Part(fleet.MachineName(tags[fleet.TagMachine])), ok && o.Fleet != ""
}

// lookers is how many requests of a listing are made at one time.
const lookers = 4

// list lists everything.
func (p *Place) list(ctx context.Context) (*Snapshot, error) {
	s := &Snapshot{Began: time.Now()}
	errs := steps.Each(p.listings(ctx, s), lookers, func(do func() error) error { return do() })
	if err := fleet.JoinErrors(errs...); err != nil {
		return nil, err
	}
	return s, nil
}

// set lists things and finds them by their ids and owners.
func set[T any](into *snapshot.Set[T], list func() ([]T, error), id func(*T) string, tags func(*T) Tags) func() error {
	return func() error {
		all, err := list()
		if err != nil {
			return WrapLook("list what is there", err)
		}
		*into = snapshot.NewSet(all, id, func(t *T) (snapshot.Owner, bool) { return owner(tags(t)) })
		return nil
	}
}

func (p *Place) listings(ctx context.Context, s *Snapshot) []func() error {
	return []func() error{
		set(&s.Instances, func() ([]Instance, error) { return p.Client.Instances(ctx, "tag-key", fleet.TagFleet) }, func(t *Instance) string { return t.ID }, func(t *Instance) Tags { return t.Tags }),
		set(&s.VPCs, func() ([]VPC, error) { return list[VPC, vpcs](ctx, p.Client, "DescribeVpcs", nil) }, func(t *VPC) string { return t.ID }, func(t *VPC) Tags { return t.Tags }),
		set(&s.Subnets, func() ([]Subnet, error) { return list[Subnet, subnets](ctx, p.Client, "DescribeSubnets", nil) }, func(t *Subnet) string { return t.ID }, func(t *Subnet) Tags { return t.Tags }),
		set(&s.Gateways, func() ([]Gateway, error) {
			return list[Gateway, gateways](ctx, p.Client, "DescribeInternetGateways", nil)
		}, func(t *Gateway) string { return t.ID }, func(t *Gateway) Tags { return t.Tags }),
		set(&s.Addresses, func() ([]Address, error) {
			return p.Client.Addresses(ctx, "tag-key", fleet.TagFleet)
		}, func(t *Address) string { return t.ID }, func(t *Address) Tags { return t.Tags }),
		set(&s.NATs, func() ([]NAT, error) { return p.Client.NATs(ctx, "tag-key", fleet.TagFleet) }, func(t *NAT) string { return t.ID }, func(t *NAT) Tags { return t.Tags }),
		set(&s.Tables, func() ([]Table, error) { return list[Table, tables](ctx, p.Client, "DescribeRouteTables", nil) }, func(t *Table) string { return t.ID }, func(t *Table) Tags { return t.Tags }),
		set(&s.Groups, func() ([]Group, error) {
			return p.Client.Groups(ctx, "tag-key", fleet.TagFleet)
		}, func(t *Group) string { return t.ID }, func(t *Group) Tags { return t.Tags }),
		set(&s.Balancers, func() ([]Balancer, error) { return p.balancers(ctx) }, func(t *Balancer) string { return t.ID }, func(t *Balancer) Tags { return t.Tags }),
		set(&s.Targets, func() ([]TargetGroup, error) { return p.targetGroups(ctx) }, func(t *TargetGroup) string { return t.ID }, func(t *TargetGroup) Tags { return t.Tags }),
		set(&s.Secrets, func() ([]Secret, error) { return p.Secrets(ctx, fleet.TagFleet) }, func(t *Secret) string { return t.ID }, func(t *Secret) Tags { return t.Tags }),
	}
}

// balancers lists load balancers of both kinds, with their tags.
func (p *Place) balancers(ctx context.Context) ([]Balancer, error) {
	all, err := p.Balancers(ctx)
	if err != nil {
		return nil, err
	}
	old, err := p.Classics(ctx)
	if err != nil {
		return nil, err
	}
	for _, list := range [][]Balancer{all, old} {
		s := balancing
		var ids []string
		for _, b := range list {
			ids = append(ids, b.ID)
			if b.Classic {
				s = classic
			}
		}
		tags, err := p.tagsOf(ctx, s, ids)
		if err != nil {
			return nil, err
		}
		for i := range list {
			list[i].Tags = tags[list[i].ID]
		}
	}
	return append(all, old...), nil
}

func (p *Place) targetGroups(ctx context.Context) ([]TargetGroup, error) {
	all, err := p.TargetGroups(ctx)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, t := range all {
		ids = append(ids, t.ID)
	}
	tags, err := p.tagsOf(ctx, balancing, ids)
	for i := range all {
		all[i].Tags = tags[all[i].ID]
	}
	return all, err
}

// Clusters returns the clusters that something is there of.
func (s *Snapshot) Clusters() []snapshot.Owner {
	seen := make(map[snapshot.Owner]bool)
	var out []snapshot.Owner
	for _, some := range [][]snapshot.Owner{
		s.live(), s.VPCs.Owners(), s.Subnets.Owners(), s.Gateways.Owners(), s.Addresses.Owners(), s.NATs.Owners(), s.Tables.Owners(),
		s.Groups.Owners(), s.Balancers.Owners(), s.Targets.Owners(), s.Secrets.Owners(),
	} {
		for _, o := range some {
			if !seen[o] {
				seen[o] = true
				out = append(out, o)
			}
		}
	}
	return out
}

// live returns the clusters that have instances.
func (s *Snapshot) live() []snapshot.Owner {
	var out []snapshot.Owner
	for i := range s.Instances.All {
		if o, ok := s.Instances.Owner(s.Instances.All[i].ID); ok && !s.Instances.All[i].Ended() {
			out = append(out, o.Shared())
		}
	}
	return out
}

// Join joins the parameters of requests.
func Join(all ...url.Values) url.Values {
	out := url.Values{}
	for _, some := range all {
		for k, v := range some {
			out[k] = v
		}
	}
	return out
}

// Tagged returns the parameters of tags that things of types are made with.
func Tagged(tags Tags, resources ...string) url.Values {
	out := url.Values{}
	for _, r := range resources {
		tagged(out, r, tags)
	}
	return out
}

// IsOfKubernetes reports whether tags are those of something that controllers of Kubernetes made in a cluster of
// that name.
func IsOfKubernetes(tags Tags, cluster string) bool {
	return tags["kubernetes.io/cluster/"+cluster] == "owned" || tags["elbv2.k8s.aws/cluster"] == cluster
}

// WithoutBalancer returns all but the load balancer with an id.
func WithoutBalancer(all snapshot.Set[Balancer], id string) snapshot.Set[Balancer] {
	return snapshot.NewSet(slices.DeleteFunc(slices.Clone(all.All), func(b Balancer) bool { return b.ID == id }),
		func(b *Balancer) string { return b.ID }, func(b *Balancer) (snapshot.Owner, bool) { return owner(b.Tags) })
}

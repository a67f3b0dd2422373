package azure

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver"
	"fairlead.dev/providers/driver/objects"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/driver/transport/logins"
	"fairlead.dev/providers/infrastructure/azure/api"
	"fairlead.dev/providers/infrastructure/azure/arm"
)

// A site is a subscription, as one service principal sees it.
type site struct {
	*arm.Client
	domain string // of public names
	tick   time.Duration

	mu     sync.Mutex
	places map[string]*place   // by the name of the resource group in lower case
	sizes  map[string]*skuList // by location
}

// A place is a resource group of a site.
type place struct {
	*site
	group string
	lists *snapshot.Cache[*listing]
}

// A skuList has the sizes of a location. It is megabytes long, and changes seldom.
type skuList struct {
	at     time.Time
	sizes  map[string]size
	faults int // domains of an availability set; 0: it is not known
}

// lacks reports whether the subscription may not use a size.
func (l *skuList) lacks(name string) bool {
	s, ok := l.sizes[strings.ToLower(name)]
	return !ok || s.blocked
}

// A size is what a location has of it.
type size struct {
	zones   []string // without those in which the subscription may not use it
	family  string   // of sizes that share a quota
	cores   int
	blocked bool // in the whole location
}

// How long the sizes of a location are kept, and how long one that it lacks.
const (
	skusKept = 24 * time.Hour
	skusMiss = 10 * time.Minute
)

// placeOf returns the resource group of c. It makes no request.
func (p *Provider) placeOf(ctx context.Context, c *fleet.Cluster, spec *api.AzureClusterSpec) (*place, error) {
	op := "find the subscription of " + c.Key.String()
	ref := spec.IdentityRef
	if ref == nil {
		return nil, fleet.Errorf(fleet.Invalid, op, "the AzureCluster has no identityRef")
	}
	o := objects.Companion(c, api.IdentityKind, ref.Name)
	if o == nil || ref.Namespace != "" && ref.Namespace != o.Namespace {
		return nil, fleet.Errorf(fleet.Unauthorized, op, "Git has no %s %s in the namespace of the cluster (add it to the overlay)", api.IdentityKind, ref.Name)
	}
	id, err := objects.Read[api.AzureClusterIdentitySpec](*o, api.IdentityKind)
	if err != nil {
		return nil, err
	}
	switch in, err := id.AllowedNamespaces.LetsIn(c); {
	case err != nil:
		return nil, fleet.Errorf(fleet.Invalid, op, "%s %s: %w", api.IdentityKind, ref.Name, err)
	case !in:
		return nil, fleet.Errorf(fleet.Unauthorized, op, "%s %s does not let in the namespace %s (add it to its allowedNamespaces; {} lets in all)", api.IdentityKind, ref.Name, c.Key.Namespace)
	}
	env := api.Environments()[spec.AzureEnvironment]
	credential, err := p.credential(ctx, *o, id, env)
	if err != nil {
		return nil, err
	}
	credential.Subscription = spec.SubscriptionID
	s, err := p.sites.Client(credential, credential.Account(), func(gate *logins.Gate) (*site, error) {
		return &site{Client: arm.New(credential, p.o.ARM, gate), domain: env.Domain, tick: p.o.Tick, places: make(map[string]*place), sizes: make(map[string]*skuList)}, nil
	})
	if err != nil {
		return nil, err
	}
	return s.place(groupOf(c, spec)), nil
}

// place returns a resource group of the site.
func (s *site) place(group string) *place {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.places[strings.ToLower(group)]
	if at == nil {
		at = &place{site: s, group: group}
		at.lists = snapshot.NewCache(s.tick, "list resource group "+group, at.list)
		s.places[strings.ToLower(group)] = at
	}
	return at
}

// String names a subscription as the place of orphans.
func (s *site) String() string { return "Azure subscription " + s.Subscription() }

// id identifies the resource group as a place of clusters.
func (at *place) id() string {
	return "Azure resource group " + at.Subscription() + "/" + strings.ToLower(at.group)
}

// ID returns the id of a resource in the group.
func (at *place) resource(kind, name string) string {
	return at.kind(kind) + "/" + name
}

// kind returns the id of the resources of a kind in the group.
func (at *place) kind(kind string) string {
	return arm.GroupID(at.Subscription(), at.group) + "/providers/" + kind
}

// A listing is all that a resource group has of what is made for clusters.
type listing struct {
	group *arm.Resource[arm.Group] // nil: there is none
	nics  snapshot.Set[arm.Resource[arm.Interface]]
	disks snapshot.Set[arm.Resource[arm.Disk]]
	vnets snapshot.Set[arm.Resource[arm.VNet]]
	nsgs  snapshot.Set[arm.Resource[arm.NSG]]
	ips   snapshot.Set[arm.Resource[arm.PublicIP]]
	nats  snapshot.Set[arm.Resource[arm.NAT]]
	lbs   snapshot.Set[arm.Resource[arm.Balancer]]
	zones snapshot.Set[arm.Resource[arm.Zone]]
	vms   snapshot.Set[arm.Resource[arm.VM]]
	views map[string]*arm.InstanceView // of VMs that failed, by id in lower case
}

// list lists the resource group. The VMs come last: an interface or a disk whose VM is not there has none.
func (at *place) list(ctx context.Context) (*listing, error) {
	l := &listing{views: make(map[string]*arm.InstanceView)}
	var g arm.Resource[arm.Group]
	switch err := at.Get(ctx, arm.GroupID(at.Subscription(), at.group), &g); {
	case arm.IsMissing(err):
		return l, nil
	case err != nil:
		return nil, err
	}
	l.group = &g
	for _, list := range []func() error{
		func() error { return all(ctx, at, arm.NICs, &l.nics) },
		func() error { return all(ctx, at, arm.Disks, &l.disks) },
		func() error { return all(ctx, at, arm.VNets, &l.vnets) },
		func() error { return all(ctx, at, arm.NSGs, &l.nsgs) },
		func() error { return all(ctx, at, arm.PublicIPs, &l.ips) },
		func() error { return all(ctx, at, arm.NATs, &l.nats) },
		func() error { return all(ctx, at, arm.Balancers, &l.lbs) },
		func() error { return all(ctx, at, arm.Zones, &l.zones) },
		func() error { return all(ctx, at, arm.VMs, &l.vms) },
	} {
		switch err := list(); {
		case arm.IsMissing(err): // the group went meanwhile: the next listing says so
			return nil, fleet.Errorf(fleet.Unavailable, "list resource group "+at.group, "%w", err)
		case err != nil:
			return nil, err
		}
	}
	for _, m := range l.vms.All {
		if m.Properties.Provisioning != "Failed" || tagsFrom(m.Tags)[fleet.TagFleet] == "" {
			continue
		}
		now, err := at.vm(ctx, m.ID)
		switch {
		case err != nil:
			return nil, err
		case now != nil:
			l.views[strings.ToLower(m.ID)] = now.Properties.View
		}
	}
	return l, nil
}

// empty returns an error if something is in the group, or if the services themselves have something there: the listing
// of all types is a copy that may be late.
func (at *place) empty(ctx context.Context) error {
	left, err := arm.List[arm.Resource[struct{}]](ctx, at.Client, arm.GroupID(at.Subscription(), at.group)+"/resources")
	if err != nil && !arm.IsMissing(err) {
		return err
	}
	l, err := at.list(ctx)
	if err != nil {
		return err
	}
	clusters, err := arm.List[arm.Resource[arm.State]](ctx, at.Client, at.kind(arm.ManagedClusters))
	if err != nil && !arm.IsMissing(err) && !arm.IsUnused(err) { // the rights of clusters of VMs do not list AKS
		return err
	}
	n := len(clusters) + len(l.vms.All) + len(l.nics.All) + len(l.disks.All) + len(l.vnets.All) + len(l.nsgs.All) + len(l.ips.All) + len(l.nats.All) + len(l.lbs.All) + len(l.zones.All)
	if n = max(n, len(left)); n == 0 {
		return nil
	}
	var names []string
	for _, r := range left[:min(len(left), mostNames)] {
		names = append(names, r.Type+" "+r.Name)
	}
	return fleet.Errorf(fleet.Conflict, "delete resource group "+at.group, "%d things are in it that are not of the cluster: %s (remove them, and it is deleted)", n, cmp.Or(strings.Join(names, ", "), "some are not listed by Azure yet"))
}

// mostNames is how many things an error names.
const mostNames = 8

// vm looks at a VM by its id; nil: it is not there.
func (at *place) vm(ctx context.Context, id string) (*arm.Resource[arm.VM], error) {
	var now arm.Resource[arm.VM]
	err := at.Get(ctx, id, &now, "$expand", "instanceView")
	if arm.IsMissing(err) {
		return nil, nil
	}
	return &now, err
}

// all lists the resources of a kind in the group.
func all[P any](ctx context.Context, at *place, kind string, out *snapshot.Set[arm.Resource[P]]) error {
	list, err := arm.List[arm.Resource[P]](ctx, at.Client, at.kind(kind))
	if err != nil {
		return err
	}
	*out = setOf(list)
	return nil
}

// setOf returns resources by their ids and owners.
func setOf[P any](list []arm.Resource[P]) snapshot.Set[arm.Resource[P]] {
	return snapshot.NewSet(list, func(r *arm.Resource[P]) string { return strings.ToLower(r.ID) }, func(r *arm.Resource[P]) (snapshot.Owner, bool) {
		tags := tagsFrom(r.Tags)
		o, ok := driver.OwnerOf(tags)
		return o.Part(fleet.MachineName(tags[fleet.TagMachine])), ok
	})
}

// sizeOf returns what a location has of a size; false: it has no such size.
func (s *site) sizeOf(ctx context.Context, location, name string) (size, bool, error) {
	known, err := s.skus(ctx, location, name)
	if err != nil {
		return size{}, false, err
	}
	out, ok := known.sizes[strings.ToLower(name)]
	return out, ok, nil
}

// usualFaultDomains is in how many fault domains an availability set is if the location does not tell.
const usualFaultDomains = 2

// faultDomains returns how many fault domains an availability set has in a location.
func (s *site) faultDomains(ctx context.Context, location string) (int, error) {
	known, err := s.skus(ctx, location, "")
	if err != nil {
		return 0, err
	}
	return cmp.Or(known.faults, usualFaultDomains), nil
}

// known returns the sizes of a location that were read, by name in lower case.
func (s *site) known(location string) map[string]size {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sizes[location] == nil {
		return nil
	}
	return s.sizes[location].sizes
}

// skus returns what a location has, read again if it lacks the size called name; empty: no size is needed.
func (s *site) skus(ctx context.Context, location, name string) (*skuList, error) {
	s.mu.Lock()
	known := s.sizes[location]
	s.mu.Unlock()
	if known == nil || time.Since(known.at) > skusKept || name != "" && time.Since(known.at) > skusMiss && known.lacks(name) {
		list, err := arm.List[arm.SKU](ctx, s.Client, "/subscriptions/"+s.Subscription()+"/providers/Microsoft.Compute/skus", "$filter", "location eq '"+location+"'")
		if err != nil {
			return nil, arm.WrapLook("list sizes of "+location, err)
		}
		known = &skuList{at: time.Now(), sizes: make(map[string]size)}
		for _, k := range list {
			if k.Type == "virtualMachines" {
				known.sizes[strings.ToLower(k.Name)] = sizeFrom(k)
			}
			for _, c := range k.Capabilities {
				if n, err := strconv.Atoi(c.Value); err == nil && k.Type == "availabilitySets" && k.Name == "Aligned" && c.Name == "MaximumPlatformFaultDomainCount" {
					known.faults = n
				}
			}
		}
		s.mu.Lock()
		s.sizes[location] = known
		s.mu.Unlock()
	}
	return known, nil
}

// sizeFrom returns the zones of a size, without those that are restricted.
func sizeFrom(k arm.SKU) size {
	out := size{family: k.Family}
	for _, c := range k.Capabilities {
		if n, err := strconv.Atoi(c.Value); err == nil && c.Name == "vCPUs" {
			out.cores = n
		}
	}
	for _, l := range k.Locations {
		out.zones = append(out.zones, l.Zones...)
	}
	for _, r := range k.Restrictions {
		switch r.Type {
		case "Location":
			out.blocked = true
		case "Zone":
			out.zones = slices.DeleteFunc(out.zones, func(z string) bool { return slices.Contains(r.Info.Zones, z) })
		}
	}
	slices.Sort(out.zones)
	out.zones = slices.Compact(out.zones)
	return out
}

package azure

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/endpoint"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/driver/steps"
	"fairlead.dev/providers/infrastructure/azure/api"
	"fairlead.dev/providers/infrastructure/azure/arm"
)

// A view is what was seen of one cluster. Steps enter into it what they made.
type view struct {
	p     *Provider
	c     *fleet.Cluster
	spec  *api.AzureClusterSpec
	owner snapshot.Owner
	place *place
	l     *listing

	group *arm.Resource[arm.Group] // nil: there is none
	given *arm.Resource[arm.VNet]  // the VNet that Git names, and that is not of the cluster
	zones []string                 // of the size of the control plane

	// What carries the tags of the cluster.
	vnets []arm.Resource[arm.VNet]
	nsgs  []arm.Resource[arm.NSG]
	ips   []arm.Resource[arm.PublicIP]
	nats  []arm.Resource[arm.NAT]
	lbs   []arm.Resource[arm.Balancer]
	dns   []arm.Resource[arm.Zone]
	nics  []arm.Resource[arm.Interface]
	disks []arm.Resource[arm.Disk]

	addresses []arm.Resource[arm.PublicIP] // of machines

	vms []*vm

	// What the cluster has for people, and addresses of services.
	bastions  []arm.Resource[arm.Bastion]
	endpoints []arm.Resource[arm.PrivateEndpoint]

	tables, sets []arm.Resource[arm.State] // route tables and availability sets, of a cluster that goes; else tables that subnets lack

	halves map[string]*arm.Resource[arm.Peering] // other halves of peerings, by the id of their VNet in lower case

	unread error // why one was not found

	links   map[string]string // of private zones, by id in lower case, and how far they are
	records map[string]bool   // of private zones, by name

	kept        bool     // AKS has its control plane
	poolSubnets []string // ids of the subnets of its agent pools
}

// A vm is one that is a machine of the cluster.
type vm struct {
	arm.Resource[arm.VM]
	machine fleet.Machine
	nics    []*arm.Resource[arm.Interface]

	extensions map[string]*arm.Resource[arm.Extension] // by name in lower case; nil: they were not looked at
	unread     error                                   // why they were not found
}

func (m *vm) String() string { return "VM " + m.Name }

// look observes c, with all changes of o.
func (p *Provider) look(ctx context.Context, c *fleet.Cluster, o snapshot.Owner) (*view, error) {
	spec, err := api.ReadShared(c)
	if err != nil {
		return nil, err
	}
	at, err := p.placeOf(ctx, c, spec)
	if err != nil {
		return nil, err
	}
	known := c.Residence.Provider == api.ProviderName
	if was := c.Residence.Place().ID; known && was != "" && was != at.id() {
		return nil, fleet.Errorf(fleet.Unauthorized, "find the resource group of "+c.Key.String(), "Git names %s, and the cluster is in %s (bring it back: a cluster cannot move)", at.id(), was)
	}
	p.watch.Looked(snapshot.OwnerOf(c), []*place{at})
	l, err := at.lists.Get(ctx, o)
	if err != nil {
		return nil, err
	}
	if l.group == nil && known && c.Residence.ControlPlane == fleet.InitializedOnce && !c.Delete {
		return nil, fleet.Errorf(fleet.Unavailable, "find the resource group of "+c.Key.String(), "Azure has no resource group %s, in which the cluster was (restore access to it; if it was deleted, delete the cluster, or recreate it with the annotation %s)", at.group, fleet.RecreateAnnotation)
	}
	v := &view{p: p, c: c, spec: spec, owner: snapshot.OwnerOf(c), place: at, l: l, group: l.group, links: map[string]string{}, records: map[string]bool{}}
	v.sort()
	for _, look := range []func(ctx context.Context) error{v.lookAtVNet, v.lookAtZone, v.lookAtNames, v.lookAtTables, v.lookAtPeerings, v.lookAtBastion, v.lookAtEndpoints} {
		if err := look(ctx); err != nil {
			return nil, err
		}
	}
	v.lookAtExtensions(ctx)
	if c.Delete && !api.IsManaged(c) {
		if err := v.lookAtRest(ctx, false); err != nil {
			return nil, err
		}
	}
	if !c.ServedElsewhere() && !c.Delete {
		if v.zones, err = v.zonesOf(ctx, c.ControlPlane); err != nil {
			return nil, err
		}
	}
	return v, nil
}

// values returns copies of things, by name: the listing is that of others, too.
func values[P any](all []*arm.Resource[P]) []arm.Resource[P] {
	out := make([]arm.Resource[P], 0, len(all))
	for _, t := range all {
		out = append(out, *t)
	}
	slices.SortFunc(out, func(a, b arm.Resource[P]) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// sort finds what is of the cluster in the listing.
func (v *view) sort() {
	l, o := v.l, v.owner
	v.vnets, v.nsgs, v.ips, v.nats = values(l.vnets.SharedBy(o)), values(l.nsgs.SharedBy(o)), values(l.ips.SharedBy(o)), values(l.nats.SharedBy(o))
	for i := range v.vnets { // what steps enter is not seen by others
		v.vnets[i].Properties.Subnets = slices.Clone(v.vnets[i].Properties.Subnets)
		v.vnets[i].Properties.Peerings = slices.Clone(v.vnets[i].Properties.Peerings)
	}
	for i := range v.nsgs {
		v.nsgs[i].Properties.Rules = slices.Clone(v.nsgs[i].Properties.Rules)
	}
	v.lbs, v.dns, v.nics, v.disks = values(l.lbs.SharedBy(o)), values(l.zones.SharedBy(o)), values(l.nics.Of(o)), values(l.disks.Of(o))
	v.addresses = slices.DeleteFunc(values(l.ips.Of(o)), func(a arm.Resource[arm.PublicIP]) bool { return tagsFrom(a.Tags)[fleet.TagMachine] == "" })
	v.nics = slices.DeleteFunc(v.nics, func(n arm.Resource[arm.Interface]) bool { return n.Properties.Endpoint != nil }) // it goes with its private endpoint
	for _, r := range values(l.vms.Of(o)) {
		m := &vm{Resource: r}
		for _, ref := range r.Properties.Network.Interfaces {
			nic := l.nics.Get(strings.ToLower(ref.ID))
			if nic == nil {
				break // the first one is that of the endpoint
			}
			m.nics = append(m.nics, nic)
		}
		m.machine = v.machineOf(m, l.views[strings.ToLower(r.ID)])
		v.vms = append(v.vms, m)
	}
}

// lookAtVNet finds the VNet that Git names, where none carries the tags of the cluster.
func (v *view) lookAtVNet(ctx context.Context) error {
	switch {
	case len(v.vnets) > 0:
		return nil
	case v.vnetInGroup():
		v.given = v.l.vnets.Get(strings.ToLower(v.vnetID()))
		return nil
	}
	var n arm.Resource[arm.VNet]
	switch err := v.place.Get(ctx, v.vnetID(), &n); {
	case arm.IsMissing(err):
	case err != nil:
		return err
	default:
		v.given = &n
	}
	return nil
}

func (v *view) vnetName() string { return cmp.Or(v.spec.NetworkSpec.VNet.Name, v.named("-vnet")) }

// vnetInGroup reports whether the VNet is, or would be, in the resource group of the cluster.
func (v *view) vnetInGroup() bool {
	g := v.spec.NetworkSpec.VNet.ResourceGroup
	return g == "" || strings.EqualFold(g, v.place.group)
}

func (v *view) vnetID() string {
	return arm.GroupID(v.place.Subscription(), cmp.Or(v.spec.NetworkSpec.VNet.ResourceGroup, v.place.group)) + "/providers/" + arm.VNets + "/" + v.vnetName()
}

// lookAtZone finds the private zone of the cluster in another resource group: in the one that Git names or, if it is missing where
// machines know the API server by it, in all of the subscription.
func (v *view) lookAtZone(ctx context.Context) error {
	if v.c.ServedElsewhere() || v.spec.NetworkSpec.APIServerLB.Type != api.Internal || v.spec.NetworkSpec.PrivateDNSZone == "None" {
		return nil
	}
	scopes := []string{v.zoneGroup()}
	if v.started() || v.c.Delete {
		scopes = append(scopes, "/subscriptions/"+v.place.Subscription())
	}
	for i, scope := range scopes {
		if len(v.dns) > 0 || arm.Same(scope, arm.GroupID(v.place.Subscription(), v.place.group)) {
			continue
		}
		all, err := ownOfScope[arm.Zone](ctx, v, scope, arm.Zones, i == 0)
		if err != nil {
			return err
		}
		v.dns = all
	}
	return nil
}

// lookAtNames finds the links and records of private zones of the cluster.
func (v *view) lookAtNames(ctx context.Context) error {
	for _, z := range v.dns {
		links, err := arm.List[arm.Resource[arm.Link]](ctx, v.place.Client, z.ID+"/virtualNetworkLinks")
		if err != nil && !arm.IsMissing(err) {
			return err
		}
		for _, l := range links {
			v.links[strings.ToLower(l.ID)] = cmp.Or(l.Properties.Provisioning, made)
		}
		records, err := arm.List[arm.Resource[struct{}]](ctx, v.place.Client, z.ID+"/A")
		if err != nil && !arm.IsMissing(err) {
			return err
		}
		for _, r := range records {
			v.records[strings.ToLower(r.Name)] = true
		}
	}
	return nil
}

// lookAtRest finds what nothing else needs than a deletion. With all it is an error if something may be unseen.
func (v *view) lookAtRest(ctx context.Context, all bool) (err error) {
	if v.tables, err = ownOf[arm.State](ctx, v, arm.RouteTables, all); err != nil {
		return err
	}
	v.sets, err = ownOf[arm.State](ctx, v, arm.Sets, all)
	return err
}

// ownOf lists what is of the cluster of a kind that not every cluster has, so that its role may not list it: that is an error
// only if it is needed.
func ownOf[P any](ctx context.Context, v *view, kind string, needed bool) ([]arm.Resource[P], error) {
	return ownOfScope[P](ctx, v, arm.GroupID(v.place.Subscription(), v.place.group), kind, needed)
}

// ownOfScope does so in a resource group or a subscription.
func ownOfScope[P any](ctx context.Context, v *view, scope, kind string, needed bool) ([]arm.Resource[P], error) {
	all, err := arm.List[arm.Resource[P]](ctx, v.place.Client, scope+"/providers/"+kind)
	if err != nil && !arm.IsMissing(err) && (needed || !arm.IsUnused(err)) {
		return nil, err
	}
	return slices.DeleteFunc(all, func(r arm.Resource[P]) bool { return !v.c.Owns(tagsFrom(r.Tags)) }), nil
}

// zonesOf returns the zones of the size of a pool: of the cluster's only those that Git names, if any.
func (v *view) zonesOf(ctx context.Context, pool fleet.Pool) ([]string, error) {
	spec, err := api.ReadMachine(pool.Infrastructure)
	if err != nil || v.edge() != nil { // an edge zone has none
		return nil, err
	}
	s, _, err := v.place.sizeOf(ctx, v.spec.Location, spec.VMSize) // one that is not there is an error where a machine is made
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(s.zones), func(z string) bool {
		_, ok := v.spec.FailureDomains[z]
		return len(v.spec.FailureDomains) > 0 && !ok
	}), nil
}

// exists reports whether something is there that machines share.
func (v *view) exists() bool {
	return v.ownGroup() || v.parts() > 0
}

// parts returns the number of things of the cluster that are no VMs.
func (v *view) parts() int {
	return len(v.vnets) + len(v.nsgs) + len(v.ips) + len(v.nats) + len(v.lbs) + len(v.dns) + len(v.nics) + len(v.disks) + len(v.addresses) + len(v.tables) + len(v.sets) + len(v.bastions) + len(v.endpoints)
}

// ownGroup reports whether the resource group was made for the cluster.
func (v *view) ownGroup() bool { return v.group != nil && v.c.Owns(tagsFrom(v.group.Tags)) }

// started reports whether machines are there, or a control plane of AKS.
func (v *view) started() bool { return v.kept || len(v.vms) > 0 }

// changed records that something was changed that machines share.
func (v *view) changed() { v.place.lists.Changed(v.owner) }

// apiPort is the port at which clients reach the API server: that which machines know.
func (v *view) apiPort() int32 {
	if known := v.c.Residence; known.ControlPlane == fleet.InitializedOnce && known.Endpoint.Port != 0 && !v.c.ServedElsewhere() {
		return known.Endpoint.Port
	}
	return v.askedPort()
}

// askedPort is the port of the API server in Git.
func (v *view) askedPort() int32 {
	return cmp.Or(v.c.NamedEndpoint().Port, v.c.Network.APIServerPort, api.DefaultPort)
}

// targetPort is where the API servers listen: where those that are there do, since the load balancer leads to one port
// of all.
func (v *view) targetPort() int32 {
	for _, m := range v.vms {
		if p, err := strconv.ParseInt(tagsFrom(m.Tags)[portTag], 10, 32); err == nil && m.machine.Role == fleet.RoleControlPlane {
			return int32(p)
		}
	}
	return v.c.ControlPlane.ListensAt(fleet.JoinInit)
}

// endpointAt is the endpoint of a cluster whose load balancer has a name or an address.
func (v *view) endpointAt(host string) fleet.Endpoint {
	if v.c.NamedEndpoint().Host != "" {
		host = endpoint.Wanted(v.c).Host
	}
	return fleet.Endpoint{Host: host, Port: v.apiPort()}
}

// perform takes the steps that decide finds, as far as possible, and returns the errors.
func (v *view) perform(ctx context.Context, decide func() *steps.Decision) []error {
	defer v.changed()
	return steps.Perform(ctx, func() []steps.Step { return decide().Steps }, arm.Wrap)
}

// made is how a resource is entered into a view whose PUT was taken.
const made = "Creating"

// stated are the properties of resources that say how far they are.
type stated interface{ ProvisioningState() string }

// settled reports whether a thing that is there can be used: one that is being changed can, if machines use it.
func (v *view) settled(d *steps.Decision, what, state string) bool {
	switch state {
	case "Succeeded", "":
		return true
	case "Updating":
		if v.started() {
			return true
		}
	}
	d.Wait(what + " is " + strings.ToLower(state))
	return false
}

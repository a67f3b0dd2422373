package azure

import (
	"context"
	"maps"
	"slices"
	"strings"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/driver"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/infrastructure/azure/api"
	"fairlead.dev/providers/infrastructure/azure/arm"
)

var _ providers.Adopter = (*Provider)(nil)

// theirCluster begins the tag of what Cluster API's provider made for a cluster.
// Source: CAPZ, api/v1beta1/tags.go.
const theirCluster = "sigs.k8s.io_cluster-api-provider-azure_cluster_"

// adoptedTag says of what was adopted which resource that was: a copy of it was not.
const adoptedTag = "fairlead.dev/adopted"

// An adoption is a thing that Cluster API's provider made for a cluster, and the tags that it is to get.
type adoption struct {
	what, id string // what it is for people: "VNet eu-1-vnet"
	has      arm.Tags
	add      map[string]string
}

// done reports whether the thing has its tags.
func (x *adoption) done() bool {
	has := tagsFrom(x.has)
	for k, v := range x.add {
		if has[k] != v {
			return false
		}
	}
	return true
}

// Adoptable implements providers.Adopter.
func (p *Provider) Adoptable(ctx context.Context, c *fleet.Cluster, machines []providers.AdoptedMachine) ([]string, error) {
	op := "adopt " + c.Key.String()
	f, err := p.adoptions(ctx, op, c, machines)
	if err != nil {
		return nil, arm.WrapLook(op, err)
	}
	var out []string
	for i := range f.all {
		if !f.all[i].done() {
			out = append(out, f.all[i].what)
		}
	}
	slices.Sort(out)
	return out, nil
}

// Adopt implements providers.Adopter: things get tags, and nothing else changes.
func (p *Provider) Adopt(ctx context.Context, c *fleet.Cluster, machines []providers.AdoptedMachine) error {
	op := "adopt " + c.Key.String()
	f, err := p.adoptions(ctx, op, c, machines)
	if err != nil {
		return arm.WrapLook(op, err)
	}
	v := f.view
	defer v.changed()
	for i := range f.all {
		x := &f.all[i]
		if x.done() {
			continue
		}
		if isPool(x.id) {
			if err := f.tagPool(ctx, x); err != nil {
				return arm.Wrap(op+": tag "+x.what, err)
			}
			continue
		}
		var now arm.Resource[struct{}]
		err := v.place.Get(ctx, x.id, &now) // Azure has no condition for tags, and another fleet may be at it
		if has := tagsFrom(now.Tags); err == nil && has[fleet.TagFleet] != "" && !c.Owns(has) {
			return ofOther(op, x.what, has)
		}
		if err == nil {
			err = v.place.Tag(ctx, x.id, tagsFor(x.add))
		}
		if err != nil {
			return arm.Wrap(op+": tag "+x.what, err)
		}
	}
	return nil
}

// ofOther is the error of a thing whose tags name another cluster.
func ofOther(op, what string, has map[string]string) error {
	return fleet.Errorf(fleet.Conflict, op, "%s belongs to cluster %s of fleet %s", what, has[fleet.TagCluster], has[fleet.TagFleet])
}

// Release implements providers.Adopter.
func (p *Provider) Release(ctx context.Context, c *fleet.Cluster, machines []providers.AdoptedMachine) error {
	op := "release " + c.Key.String()
	m, parts, err := p.lookAdopted(ctx, c)
	if err != nil {
		return arm.WrapLook(op, err)
	}
	v := m.view
	if err := v.lookAtRest(ctx, true); err != nil {
		return arm.WrapLook(op, err)
	}
	if err := driver.MayRelease(op, c, v.machines(), machines, func(id fleet.ProviderID) string { return strings.ToLower(string(id)) }); err != nil {
		return err
	}
	all := append(parts, v.adopted()...)
	for i := range all {
		if x := &all[i]; tagsFrom(x.has)[adoptedTag] != v.mark(x.id) {
			return fleet.Errorf(fleet.Conflict, op, "%s was made since it was adopted (delete the cluster with Fairlead)", x.what)
		}
	}
	defer v.changed()
	for i := range all {
		x := &all[i]
		ours := make(arm.Tags)
		for k, value := range x.has {
			if strings.HasPrefix(strings.ToLower(k), tagName("fairlead.dev/")) {
				ours[k] = value
			}
		}
		remove := v.place.Untag
		if isPool(x.id) {
			remove = m.untagPool
		}
		if err := remove(ctx, x.id, ours); err != nil {
			return arm.Wrap(op+": remove the tags of "+x.what, err)
		}
	}
	return nil
}

// lookAdopted looks at c, and at what AKS keeps of it.
func (p *Provider) lookAdopted(ctx context.Context, c *fleet.Cluster) (*managed, []adoption, error) {
	if !api.IsManaged(c) {
		v, err := p.look(ctx, c, snapshot.OwnerOf(c))
		return &managed{view: v}, nil, err
	}
	m, err := p.lookManaged(ctx, c)
	if err != nil {
		return nil, nil, err
	}
	parts, err := m.adoptedParts(ctx)
	return m, parts, err
}

// mark is the value of adoptedTag of the resource with an id.
func (v *view) mark(id string) string { return digest(v.owner, strings.ToLower(id)) }

// adopted returns all that has the tags of the cluster. Machines come last: until they are released, it can be done again.
func (v *view) adopted() []adoption {
	var out []adoption
	if v.ownGroup() {
		out = append(out, adoption{what: "resource group " + v.place.group, id: arm.GroupID(v.place.Subscription(), v.place.group), has: v.group.Tags})
	}
	out = append(out, tagged(v.vnets, arm.VNets)...)
	out = append(out, tagged(v.nsgs, arm.NSGs)...)
	out = append(out, tagged(v.tables, arm.RouteTables)...)
	out = append(out, tagged(v.nats, arm.NATs)...)
	out = append(out, tagged(v.ips, arm.PublicIPs)...)
	out = append(out, tagged(v.lbs, arm.Balancers)...)
	out = append(out, tagged(v.dns, arm.Zones)...)
	out = append(out, tagged(v.sets, arm.Sets)...)
	out = append(out, tagged(v.bastions, arm.Bastions)...)
	out = append(out, tagged(v.endpoints, arm.Endpoints)...)
	out = append(out, tagged(v.addresses, arm.PublicIPs)...)
	out = append(out, tagged(v.nics, arm.NICs)...)
	out = append(out, tagged(v.disks, arm.Disks)...)
	for _, m := range v.vms {
		out = append(out, adoption{what: m.String(), id: m.ID, has: m.Tags})
	}
	return out
}

func tagged[P any](all []arm.Resource[P], kind string) (out []adoption) {
	for i := range all {
		out = append(out, adoption{what: kindName(kind) + " " + all[i].Name, id: all[i].ID, has: all[i].Tags})
	}
	return out
}

// A finder looks for what Cluster API's provider made of a cluster, by the names that it and Fairlead give, and its tags.
type finder struct {
	*view
	managed *managed // nil: AKS does not keep its control plane
	op      string
	all     []adoption
}

// adoptions returns what Cluster API's provider made for c, with the tags that it is to get. If one thing is missing or
// somebody else's, there is only the error.
func (p *Provider) adoptions(ctx context.Context, op string, c *fleet.Cluster, machines []providers.AdoptedMachine) (*finder, error) {
	f := &finder{op: op}
	if api.IsManaged(c) {
		m, err := p.lookManaged(ctx, c)
		if err != nil {
			return nil, err
		}
		f.view, f.managed = m.view, m
	} else {
		v, err := p.look(ctx, c, snapshot.OwnerOf(c))
		if err != nil {
			return nil, err
		}
		if f.view = v; len(machines) == 0 { // there is no cluster without machines
			return f, nil
		}
	}
	v := f.view
	if v.group == nil {
		return nil, fleet.Errorf(fleet.NotFound, op, "there is no resource group %s (name that of Cluster API in resourceGroup)", v.place.group)
	}
	var tables, sets []arm.Resource[arm.State]
	for kind, out := range map[string]*[]arm.Resource[arm.State]{arm.RouteTables: &tables, arm.Sets: &sets} {
		var err error
		if *out, err = arm.List[arm.Resource[arm.State]](ctx, v.place.Client, v.place.kind(kind)); err != nil && !arm.IsMissing(err) {
			return nil, err
		}
	}
	if f.theirs(v.group.Tags) || c.Owns(tagsFrom(v.group.Tags)) {
		f.add("resource group "+v.place.group, arm.GroupID(v.place.Subscription(), v.place.group), "group", v.group.Tags)
	}
	if f.managed != nil {
		if err := f.plane(ctx); err != nil {
			return nil, err
		}
	}
	for _, find := range []func() error{func() error { return f.machines(machines) }, func() error { return f.network(tables) }, func() error { return f.endpoint(ctx) }, f.outbound, func() error { return f.access(ctx) }} {
		if err := find(); err != nil {
			return nil, err
		}
	}
	f.setsOf(sets)
	for i := range f.all {
		x := &f.all[i]
		has := tagsFrom(x.has)
		switch {
		case has[fleet.TagFleet] == "":
			most := mostTags
			if strings.Contains(strings.ToLower(x.id), strings.ToLower("/"+arm.Zones+"/")) {
				most = mostZoneTags
			}
			if len(x.has)+len(x.add) > most {
				return nil, fleet.Errorf(fleet.Invalid, op, "%s would have %d tags, and Azure takes %d (remove some)", x.what, len(x.has)+len(x.add), most)
			}
		case !c.Owns(has):
			return nil, ofOther(op, x.what, has)
		case has[adoptedTag] != v.mark(x.id):
			return nil, fleet.Errorf(fleet.Conflict, op, "%s has the tags of the cluster, and was not adopted", x.what)
		}
	}
	return f, nil
}

// theirs reports whether Cluster API's provider made something for the cluster.
func (f *finder) theirs(tags arm.Tags) bool {
	for k, v := range tags {
		if strings.EqualFold(k, theirCluster+f.c.Key.Name) {
			return v == "owned"
		}
	}
	return false
}

// add adds a thing that is to be a part of the cluster.
func (f *finder) add(what, id, part string, has arm.Tags) {
	tags := f.c.Tags()
	tags[partTag] = part
	f.with(what, id, has, tags)
}

func (f *finder) with(what, id string, has arm.Tags, tags map[string]string) {
	out := maps.Clone(tags)
	out[adoptedTag] = f.mark(id)
	f.all = append(f.all, adoption{what: what, id: id, has: has, add: out})
}

// part adds the thing of a kind called name as a part of the cluster. field is where Git names it.
func part[P any](f *finder, all snapshot.Set[arm.Resource[P]], kind, name, as, field string) (*arm.Resource[P], error) {
	what := kindName(kind) + " " + name
	r := all.Get(strings.ToLower(f.idOf(kind, name)))
	switch {
	case r == nil:
		return nil, fleet.Errorf(fleet.NotFound, f.op, "resource group %s has no %s (name that of Cluster API in %s)", strings.Split(f.idOf(kind, name), "/")[4], what, field)
	case !f.theirs(r.Tags) && !f.c.Owns(tagsFrom(r.Tags)):
		return nil, fleet.Errorf(fleet.Conflict, f.op, "%s has no tag %s=owned (it is not of this cluster; name that of Cluster API in %s)", what, theirCluster+f.c.Key.Name, field)
	}
	f.add(what, r.ID, as, r.Tags)
	return r, nil
}

// machines finds the VMs with their interfaces and disks.
func (f *finder) machines(machines []providers.AdoptedMachine) error {
	all, err := driver.Adoptions(machines, func(m providers.AdoptedMachine) (x driver.Adoption[*arm.Resource[arm.VM]], err error) {
		const op = "find its VM"
		tags, ok := providers.AdoptionTags(f.c, m)
		if !ok {
			return x, fleet.Errorf(fleet.Invalid, op, "the cluster has no pool %s", m.Pool)
		}
		i := slices.IndexFunc(f.l.vms.All, func(r arm.Resource[arm.VM]) bool { return strings.EqualFold(string(providerID(r.ID)), string(m.ID)) })
		if i < 0 || f.l.vms.All[i].Properties.Provisioning == "Deleting" {
			return x, fleet.Errorf(fleet.NotFound, op, "resource group %s has no VM with its provider id %q (scale sets are not adopted)", f.place.group, m.ID)
		}
		r := &f.l.vms.All[i]
		if !strings.EqualFold(r.Name, string(m.Name)) {
			return x, fleet.Errorf(fleet.Invalid, op, "VM %s has another name than the machine", r.Name)
		}
		return driver.Adoption[*arm.Resource[arm.VM]]{Machine: m.Name, Thing: r, ID: strings.ToLower(r.ID), Where: "VM " + r.Name, Tags: tags}, nil
	}, arm.Wrap)
	for _, x := range all {
		vm := x.Thing
		for _, ref := range vm.Properties.Network.Interfaces {
			if nic := f.l.nics.Get(strings.ToLower(ref.ID)); nic != nil {
				f.with("interface "+nic.Name, nic.ID, nic.Tags, x.Tags)
				f.addressesOf(nic, vm.Name, x.Tags)
			}
		}
		for i := range f.l.disks.All {
			if d := &f.l.disks.All[i]; arm.Same(d.ManagedBy, vm.ID) && strings.HasPrefix(strings.ToLower(d.Name), strings.ToLower(vm.Name+"_")) {
				f.with("disk "+d.Name, d.ID, d.Tags, x.Tags)
			}
		}
		f.with(x.Where, vm.ID, vm.Tags, x.Tags)
	}
	return err
}

// addressesOf finds the public address of an interface that Cluster API's provider made for a machine called name.
func (f *finder) addressesOf(nic *arm.Resource[arm.Interface], name string, tags map[string]string) {
	for _, c := range nic.Properties.Configurations {
		if c.Properties.Public == nil {
			continue
		}
		ip := f.l.ips.Get(strings.ToLower(c.Properties.Public.ID))
		if ip != nil && strings.EqualFold(ip.Name, theirPublic+name) && (f.theirs(ip.Tags) || f.c.Owns(tagsFrom(ip.Tags))) {
			f.with("public address "+ip.Name, ip.ID, ip.Tags, tags)
		}
	}
}

// network finds what the VNet consists of, if Cluster API's provider made it.
func (f *finder) network(tables []arm.Resource[arm.State]) error {
	vnet := f.l.vnets.Get(strings.ToLower(f.vnetID()))
	if vnet == nil || !f.theirs(vnet.Tags) && !f.c.Owns(tagsFrom(vnet.Tags)) {
		if f.given == nil {
			return fleet.Errorf(fleet.NotFound, f.op, "there is no VNet %s (name that of Cluster API in networkSpec.vnet)", f.vnetName())
		}
		if f.given != nil && f.theirs(f.given.Tags) {
			return fleet.Errorf(fleet.Invalid, f.op, "VNet %s, which Cluster API made, is in another resource group than the cluster (leave the cluster with Cluster API)", f.vnetName())
		}
		return nil // it is people's
	}
	f.add("VNet "+vnet.Name, vnet.ID, vnetPart, vnet.Tags)
	for i := range f.spec.NetworkSpec.Subnets {
		s := &f.spec.NetworkSpec.Subnets[i]
		name := f.subnetName(s)
		if !slices.ContainsFunc(vnet.Properties.Subnets, func(r arm.Resource[arm.Subnet]) bool { return strings.EqualFold(r.Name, name) }) {
			return fleet.Errorf(fleet.NotFound, f.op, "VNet %s has no subnet %s (name those of Cluster API in networkSpec.subnets)", vnet.Name, name)
		}
		if f.managed != nil { // AKS makes what the subnet needs beside it
			continue
		}
		group := f.groupName(s)
		if _, err := part(f, f.l.nsgs, arm.NSGs, group, "nsg-"+s.Role+"-"+group, "networkSpec.subnets.securityGroup"); err != nil {
			return err
		}
		if !f.hasNAT(s) {
			continue
		}
		nat := f.natName(s)
		if f.has("NAT gateway " + nat) {
			continue // subnets share it
		}
		if _, err := part(f, f.l.nats, arm.NATs, nat, "nat-"+nat, "networkSpec.subnets.natGateway"); err != nil {
			return err
		}
		if _, err := part(f, f.l.ips, arm.PublicIPs, f.natIPName(s), f.natIPPart(nat), "networkSpec.subnets.natGateway.ip"); err != nil {
			return err
		}
	}
	for _, t := range tables {
		if f.theirs(t.Tags) || f.c.Owns(tagsFrom(t.Tags)) {
			f.add("route table "+t.Name, t.ID, routesPart+t.Name, t.Tags)
		}
	}
	return nil
}

// setsOf finds the availability sets, also those of pools that are called otherwise here, or are gone.
func (f *finder) setsOf(all []arm.Resource[arm.State]) {
	for _, s := range all {
		if !f.theirs(s.Tags) && !f.c.Owns(tagsFrom(s.Tags)) {
			continue
		}
		part := setPart + s.Name
		for _, p := range f.c.Pools() {
			if strings.EqualFold(s.Name, f.setName(p)) {
				part = setPart + string(p.Name)
			}
		}
		f.add("availability set "+s.Name, s.ID, part, s.Tags)
	}
}

// access finds the bastion and the private endpoints that Git names.
func (f *finder) access(ctx context.Context) error {
	if f.bastion() != nil {
		if _, err := part(f, f.l.ips, arm.PublicIPs, f.bastionIPName(), bastionIPPart, "bastionSpec.azureBastion.publicIP"); err != nil {
			return err
		}
		if err := listed(ctx, f, arm.Bastions, f.bastionName(), bastionPart, "bastionSpec.azureBastion"); err != nil {
			return err
		}
	}
	for i := range f.spec.NetworkSpec.Subnets {
		for _, e := range f.spec.NetworkSpec.Subnets[i].PrivateEndpoints {
			if err := listed(ctx, f, arm.Endpoints, e.Name, partOfEndpoint(e.Name), "networkSpec.subnets.privateEndpoints"); err != nil {
				return err
			}
		}
	}
	return nil
}

// outbound finds the outbound load balancers that Git names, with their addresses.
func (f *finder) outbound() error {
	for _, o := range f.outbounds() {
		if _, err := part(f, f.l.lbs, arm.Balancers, o.name, o.part(), o.field); err != nil {
			return err
		}
		for i := range o.FrontendIPs {
			if _, err := part(f, f.l.ips, arm.PublicIPs, o.ip(f.view, i), o.ipPart(i), o.field+".frontendIPs"); err != nil {
				return err
			}
		}
	}
	return nil
}

// listed adds a thing of a kind that no listing of the cluster has, as part does.
func listed(ctx context.Context, f *finder, kind, name, as, field string) error {
	var is arm.Resource[arm.State]
	err := f.place.Get(ctx, f.idOf(kind, name), &is)
	var all snapshot.Set[arm.Resource[arm.State]]
	switch {
	case err == nil:
		all = setOf([]arm.Resource[arm.State]{is})
	case !arm.IsMissing(err):
		return err
	}
	_, err = part(f, all, kind, name, as, field)
	return err
}

func (f *finder) has(what string) bool {
	return slices.ContainsFunc(f.all, func(x adoption) bool { return x.what == what })
}

// endpoint finds the load balancer of the API server, with its address and name.
func (f *finder) endpoint(ctx context.Context) error {
	if f.c.ServedElsewhere() {
		return nil
	}
	const field = "networkSpec.apiServerLB"
	lb, err := part(f, f.l.lbs, arm.Balancers, f.balancerName(), balancerPart, field+".name")
	if err != nil {
		return err
	}
	if f.spec.NetworkSpec.APIServerLB.Type == api.Internal {
		if f.spec.NetworkSpec.PrivateDNSZone != "None" {
			err = listed(ctx, f, arm.Zones, f.zoneName(), zonePart, "networkSpec.privateDNSZoneName and privateDNSZoneResourceGroup")
		}
		return err
	}
	ip, err := part(f, f.l.ips, arm.PublicIPs, f.balancerIPName(), balancerIPPart, field+".frontendIPs.publicIP.name")
	switch {
	case err != nil:
		return err
	case !slices.ContainsFunc(lb.Properties.Frontends, func(r arm.Resource[arm.Frontend]) bool { return refers(r.Properties.PublicIP, ip.ID) }):
		return fleet.Errorf(fleet.Invalid, f.op, "load balancer %s does not have public address %s (name its own in %s.frontendIPs.publicIP.name)", lb.Name, ip.Name, field)
	case !strings.EqualFold(ip.Properties.DNS.Label, f.label()):
		return fleet.Errorf(fleet.Invalid, f.op, "public address %s is called %s, and Git calls it %s.* (set %s.frontendIPs.publicIP.dnsName to %s)", ip.Name, ip.Properties.DNS.FQDN, f.label(), field, ip.Properties.DNS.FQDN)
	}
	return nil
}

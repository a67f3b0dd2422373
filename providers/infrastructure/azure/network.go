package azure

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strings"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver"
	"fairlead.dev/providers/driver/steps"
	"fairlead.dev/providers/infrastructure/azure/api"
	"fairlead.dev/providers/infrastructure/azure/arm"
)

// A network is where the machines of a cluster are, as far as it exists.
type network struct {
	vnet    string // its id
	subnets []subnet
	bastion string // the id of the subnet of the bastion; empty: it is not ready
}

// A subnet is one that is ready.
type subnet struct {
	role, name, id string
	six            bool // machines have addresses of IPv6 in it, too
}

// subnet returns the one for machines of a role, or that of a name; nil: it is not ready.
func (n network) subnet(role fleet.Role, name string) *subnet {
	want := api.NodeSubnet
	if role == fleet.RoleControlPlane {
		want = api.ControlPlaneSubnet
	}
	for i := range n.subnets {
		if s := &n.subnets[i]; name == "" && (s.role == want || s.role == api.ClusterSubnet) || name != "" && strings.EqualFold(s.name, name) {
			return s
		}
	}
	return nil
}

// network decides about the resource group, the VNet, and what its subnets have.
func (v *view) network(d *steps.Decision) network {
	if v.group == nil {
		v.createGroup(d)
		return network{}
	}
	if v.group.Properties.Provisioning == "Deleting" {
		d.Wait("resource group " + v.place.group + " is being deleted")
		return network{}
	}
	is, id := v.given, v.vnetID()
	if len(v.vnets) > 0 {
		is = partOf(v.vnets, vnetPart, v.vnetName())
	}
	if is != nil {
		id = is.ID
	}
	if was := v.vnetOfMachines(); was != "" && !arm.Same(id, was) {
		d.Fault(fleet.Errorf(fleet.Conflict, "find networkSpec.vnet", "the machines are in VNet %s, and Git names %s (put it back, or make another cluster)", was, id))
		return network{}
	}
	if is != nil && !strings.EqualFold(cmp.Or(is.Location, v.spec.Location), v.spec.Location) {
		d.Fault(fleet.Errorf(fleet.Invalid, "find networkSpec.vnet", "VNet %s is in %s and the cluster in %s (put the location back, or name a VNet there)", is.Name, is.Location, v.spec.Location))
		return network{}
	}
	if e := v.edge(); is != nil && !sameTexts(edgesOf(is.Extended), edgesOf(e)) {
		d.Fault(fleet.Errorf(fleet.Invalid, "find networkSpec.vnet", "VNet %s is in edge zone %q and the cluster in %q (put extendedLocation back, or name a VNet there)", is.Name, strings.Join(edgesOf(is.Extended), ""), strings.Join(edgesOf(e), "")))
		return network{}
	}
	n := network{}
	if v.given != nil {
		n = v.givenNetwork(d)
	} else {
		n = v.ownNetwork(d)
	}
	v.aside(d, !v.started(), func(d *steps.Decision) {
		v.makeBastion(d, n.bastion)
		v.privateEndpoints(d, n)
	})
	return n
}

// edgesOf returns the name of an edge zone, if there is one.
func edgesOf(e *arm.Edge) []string {
	if e == nil {
		return nil
	}
	return []string{e.Name}
}

// aside decides about a part of a network. If it is not essential, no machine waits for it.
func (v *view) aside(d *steps.Decision, essential bool, decide func(d *steps.Decision)) {
	part := new(steps.Decision)
	decide(part)
	for _, s := range part.Steps {
		s.Essential = s.Essential && essential
		d.Add(s)
	}
	for _, what := range part.Waits {
		v.pending(d, what, essential)
	}
	d.Faults, d.Missing = append(d.Faults, part.Faults...), d.Missing || part.Missing && essential
}

// vnetPart is the VNet of the cluster.
const vnetPart = "vnet"

// vnetOfMachines returns the id of the VNet that machines are in: a VM keeps its VNet. Empty: there is no machine.
func (v *view) vnetOfMachines() string {
	for _, id := range v.poolSubnets {
		if id != "" {
			return vnetOf(id)
		}
	}
	for _, m := range v.vms {
		for _, nic := range m.nics {
			for _, c := range nic.Properties.Configurations {
				if s := c.Properties.Subnet; s != nil && m.machine.Damaged == "" { // a VM that was restored may be elsewhere
					return vnetOf(s.ID)
				}
			}
		}
	}
	return ""
}

// twin names another cluster of the resource group that has the name of this one; empty: there is none.
func (v *view) twin() string {
	var out string
	for _, o := range slices.Concat(v.l.lbs.Owners(), v.l.vnets.Owners(), v.l.vms.Owners()) {
		if o != v.owner && o.Cluster.Name == v.c.Key.Name {
			out = max(out, "cluster "+o.Cluster.String()+" of fleet "+string(o.Fleet))
		}
	}
	return out
}

func (v *view) createGroup(d *steps.Decision) {
	d.Add(steps.Step{What: "create resource group " + v.place.group, Essential: true, Do: func(ctx context.Context) error {
		id := arm.GroupID(v.place.Subscription(), v.place.group)
		g := arm.Resource[arm.Group]{}
		err := v.place.Get(ctx, id, &g) // Azure documents no condition for the PUT of a group, which would take its tags
		if arm.IsMissing(err) {
			g.Location, g.Tags = v.spec.Location, v.shared("group", nil)
			err = v.place.Put(ctx, id, map[string]any{"location": g.Location, "tags": g.Tags}, arm.Absent())
		}
		if err == nil {
			v.group = &g
		}
		return err
	}})
}

// givenNetwork is a VNet that people gave the cluster. Nothing of it is changed.
func (v *view) givenNetwork(d *steps.Decision) network {
	n := network{vnet: v.given.ID}
	find := func(d *steps.Decision, name, field string) string {
		if s := subnetOf(v.given, name); s != nil {
			return s.ID
		}
		d.Fault(fleet.Errorf(fleet.Invalid, "find "+field, "VNet %s, which is not of the cluster, has no subnet %s (name one that exists, or name another VNet in networkSpec.vnet.name)", v.given.Name, name))
		return ""
	}
	if len(v.spec.NetworkSpec.VNet.Peerings) > 0 {
		d.CannotFollow("networkSpec.vnet.peerings", "VNet %s is not of the cluster (leave peerings out, and connect it yourself)", v.given.Name)
	}
	for i := range v.spec.NetworkSpec.Subnets {
		want := &v.spec.NetworkSpec.Subnets[i]
		name := v.subnetName(want)
		id := find(d, name, "networkSpec.subnets")
		if id == "" {
			continue
		}
		six := slices.ContainsFunc(ranges(subnetOf(v.given, name)), isSix)
		if wantsSix(want) && !six {
			lacks := fleet.Errorf(fleet.Invalid, "find networkSpec.subnets", "subnet %s of VNet %s, which is not of the cluster, has no range of IPv6 (add one in Azure, or leave it out of cidrBlocks)", name, v.given.Name)
			v.aside(d, !v.started(), func(d *steps.Decision) { d.Fault(lacks) })
		}
		n.subnets = append(n.subnets, subnet{want.Role, name, id, wantsSix(want) && six})
	}
	if v.bastion() != nil {
		v.aside(d, !v.started(), func(d *steps.Decision) { n.bastion = find(d, api.BastionSubnetName, "bastionSpec.azureBastion") })
	}
	return n
}

// partOf returns the thing that is a part of the cluster: of those that people copied, the one with its name. Nil: it
// is not there.
func partOf[P any](all []arm.Resource[P], part, name string) *arm.Resource[P] {
	var out *arm.Resource[P]
	for i := range all {
		if r := &all[i]; tagsFrom(r.Tags)[partTag] == part && (out == nil || strings.EqualFold(r.Name, name)) {
			out = r
		}
	}
	return out
}

// claim returns the step that makes a part of the cluster. Body is what it is, without tags and location. Azure
// documents no condition for the PUT of most things of a network, which would replace one of others: it looks before.
func claim[P any](v *view, into *[]arm.Resource[P], kind, part, name string, tags map[string]string, body map[string]any) steps.Step {
	what := "create " + kindName(kind) + " " + name
	return steps.Step{What: what, Essential: true, Do: func(ctx context.Context) error {
		r := arm.Resource[P]{ID: v.idOf(kind, name), Name: name, Location: v.spec.Location, Tags: v.shared(part, tags)}
		body["tags"], body["location"] = r.Tags, r.Location
		v.inEdge(kind, body)
		r.Extended = v.edge()
		if kind == arm.Zones {
			body["location"] = "global"
		}
		var is arm.Resource[arm.State]
		err := v.place.Get(ctx, r.ID, &is)
		switch tags := tagsFrom(is.Tags); {
		case arm.IsMissing(err):
		case err != nil || v.c.Owns(tags) && tags[partTag] == part: // it is in the next listing
			return err
		default:
			return fleet.Errorf(fleet.Conflict, "", "there is one of that name that is not of the cluster (name another in Git, or remove it; if it was made for the cluster, restore its tags, %s: %s)", tagName(partTag), part)
		}
		err = v.place.Put(ctx, r.ID, body, arm.Absent())
		if err == nil {
			*into = append(*into, r)
		}
		return err
	}}
}

// kindName names a kind for people.
func kindName(kind string) string {
	return map[string]string{
		arm.VNets: "VNet", arm.NSGs: "network security group", arm.PublicIPs: "public address", arm.NATs: "NAT gateway",
		arm.Balancers: "load balancer", arm.Zones: "private zone", arm.NICs: "interface", arm.Disks: "disk", arm.VMs: "VM", arm.RouteTables: "route table", arm.Sets: "availability set",
		arm.Bastions: "bastion", arm.Endpoints: "private endpoint",
	}[kind]
}

// there decides about a part: whether it is there, and can be used. One whose making failed is made again.
func there[P stated](v *view, d *steps.Decision, all *[]arm.Resource[P], kind, part, name string, tags map[string]string, body func() map[string]any) *arm.Resource[P] {
	r := partOf(*all, part, name)
	if r == nil {
		d.Add(claim(v, all, kind, part, name, tags, body()))
		return nil
	}
	if !strings.EqualFold(r.Name, name) {
		d.CannotFollow("the name of "+kindName(kind)+" "+r.Name, "it cannot get the name %s (put it back, or make another cluster)", name)
	}
	s := r.Properties.ProvisioningState()
	if r.ETag == "" && s == "" {
		s = made // by this process, a moment ago
	}
	if s != "Failed" {
		if !v.settled(d, kindName(kind)+" "+r.Name, s) {
			return nil
		}
		return r
	}
	d.Add(steps.Step{What: "repair " + kindName(kind) + " " + r.Name, Essential: !v.started(), Do: func(ctx context.Context) error {
		return v.edit(ctx, r.ID, func(map[string]any) error { return nil })
	}})
	if !v.started() {
		return nil
	}
	return r
}

// orFailed returns a part that can be used, or else the one that failed: a repair leaves what of it differs from Git, which the status shows.
func orFailed[P stated](is *arm.Resource[P], all []arm.Resource[P], part, name string) *arm.Resource[P] {
	if r := partOf(all, part, name); is == nil && r != nil && r.Properties.ProvisioningState() == failed {
		return r
	}
	return is
}

// edit changes a resource of the network: it is written as it is read, with its ETag.
func (v *view) edit(ctx context.Context, id string, change func(properties map[string]any) error) error {
	var now map[string]any
	if err := v.place.Get(ctx, id, &now); err != nil {
		return err
	}
	p, ok := now["properties"].(map[string]any)
	if !ok {
		return fleet.Errorf(fleet.Unavailable, "read "+id, "it has no properties")
	}
	etag, _ := now["etag"].(string)
	has, _ := now["tags"].(map[string]any)
	tags := make(arm.Tags)
	for k, x := range has {
		tags[k], _ = x.(string)
	}
	if o, ok := driver.OwnerOf(tagsFrom(tags)); ok && o != v.owner {
		return fleet.Errorf(fleet.Conflict, "", "it is of cluster %s by now", o.Cluster)
	}
	if err := change(p); err != nil {
		return err
	}
	return v.place.Put(ctx, id, now, arm.Unchanged(etag))
}

// ownNetwork is a VNet that is made for the cluster, with its subnets, network security groups and NAT gateways.
func (v *view) ownNetwork(d *steps.Decision) network {
	if len(v.vnets) == 0 && !v.vnetInGroup() {
		d.Fault(fleet.Errorf(fleet.Invalid, "find networkSpec.vnet", "resource group %s has no VNet %s (name one that exists, or leave vnet.resourceGroup out)", v.spec.NetworkSpec.VNet.ResourceGroup, v.vnetName()))
		return network{}
	}
	cidr := v.spec.NetworkSpec.VNet.CIDRBlocks
	vnet := there(v, d, &v.vnets, arm.VNets, vnetPart, v.vnetName(), v.spec.NetworkSpec.VNet.Tags, func() map[string]any {
		return map[string]any{"properties": map[string]any{"addressSpace": map[string]any{"addressPrefixes": cidr}}}
	})
	if vnet != nil && !hasAll(vnet.Properties.AddressSpace.Prefixes, cidr) {
		d.CannotFollow("networkSpec.vnet.cidrBlocks", "VNet %s has %s and not %s (%s)", vnet.Name, strings.Join(vnet.Properties.AddressSpace.Prefixes, ", "), strings.Join(cidr, ", "), rangesHint(vnet.Properties.AddressSpace.Prefixes, cidr))
	}
	n := network{}
	busy := vnet == nil || vnet.Properties.Provisioning == "Updating"
	if vnet != nil {
		n.vnet = vnet.ID
		for _, s := range vnet.Properties.Subnets { // one at a time
			busy = busy || s.Properties.Provisioning == "Updating" || s.Properties.Provisioning == "Creating"
		}
		for i := range vnet.Properties.Peerings {
			busy = busy || underWay(&vnet.Properties.Peerings[i])
		}
	}
	for i := range v.spec.NetworkSpec.Subnets {
		want := &v.spec.NetworkSpec.Subnets[i]
		if api.IsManaged(v.c) { // AKS makes what the subnet needs beside it
			if vnet != nil {
				if id := v.subnet(d, vnet, want, "", "", "", &busy); id != "" {
					n.subnets = append(n.subnets, subnet{want.Role, v.subnetName(want), id, false})
				}
			}
			continue
		}
		nsg := v.securityGroup(d, want)
		nat, out := "", true
		if v.hasNAT(want) {
			g := v.natGateway(d, want)
			if out = g != nil; out {
				nat = g.ID
			}
		}
		table, there := v.routeTable(d, vnet, want)
		if vnet == nil || nsg == nil || !out || !there {
			continue
		}
		if id := v.subnet(d, vnet, want, nsg.ID, nat, table, &busy); id != "" {
			six := wantsSix(want) && slices.ContainsFunc(ranges(v.existing(vnet, want)), isSix)
			n.subnets = append(n.subnets, subnet{want.Role, v.subnetName(want), id, six})
		}
	}
	if vnet != nil {
		if v.bastion() != nil {
			v.aside(d, !v.started(), func(d *steps.Decision) { n.bastion = v.bastionSubnet(d, vnet, &busy) })
		}
		v.peer(d, vnet, busy)
	}
	return n
}

// hasNAT reports whether machines of a subnet reach the internet through a NAT gateway: those of a control plane with
// a public load balancer, or with an outbound one, do so through that, and so do nodes with IPv6 and an outbound one.
// Source: CAPZ, api/v1beta1/azurecluster_default.go.
func (v *view) hasNAT(s *api.Subnet) bool {
	switch n := &v.spec.NetworkSpec; {
	case s.NATGateway != nil:
		return true
	case s.Role == api.NodeSubnet && wantsSix(s):
		return n.NodeOutboundLB == nil
	case s.Role != api.ControlPlaneSubnet || v.c.ServedElsewhere():
		return true
	default:
		return v.isInternal() && n.ControlPlaneOutboundLB == nil
	}
}

// natGateway decides about a NAT gateway and its address, and returns it once it is ready.
func (v *view) natGateway(d *steps.Decision, s *api.Subnet) *arm.Resource[arm.NAT] {
	name := v.natName(s)
	var zones []string
	var want *api.PublicIP
	if s.NATGateway != nil {
		zones, want = s.NATGateway.Zones, s.NATGateway.IP
	}
	ip := there(v, d, &v.ips, arm.PublicIPs, v.natIPPart(name), v.natIPName(s), nil, func() map[string]any {
		label := ""
		if want != nil {
			label = labelIn(want.DNSName)
		}
		return withZones(addressOf(want, label), zones)
	})
	if ip == nil {
		return nil
	}
	compareTags(d, ip, want, "networkSpec.subnets.natGateway.ip")
	v.nameAddress(d, ip, want)
	return there(v, d, &v.nats, arm.NATs, "nat-"+name, name, nil, func() map[string]any {
		return withZones(map[string]any{"sku": map[string]any{"name": "Standard"}, "properties": map[string]any{"publicIpAddresses": []arm.Ref{{ID: ip.ID}}, "idleTimeoutInMinutes": api.DefaultIdle}}, zones)
	})
}

// routesPart begins the parts of a cluster that are route tables.
const routesPart = "routes-"

// routeTable decides about the route table that Git names for a subnet, and returns its id once it is ready. A subnet that is
// there does not wait for it, and neither do further machines.
func (v *view) routeTable(d *steps.Decision, vnet *arm.Resource[arm.VNet], s *api.Subnet) (id string, ready bool) {
	if s.RouteTable == nil || v.hasTable(vnet, s) {
		return "", true
	}
	name, is := s.RouteTable.Name, v.existing(vnet, s) != nil
	var t *arm.Resource[arm.State]
	v.aside(d, !is, func(d *steps.Decision) {
		t = there(v, d, &v.tables, arm.RouteTables, routesPart+name, name, nil, func() map[string]any {
			return map[string]any{"properties": map[string]any{}}
		})
	})
	if t == nil {
		return "", is
	}
	return t.ID, true
}

// existing returns the subnet of vnet that Git means; nil: it is not there.
func (v *view) existing(vnet *arm.Resource[arm.VNet], s *api.Subnet) *arm.Resource[arm.Subnet] {
	if vnet == nil {
		return nil
	}
	return subnetOf(vnet, v.subnetName(s))
}

// subnetOf returns the subnet of a name; nil: it is not there.
func subnetOf(vnet *arm.Resource[arm.VNet], name string) *arm.Resource[arm.Subnet] {
	for i := range vnet.Properties.Subnets {
		if s := &vnet.Properties.Subnets[i]; strings.EqualFold(s.Name, name) {
			return s
		}
	}
	return nil
}

// hasTable reports whether a subnet has the route table that Git names for it. It is not looked at then.
func (v *view) hasTable(vnet *arm.Resource[arm.VNet], s *api.Subnet) bool {
	is := v.existing(vnet, s)
	return is != nil && refers(is.Properties.Table, v.place.resource(arm.RouteTables, s.RouteTable.Name))
}

// lookAtTables finds the route tables that Git names and subnets do not have: others are not read.
func (v *view) lookAtTables(ctx context.Context) error {
	if v.given != nil || v.group == nil || api.IsManaged(v.c) {
		return nil
	}
	vnet := partOf(v.vnets, vnetPart, v.vnetName())
	for i := range v.spec.NetworkSpec.Subnets {
		s := &v.spec.NetworkSpec.Subnets[i]
		if s.RouteTable == nil || v.hasTable(vnet, s) {
			continue
		}
		var is arm.Resource[arm.State]
		switch err := v.place.Get(ctx, v.place.resource(arm.RouteTables, s.RouteTable.Name), &is); {
		case arm.IsMissing(err), arm.IsUnused(err): // to make it fails then
		case err != nil:
			return err
		case v.c.Owns(tagsFrom(is.Tags)) && !slices.ContainsFunc(v.tables, func(r arm.Resource[arm.State]) bool { return arm.Same(r.ID, is.ID) }):
			v.tables = append(v.tables, is)
		}
	}
	return nil
}

func withZones(body map[string]any, zones []string) map[string]any {
	if len(zones) > 0 {
		body["zones"] = zones
	}
	return body
}

// subnet decides about a subnet of the VNet, and returns its id once it is ready. Azure changes one at a time.
func (v *view) subnet(d *steps.Decision, vnet *arm.Resource[arm.VNet], want *api.Subnet, nsg, nat, table string, busy *bool) string {
	name, cidr := v.subnetName(want), strings.Join(want.CIDRBlocks, ", ")
	properties := func(p map[string]any) {
		if nsg != "" {
			p["networkSecurityGroup"] = arm.Ref{ID: nsg}
		}
		if nat != "" { // one that it does not need is of people
			p["natGateway"] = arm.Ref{ID: nat}
		}
		if table != "" {
			p["routeTable"] = arm.Ref{ID: table}
		}
	}
	s := v.existing(vnet, want)
	if s == nil {
		d.Add(steps.Step{What: "create subnet " + name + " " + cidr, Essential: true, Blocked: *busy, Do: func(ctx context.Context) error {
			p := map[string]any{"addressPrefix": cidr}
			if len(want.CIDRBlocks) > 1 {
				p = map[string]any{"addressPrefixes": want.CIDRBlocks}
			}
			properties(p)
			var services []map[string]any
			for _, e := range want.ServiceEndpoints {
				services = append(services, map[string]any{"service": e.Service, "locations": e.Locations})
			}
			if len(services) > 0 {
				p["serviceEndpoints"] = services
			}
			err := v.place.Put(ctx, vnet.ID+"/subnets/"+name, map[string]any{"properties": p}, arm.Absent())
			if err == nil {
				s := arm.Resource[arm.Subnet]{Name: name}
				s.Properties.Prefixes, s.Properties.Provisioning = want.CIDRBlocks, made
				vnet.Properties.Subnets = append(vnet.Properties.Subnets, s)
			}
			return err
		}})
		*busy = true
		return ""
	}
	if has := ranges(s); !hasAll(has, want.CIDRBlocks) {
		field, hint := "networkSpec.subnets", rangesHint(has, want.CIDRBlocks)
		if want.Role == api.BastionSubnet {
			field, hint = "bastionSpec.azureBastion.subnet", "put the range back, or delete the bastion and this subnet in Azure, and they are created again"
		}
		d.CannotFollow(field, "subnet %s has %s and not %s (%s)", name, strings.Join(has, ", "), cidr, hint)
	}
	failed := s.Properties.Provisioning == "Failed"
	if !failed && !v.settled(d, "subnet "+name, s.Properties.Provisioning) {
		return ""
	}
	lacks := func(is *arm.Ref, id string) bool { return id != "" && !refers(is, id) }
	if failed || lacks(s.Properties.NSG, nsg) || lacks(s.Properties.NAT, nat) || lacks(s.Properties.Table, table) {
		what := "its network security group and its NAT gateway"
		if table != "" {
			what = "its network security group, its NAT gateway and its route table"
		}
		d.Add(steps.Step{What: "give subnet " + name + " " + what, Essential: failed && !v.started(), Blocked: *busy, Do: func(ctx context.Context) error {
			err := v.edit(ctx, s.ID, func(p map[string]any) error { properties(p); return nil })
			if err == nil {
				s.Properties.NSG, s.Properties.NAT, s.Properties.Provisioning = &arm.Ref{ID: nsg}, &arm.Ref{ID: nat}, "Updating"
				if table != "" { // else it keeps the one that it has
					s.Properties.Table = &arm.Ref{ID: table}
				}
			}
			return err
		}})
	}
	if failed && !v.started() {
		return ""
	}
	return s.ID
}

// ranges returns those of a subnet: Azure writes one, or all of them.
func ranges(s *arm.Resource[arm.Subnet]) []string {
	if s.Properties.Prefix == "" {
		return s.Properties.Prefixes
	}
	return append(slices.Clone(s.Properties.Prefixes), s.Properties.Prefix)
}

// hasAll reports whether each of some ranges is among others.
func hasAll(has, want []string) bool {
	return !slices.ContainsFunc(want, func(w string) bool {
		return !slices.ContainsFunc(has, func(h string) bool { return sameRange(h, w) })
	})
}

// rangesHint says for people what to do about ranges that a VNet or a subnet lacks.
func rangesHint(has, want []string) string {
	if hasAll(has, slices.DeleteFunc(slices.Clone(want), isSix)) {
		return "add the range of IPv6 in Azure, or leave it out"
	}
	return "make another cluster"
}

// isSix reports whether a range is of IPv6.
func isSix(cidr string) bool { return strings.Contains(cidr, ":") }

// wantsSix reports whether machines are to have addresses of IPv6 in a subnet.
func wantsSix(s *api.Subnet) bool { return slices.ContainsFunc(s.CIDRBlocks, isSix) }

func sameRange(a, b string) bool {
	x, err := netip.ParsePrefix(a)
	y, other := netip.ParsePrefix(b)
	return a == b || err == nil && other == nil && x == y
}

func refers(r *arm.Ref, id string) bool { return r != nil && arm.Same(r.ID, id) }

// ourRule begins the descriptions of rules that Git has: others are those of people and of controllers.
const (
	ourRule            = "fairlead:"
	longestDescription = 140
)

// securityGroup decides about the network security group of a subnet and its rules, and returns it once it is ready.
func (v *view) securityGroup(d *steps.Decision, s *api.Subnet) *arm.Resource[arm.NSG] {
	name := v.groupName(s)
	want := v.rules(s)
	var tags map[string]string
	if s.SecurityGroup != nil {
		tags = s.SecurityGroup.Tags
	}
	g := there(v, d, &v.nsgs, arm.NSGs, "nsg-"+s.Role+"-"+name, name, tags, func() map[string]any {
		return map[string]any{"properties": map[string]any{"securityRules": want}}
	})
	if g == nil {
		return nil
	}
	ours := func(r arm.Resource[arm.Rule]) bool { return strings.HasPrefix(r.Properties.Description, ourRule) }
	var lacks, extra []string
	for _, w := range want {
		if !slices.ContainsFunc(g.Properties.Rules, func(r arm.Resource[arm.Rule]) bool { return r.Name == w.Name && sameRule(r.Properties, w.Properties) }) {
			lacks = append(lacks, w.Name)
		}
	}
	for _, r := range g.Properties.Rules {
		if ours(r) && !slices.ContainsFunc(want, func(w arm.Resource[arm.Rule]) bool { return w.Name == r.Name }) {
			extra = append(extra, r.Name)
		}
	}
	if len(lacks)+len(extra) == 0 {
		return g
	}
	d.Add(steps.Step{What: fmt.Sprintf("set rules of network security group %s: %s", name, strings.Join(slices.Concat(lacks, extra), ", ")), Essential: !v.started(), Do: func(ctx context.Context) error {
		err := v.edit(ctx, g.ID, func(p map[string]any) error {
			var rules []any
			has, _ := p["securityRules"].([]any)
			for _, x := range has {
				r, _ := x.(map[string]any)
				name, _ := r["name"].(string)
				of, _ := r["properties"].(map[string]any)
				text, _ := of["description"].(string)
				if !strings.HasPrefix(text, ourRule) && !slices.ContainsFunc(want, func(w arm.Resource[arm.Rule]) bool { return w.Name == name }) {
					rules = append(rules, x)
				}
			}
			for _, w := range want {
				rules = append(rules, w)
			}
			p["securityRules"] = rules
			return nil
		})
		if err == nil {
			g.Properties.Rules = append(slices.DeleteFunc(g.Properties.Rules, ours), want...)
			g.Properties.Provisioning = "Updating"
		}
		return err
	}})
	return g
}

// sameRule reports whether a rule that is there is one of Git. One of Cluster API that was adopted has a description of its own.
func sameRule(a, b arm.Rule) bool {
	if !strings.HasPrefix(a.Description, ourRule) {
		a.Description = b.Description
	}
	for _, r := range []*arm.Rule{&a, &b} {
		r.Protocol = strings.ToLower(r.Protocol)
		for _, list := range []*[]string{&r.Sources, &r.SourcePorts, &r.DestinationPorts} {
			*list = slices.Sorted(slices.Values(*list))
		}
	}
	return reflect.DeepEqual(a, b)
}

// The rule that lets clients reach the API servers.
// Source: CAPZ, api/v1beta1/azurecluster_default.go.
const (
	apiServerRule     = "allow_apiserver"
	apiServerPriority = 2201
)

// rules are those that Git has for a subnet, and the one for clients of the API server unless Git has another in its
// place. SSH is not let in.
func (v *view) rules(of *api.Subnet) []arm.Resource[arm.Rule] {
	var out []arm.Resource[arm.Rule]
	for i := range v.spec.NetworkSpec.Subnets {
		s := &v.spec.NetworkSpec.Subnets[i]
		if s.SecurityGroup == nil || s.Role != of.Role || v.groupName(s) != v.groupName(of) {
			continue
		}
		for _, r := range s.SecurityGroup.SecurityRules {
			text := strings.TrimSpace(ourRule + " " + r.Description)
			p := arm.Rule{
				Description: strings.ToValidUTF8(text[:min(len(text), longestDescription)], ""), Access: r.Action, Direction: r.Direction, Protocol: r.Protocol, Priority: r.Priority,
				Source: r.Source, Sources: r.Sources, Destination: r.Destination,
			}
			p.SourcePort, p.SourcePorts = portsOf(r.SourcePorts)
			p.DestinationPort, p.DestinationPorts = portsOf(r.DestinationPorts)
			out = append(out, arm.Resource[arm.Rule]{Name: r.Name, Properties: p})
		}
	}
	own := of.Role != api.NodeSubnet && !v.c.ServedElsewhere() && !slices.ContainsFunc(out, func(r arm.Resource[arm.Rule]) bool {
		return r.Name == apiServerRule || r.Properties.Priority == apiServerPriority && r.Properties.Direction == "Inbound"
	})
	if own {
		p := arm.Rule{
			Description: ourRule + " the API server", Access: "Allow", Direction: "Inbound", Protocol: "Tcp", Priority: apiServerPriority,
			Source: "*", SourcePort: "*", Destination: "*",
		}
		ports := fmt.Sprint(v.targetPort())
		for _, more := range v.c.ControlPlane.Ports {
			ports += fmt.Sprint(",", more)
		}
		p.DestinationPort, p.DestinationPorts = portsOf(ports)
		out = append(out, arm.Resource[arm.Rule]{Name: apiServerRule, Properties: p})
	}
	return out
}

// portsOf returns ports as Azure takes them: one range, or several.
func portsOf(text string) (one string, several []string) {
	if strings.Contains(text, ",") {
		return "", strings.Split(text, ",")
	}
	return text, nil
}

package aws

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/steps"
	"fairlead.dev/providers/infrastructure/aws/api"
	"fairlead.dev/providers/infrastructure/aws/cloud"
)

// The routes to everything.
const (
	everywhere  = "0.0.0.0/0"
	everywhere6 = "::/0"
)

// A network is where the machines of a cluster are, as far as it exists.
type network struct {
	vpc     string
	cidr    string
	six     string // the range of IPv6; empty: it has none
	public  []cloud.Subnet
	private []cloud.Subnet // for machines; where there are no private ones, the public ones
	egress  []string       // addresses of NAT gateways
}

// network decides about the VPC, its subnets and its ways to the internet.
func (v *view) network(d *steps.Decision) network {
	id := v.spec.Network.VPC.ID
	switch {
	case v.isOwn(id):
		return v.ownNetwork(d)
	case id != "" && len(v.vpcs) > 0:
		d.CannotFollow("network.vpc.id", "the cluster is in %s, which was made for it, and cannot move to %s (make another cluster)", v.vpcs[0].ID, id)
		return v.seenNetwork()
	case id != "":
		return v.givenNetwork(d, id)
	case len(v.vpcs) == 0 && v.elsewhere() != "":
		d.CannotFollow("network.vpc.id", "the cluster is in %s, which Git named before or which lost its tags, and cannot leave it (name it again, put its tags right, or make another cluster)", v.elsewhere())
		return v.seenNetwork()
	}
	return v.ownNetwork(d)
}

// elsewhere returns the given VPC that the cluster has something in, where Git names none.
func (v *view) elsewhere() string {
	if v.cluster != nil {
		return v.cluster.VPC.VPC
	}
	for _, i := range v.instances {
		if !isCopied(i) {
			return i.VPC
		}
	}
	for _, g := range v.groups {
		return g.VPC
	}
	return ""
}

// seenNetwork is what is there, where Git says something else that cannot be. Security groups go on letting in what comes from it.
func (v *view) seenNetwork() network {
	id := v.elsewhere()
	if len(v.vpcs) > 0 {
		id = v.vpcs[0].ID
	}
	n := v.sorted(id, nil)
	if vpc := v.s.VPCs.Get(id); vpc != nil && (v.isOwn(id) || v.spec.Network.VPC.IPv6 != nil || v.letsInSix(vpc.Six.Range())) {
		n.six = vpc.Six.Range()
	}
	for _, g := range v.nats {
		if g.State == "available" {
			n.egress = append(n.egress, g.IP)
		}
	}
	return n
}

// letsInSix reports whether security groups let in by IPv6, of a VPC with a range of it, what they let in by IPv4: it was in Git.
func (v *view) letsInSix(vpc string) bool {
	return v.leadsBySix() || v.isSix() || slices.ContainsFunc(v.groups, func(g cloud.Group) bool {
		return slices.ContainsFunc(g.Rules, func(r cloud.Rule) bool {
			return (r.Description == apiRule || r.Description == ownRule || r.Description == nodePortRule) && (r.Source == everywhere6 || r.Source == vpc && vpc != "")
		})
	})
}

// leadsBySix reports whether load balancers lead to servers by IPv6.
func (v *view) leadsBySix() bool {
	return slices.ContainsFunc(v.targets, func(t cloud.TargetGroup) bool { return t.Family == api.SixFamily })
}

// givenNetwork is a VPC that people gave the cluster. Nothing of it is changed.
func (v *view) givenNetwork(d *steps.Decision, id string) network {
	if was := v.elsewhere(); was != "" && was != id { // which may not exist
		d.CannotFollow("network.vpc.id", "the cluster is in %s and cannot move to %s (make another cluster)", was, id)
		return v.seenNetwork()
	}
	vpc := v.s.VPCs.Get(id)
	if vpc == nil {
		d.Fault(fleet.Errorf(fleet.Invalid, "find network.vpc.id", "there is no VPC %s in %s (name one that exists)", id, v.spec.Region))
		return network{}
	}
	if api.IsTheirs(v.spec.Network.VPC) {
		d.Fault(fleet.Errorf(fleet.Invalid, "find network.vpc.id", "by its tags in Git, Cluster API made %s, and it was not adopted (run fairlead adopt; or remove network.vpc.tags, and name its subnets by their ids)", id))
		return network{}
	}
	var only []string
	for _, s := range v.spec.Network.Subnets {
		if got := v.s.Subnets.Get(s.ID); got == nil || got.VPC != id {
			d.Fault(fleet.Errorf(fleet.Invalid, "find network.subnets", "there is no subnet %s in %s (name one that exists)", s.ID, id))
			return network{}
		}
		only = append(only, s.ID)
	}
	n := v.sorted(id, only)
	n.cidr, n.six = vpc.CIDR, v.givenSix(d, vpc)
	if len(n.private) == 0 {
		d.Fault(fleet.Errorf(fleet.Invalid, "find network.subnets", "%s has no subnets (make some, or leave network.vpc.id out)", id))
	}
	return n
}

// givenSix decides about the IPv6 of a given VPC, and returns the range that the cluster uses; empty: none.
func (v *view) givenSix(d *steps.Decision, vpc *cloud.VPC) string {
	is, want := vpc.Six.Range(), v.spec.Network.VPC.IPv6
	switch {
	case want == nil && v.leadsBySix():
		d.CannotFollow("network.vpc.ipv6", "load balancers lead to servers by IPv6 (put it back, or make another cluster)")
	case want == nil && v.isSix(): // which the control plane tells
	case want == nil:
		return ""
	case is == "":
		v.faultBefore(d, fleet.Errorf(fleet.Invalid, "find network.vpc.ipv6", "%s has no range of IPv6 (add one in AWS, with ranges of subnets and routes, or leave network.vpc.ipv6 out)", vpc.ID))
	case want.CIDRBlock != "" && !vpc.Six.Has(want.CIDRBlock):
		v.faultBefore(d, fleet.Errorf(fleet.Invalid, "find network.vpc.ipv6.cidrBlock", "%s has %s and not %s (leave it out)", vpc.ID, is, want.CIDRBlock))
	}
	return is
}

// sorted returns the network of a VPC, by its route tables: public is what has a route to an internet gateway.
// only are the ids of its subnets; nil: all.
func (v *view) sorted(vpc string, only []string) network {
	n := network{vpc: vpc}
	if vpc == "" {
		return n
	}
	if got := v.s.VPCs.Get(vpc); got != nil {
		n.cidr = got.CIDR
	}
	for i := range v.s.Subnets.All {
		s := v.s.Subnets.All[i]
		if s.VPC != vpc || only != nil && !slices.Contains(only, s.ID) {
			continue
		}
		if t := v.tableOf(s); t != nil && strings.HasPrefix(t.Route(everywhere), "igw-") {
			n.public = append(n.public, s)
		} else {
			n.private = append(n.private, s)
		}
	}
	if len(n.private) == 0 {
		n.private = n.public
	}
	sortSubnets(n.public)
	sortSubnets(n.private)
	return n
}

func sortSubnets(list []cloud.Subnet) {
	slices.SortFunc(list, func(a, b cloud.Subnet) int { return strings.Compare(a.Zone+a.ID, b.Zone+b.ID) })
}

// tableOf returns the route table of a subnet: its own, or the main one of the VPC.
func (v *view) tableOf(s cloud.Subnet) *cloud.Table {
	var main *cloud.Table
	for i := range v.s.Tables.All {
		t := &v.s.Tables.All[i]
		for _, a := range t.Associations {
			switch {
			case a.Subnet == s.ID:
				return t
			case a.Main && t.VPC == s.VPC:
				main = t
			}
		}
	}
	return main
}

// ownNetwork is a VPC that is made for the cluster, with the subnets, gateways and routes of its layout.
func (v *view) ownNetwork(d *steps.Decision) network {
	if len(v.vpcs) == 0 {
		v.createVPC(d)
		return network{}
	}
	vpc := v.vpcs[0]
	for _, twin := range v.vpcs[1:] {
		if !v.used(twin.ID) {
			attached := slices.ContainsFunc(v.gateways, func(g cloud.Gateway) bool { return g.VPC == twin.ID })
			d.Add(steps.Step{What: "delete VPC " + twin.ID + ", which was made twice", Upkeep: true, Blocked: attached, Do: func(ctx context.Context) error { return v.deleteVPC(ctx, twin.ID) }})
		}
	}
	if want := v.spec.Network.VPC.CIDRBlock; vpc.CIDR != want && want != "" {
		d.CannotFollow("network.vpc.cidrBlock", "%s has %s and not %s (make another cluster)", vpc.ID, vpc.CIDR, want)
		return v.seenNetwork()
	}
	n := network{vpc: vpc.ID, cidr: vpc.CIDR}
	if !v.ranges(d, vpc) {
		return n
	}
	if !v.sixOf(d, vpc) {
		return n
	}
	n.six = vpc.Six.Range()
	if !v.used(vpc.ID) && !v.named {
		d.Add(steps.Step{What: "have VPC " + vpc.ID + " name its instances", Essential: true, Do: func(ctx context.Context) error {
			err := v.place.NameHosts(ctx, vpc.ID)
			v.named = err == nil
			return err
		}})
		return network{}
	}
	v.emptyDefaultGroup(d)
	gateway := v.gateway(d, vpc.ID)
	egress := ""
	if n.six != "" {
		egress = v.egressGateway(d, vpc.ID)
	}
	layout := v.layout()
	nats := make(map[string]string) // by zone
	var privates []wantedSubnet
	for _, want := range layout {
		s := v.subnet(d, vpc.ID, want)
		if s != nil {
			want.public = s.Tags[partTag] == "public" // one that is there stays what it is
		}
		switch {
		case s == nil:
		case want.public:
			n.public = append(n.public, *s)
		default:
			n.private = append(n.private, *s)
		}
		if !want.public {
			privates = append(privates, want)
		}
	}
	if gateway != "" {
		v.routes(d, vpc.ID, "public-routes", gateway, gatewayOf(n.six, gateway), n.public)
	}
	for _, zone := range zonesOf(privates) {
		if public := inZone(n.public, zone); len(public) > 0 {
			if nat := v.nat(d, zone, public[0]); nat != nil {
				nats[zone] = nat.ID
				n.egress = append(n.egress, nat.IP)
			}
		} else if !slices.ContainsFunc(layout, func(w wantedSubnet) bool { return w.public && w.zone == zone }) {
			nats[zone] = "any" // a zone without a public subnet uses the NAT gateway of another
		}
	}
	for _, zone := range zonesOf(privates) {
		nat := nats[zone]
		if nat == "any" {
			nat = anyOf(nats)
		}
		if nat != "" {
			v.routes(d, vpc.ID, "private-routes-"+zone, nat, egress, inZone(n.private, zone))
		}
	}
	sortSubnets(n.public)
	sortSubnets(n.private)
	if len(privates) == 0 {
		n.private = n.public
	}
	return n
}

// gatewayOf returns the gateway for IPv6, of a VPC that has a range of it.
func gatewayOf(six, gateway string) string {
	if six == "" {
		return ""
	}
	return gateway
}

// sixOf decides about the range of IPv6 of the VPC, and reports whether it is as it can be. A VPC gets it when it is made.
func (v *view) sixOf(d *steps.Decision, vpc cloud.VPC) bool {
	is, want := vpc.Six.Range(), v.spec.Network.VPC.IPv6
	switch {
	case want == nil && is != "":
		d.CannotFollow("network.vpc.ipv6", "%s has %s and keeps it (put it back, or make another cluster)", vpc.ID, is)
	case want == nil:
	case is == "" && v.used(vpc.ID):
		d.CannotFollow("network.vpc.ipv6", "%s was made without IPv6 (leave it out, or make another cluster)", vpc.ID)
	case is == "" && vpc.Six.Failure() != "":
		d.Fault(fleet.Errorf(fleet.Exhausted, "give "+vpc.ID+" a range of IPv6", "AWS could not: %s (delete the VPC in AWS: then another is made)", vpc.Six.Failure()))
		return false
	case is == "":
		d.Wait(vpc.ID + " does not have its range of IPv6 yet (if it was made before network.vpc.ipv6 was in Git, delete it in AWS)")
		return false
	case want.CIDRBlock != "" && want.CIDRBlock != is:
		d.CannotFollow("network.vpc.ipv6.cidrBlock", "%s has %s and not %s (make another cluster)", vpc.ID, is, want.CIDRBlock)
	}
	return true
}

// egressGateway decides about the gateway by which private subnets reach the internet by IPv6, and returns its id.
func (v *view) egressGateway(d *steps.Decision, vpc string) string {
	for _, twin := range v.egresses[min(1, len(v.egresses)):] {
		d.Add(steps.Step{What: "delete egress-only internet gateway " + twin.ID + ", which was made twice", Upkeep: true, Do: func(ctx context.Context) error {
			return v.deleteEgress(ctx, twin.ID)
		}})
	}
	switch {
	case len(v.egresses) > 0:
		return v.egresses[0].ID
	case v.awaits("egress"):
		d.Wait("the egress-only internet gateway was asked for, and does not show yet")
		return ""
	}
	d.Add(steps.Step{What: "create egress-only internet gateway", Essential: true, Do: func(ctx context.Context) error {
		return v.ask("egress", func() error {
			made, err := v.place.CreateEgress(ctx, vpc, v.shared("egress", "egress", nil))
			if err == nil {
				v.egresses = append(v.egresses, made)
			}
			return err
		})
	}})
	return ""
}

func (v *view) deleteEgress(ctx context.Context, id string) error {
	err := v.place.DeleteEgress(ctx, id)
	if err == nil {
		v.egresses = slices.DeleteFunc(v.egresses, func(o cloud.Egress) bool { return o.ID == id })
	}
	return err
}

// ranges decides about further ranges of the VPC, and reports whether it has them.
func (v *view) ranges(d *steps.Decision, vpc cloud.VPC) bool {
	all := true
	for _, b := range v.spec.Network.VPC.SecondaryCIDRBlocks {
		cidr := b.IPv4CIDRBlock
		switch state, why := vpc.Range(cidr); {
		case state == "associated" || v.marked[vpc.ID+cidr]:
		case state == "" || state == "disassociated":
			all = false
			d.Add(steps.Step{What: "add range " + cidr + " to " + vpc.ID, Essential: !v.started(), Do: func(ctx context.Context) error {
				err := v.place.AddRange(ctx, vpc.ID, cidr)
				v.marked[vpc.ID+cidr] = err == nil
				return err
			}})
		case state == "failed":
			all = false
			v.faultBefore(d, fleet.Errorf(fleet.Exhausted, "add range "+cidr+" to "+vpc.ID, "AWS could not: %s (remove the range from the VPC: then it is added again; or name another one)", cmp.Or(why, "it gives no reason")))
		default:
			all = false
			v.waitBefore(d, "range "+cidr+" of "+vpc.ID+" is "+state)
		}
	}
	return all || v.started()
}

func anyOf(nats map[string]string) string {
	best := ""
	for _, id := range nats {
		if id != "any" && (best == "" || id < best) {
			best = id
		}
	}
	return best
}

func zonesOf(list []wantedSubnet) []string {
	var out []string
	for _, s := range list {
		out = append(out, s.zone)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func inZone(list []cloud.Subnet, zone string) []cloud.Subnet {
	return slices.DeleteFunc(slices.Clone(list), func(s cloud.Subnet) bool { return s.Zone != zone })
}

func (v *view) createVPC(d *steps.Decision) {
	if v.awaits("vpc") {
		d.Wait("the VPC was asked for, and does not show yet")
		return
	}
	what := v.spec.Network.VPC
	d.Add(steps.Step{What: "create VPC" + strings.TrimRight(" "+what.CIDRBlock, " "), Essential: true, Do: func(ctx context.Context) error {
		r := cloud.VPCRequest{CIDR: what.CIDRBlock, Tags: v.shared("vpc", "vpc", what.Tags)}
		if what.IPAMPool != nil {
			var err error
			if r.Pool, err = v.pool(ctx, what.IPAMPool); err != nil {
				return err
			}
			r.Length = what.IPAMPool.NetmaskLength
		}
		if x := what.IPv6; x != nil {
			r.Six = cloud.SixRequest{CIDR: x.CIDRBlock, Pool: x.PoolID, Amazon: x.CIDRBlock == "" && x.IPAMPool == nil}
			if x.IPAMPool != nil {
				var err error
				if r.Six.IPAM, err = v.pool(ctx, x.IPAMPool); err != nil {
					return err
				}
				r.Six.Length = x.IPAMPool.NetmaskLength
			}
		}
		return v.ask("vpc", func() error {
			made, err := v.place.CreateVPC(ctx, r)
			if err == nil {
				v.vpcs = append(v.vpcs, made)
			}
			return cloud.Named(err)
		})
	}})
}

// pool returns the id of a pool of IPAM.
func (v *view) pool(ctx context.Context, p *api.IPAMPool) (string, error) {
	if p.ID != "" {
		return p.ID, nil
	}
	found, err := v.place.Pools(ctx, p.Name)
	if err != nil {
		return "", cloud.WrapLook("find IPAM pool "+p.Name, err)
	}
	if len(found) != 1 {
		return "", fleet.Errorf(fleet.Invalid, "find IPAM pool "+p.Name, "%d pools in %s have that tag Name (name one in network.vpc.ipamPool.id)", len(found), v.spec.Region)
	}
	return found[0], nil
}

func (v *view) deleteVPC(ctx context.Context, id string) error {
	err := v.place.DeleteVPC(ctx, id)
	if err == nil {
		v.vpcs = slices.DeleteFunc(v.vpcs, func(n cloud.VPC) bool { return n.ID == id })
	}
	return err
}

// gateway decides about the internet gateway, and returns its id once it is attached.
func (v *view) gateway(d *steps.Decision, vpc string) string {
	if len(v.gateways) == 0 {
		if v.awaits("internet") {
			d.Wait("the internet gateway was asked for, and does not show yet")
			return ""
		}
		d.Add(steps.Step{What: "create internet gateway", Essential: true, Do: func(ctx context.Context) error {
			return v.ask("internet", func() error {
				made, err := v.place.CreateGateway(ctx, v.shared("internet", "internet", nil))
				if err == nil {
					v.gateways = append(v.gateways, made)
				}
				return err
			})
		}})
		return ""
	}
	for _, twin := range v.gateways[1:] {
		d.Add(steps.Step{What: "delete internet gateway " + twin.ID + ", which was made twice", Upkeep: true, Do: func(ctx context.Context) error {
			if twin.VPC != "" {
				if err := v.place.DetachGateway(ctx, twin.ID, twin.VPC); err != nil {
					return err
				}
			}
			err := v.place.DeleteGateway(ctx, twin.ID)
			if err == nil {
				v.gateways = slices.DeleteFunc(v.gateways, func(g cloud.Gateway) bool { return g.ID == twin.ID })
			}
			return err
		}})
	}
	g := v.gateways[0]
	if g.VPC == vpc {
		return g.ID
	}
	d.Add(steps.Step{What: "attach internet gateway " + g.ID, Essential: true, Do: func(ctx context.Context) error {
		err := v.place.AttachGateway(ctx, g.ID, vpc)
		if err == nil || cloud.Is(err, "Resource.AlreadyAssociated") {
			v.gateways[0].VPC, err = vpc, nil
		}
		return err
	}})
	return ""
}

// subnet decides about a subnet, and returns it once it is there. Subnets are alone by their range.
func (v *view) subnet(d *steps.Decision, vpc string, want wantedSubnet) *cloud.Subnet {
	for i := range v.subnets {
		if s := &v.subnets[i]; s.VPC == vpc && s.CIDR == want.cidr {
			if s.Zone != want.zone {
				d.CannotFollow("network.subnets", "%s with %s is in %s and not in %s (make another cluster)", s.ID, s.CIDR, s.Zone, want.zone)
			}
			if part := s.Tags[partTag]; part == "public" == !want.public {
				d.CannotFollow("network.subnets", "%s with %s is %s and stays so (make another cluster)", s.ID, s.CIDR, part)
			}
			if !v.subnetSix(d, s, want) {
				return nil
			}
			return s
		}
	}
	if v.awaits(want.part()) {
		d.Wait("subnet " + want.cidr + " was asked for, and does not show yet")
		return nil
	}
	role, kind := "kubernetes.io/role/internal-elb", "private"
	if want.public {
		role, kind = "kubernetes.io/role/elb", "public"
	}
	tags := cloud.Tags{role: "1", serviceTag(v.service): "shared"}
	for k, value := range want.tags {
		tags[k] = value
	}
	d.Add(steps.Step{What: "create " + kind + " subnet " + want.cidr + " in " + want.zone, Essential: true, Do: func(ctx context.Context) error {
		return v.ask(want.part(), func() error {
			made, err := v.place.CreateSubnet(ctx, vpc, want.cidr, want.six, want.zone, v.shared(kind, kind+"-"+want.zone, tags))
			if err == nil {
				v.subnets = append(v.subnets, made)
			}
			return err
		})
	}})
	return nil
}

// subnetSix decides about the IPv6 of a subnet, and reports whether the subnet is ready: once it has its range, it gives each interface an
// address. A subnet gets the range when it is made.
func (v *view) subnetSix(d *steps.Decision, s *cloud.Subnet, want wantedSubnet) bool {
	is := s.Six.Range()
	switch {
	case want.six == "":
	case is == "" && len(s.Six) > 0:
		d.Wait("subnet " + s.ID + " does not have its range of IPv6 yet")
		return false
	case is == "":
		d.CannotFollow("network.subnets", "%s with %s was made without IPv6 (make another cluster)", s.ID, s.CIDR)
	case is != want.six:
		d.CannotFollow("network.subnets", "%s with %s has %s and not %s (make another cluster)", s.ID, s.CIDR, is, want.six)
	case !s.Gives:
		d.Add(steps.Step{What: "have subnet " + s.ID + " give addresses of IPv6", Essential: !v.started(), Do: func(ctx context.Context) error {
			err := v.place.GiveSix(ctx, s.ID)
			s.Gives = s.Gives || err == nil
			return err
		}})
	}
	return true
}

// nat decides about the NAT gateway of a zone and its address, and returns it once it is available.
func (v *view) nat(d *steps.Decision, zone string, public cloud.Subnet) *cloud.NAT {
	part := "nat-" + zone
	of := func(tags cloud.Tags) bool { return tags[partTag] == part }
	for i := range v.nats {
		n := &v.nats[i]
		switch {
		case !of(n.Tags) || n.State == "deleting":
		case n.State == "available":
			v.spareAddresses(d, part, n.Address)
			return n
		case n.State == "failed":
			d.Wait("NAT gateway " + n.ID + " failed: " + n.Failure)
			d.Add(steps.Step{What: "delete NAT gateway " + n.ID + ", which failed", Essential: true, Do: func(ctx context.Context) error {
				err := v.place.DeleteNAT(ctx, n.ID)
				if err == nil {
					n.State = "deleting"
				}
				return err
			}})
			return nil
		default:
			v.spareAddresses(d, part, n.Address)
			d.Wait("NAT gateway " + n.ID + " is " + n.State)
			return nil
		}
	}
	i := slices.IndexFunc(v.addresses, func(a cloud.Address) bool { return of(a.Tags) && a.Association == "" })
	switch {
	case i >= 0:
		a := v.addresses[i]
		if v.awaits(part) {
			d.Wait("NAT gateway in " + zone + " was asked for, and does not show yet")
			return nil
		}
		d.Add(steps.Step{What: "create NAT gateway in " + zone, Essential: true, Do: func(ctx context.Context) error {
			return v.ask(part, func() error {
				made, err := v.place.CreateNAT(ctx, public.ID, a.ID, v.shared(part, part, nil))
				if err == nil {
					v.nats = append(v.nats, made)
				}
				return err
			})
		}})
	case slices.ContainsFunc(v.addresses, func(a cloud.Address) bool { return of(a.Tags) }):
		d.Wait("the address of the NAT gateway in " + zone + " is still in use")
	case v.awaits("address-" + zone):
		d.Wait("an address was asked for, and does not show yet")
	default:
		d.Add(steps.Step{What: "allocate address for " + zone, Essential: true, Do: func(ctx context.Context) error {
			return v.ask("address-"+zone, func() error {
				made, err := v.allocate(ctx, v.shared(part, part, nil))
				if err == nil {
					v.addresses = append(v.addresses, made)
				}
				return err
			})
		}})
	}
	return nil
}

// allocate allocates an address: of the pool that Git names, or of Amazon.
func (v *view) allocate(ctx context.Context, tags cloud.Tags) (cloud.Address, error) {
	p := v.spec.Network.VPC.ElasticIPPool
	if p == nil {
		return v.place.AllocateAddress(ctx, "", tags)
	}
	made, err := v.place.AllocateAddress(ctx, p.PublicIPv4Pool, tags)
	if p.PublicIPv4PoolFallbackOrder == api.AmazonPool && cloud.Kind(err) == fleet.Exhausted {
		return v.place.AllocateAddress(ctx, "", tags)
	}
	return made, cloud.Named(err)
}

// spareAddresses gives back addresses that were allocated twice.
func (v *view) spareAddresses(d *steps.Decision, part, used string) {
	for _, a := range v.addresses {
		if a.Tags[partTag] != part || a.ID == used || a.Association != "" {
			continue
		}
		d.Add(steps.Step{What: "release address " + a.IP + ", which was allocated twice", Upkeep: true, Do: func(ctx context.Context) error {
			return v.releaseAddress(ctx, a.ID)
		}})
	}
}

func (v *view) releaseAddress(ctx context.Context, id string) error {
	err := v.place.ReleaseAddress(ctx, id)
	if err == nil {
		v.addresses = slices.DeleteFunc(v.addresses, func(o cloud.Address) bool { return o.ID == id })
	}
	return err
}

// routes decides about a route table, its ways out, for IPv4 and unless it is empty for IPv6, and the subnets that use it.
func (v *view) routes(d *steps.Decision, vpc, part, through, six string, subnets []cloud.Subnet) {
	var mine []int
	for i := range v.tables {
		if v.tables[i].Tags[partTag] == part {
			mine = append(mine, i)
		}
	}
	if len(mine) == 0 {
		if v.awaits(part) {
			d.Wait("a route table was asked for, and does not show yet")
			return
		}
		d.Add(steps.Step{What: "create route table " + part, Essential: true, Do: func(ctx context.Context) error {
			return v.ask(part, func() error {
				made, err := v.place.CreateTable(ctx, vpc, v.shared(part, part, nil))
				if err == nil {
					v.tables = append(v.tables, made)
				}
				return err
			})
		}})
		return
	}
	for _, i := range mine[1:] {
		twin := v.tables[i]
		if len(twin.Associations) > 0 {
			v.waysOut(d, &v.tables[i], through, six) // Cluster API's provider makes one for each subnet
			continue
		}
		d.Add(steps.Step{What: "delete route table " + twin.ID + ", which was made twice", Upkeep: true, Do: func(ctx context.Context) error {
			return v.deleteTable(ctx, twin.ID)
		}})
	}
	t := &v.tables[mine[0]]
	v.waysOut(d, t, through, six)
	for _, s := range subnets {
		if slices.ContainsFunc(mine, func(i int) bool {
			return slices.ContainsFunc(v.tables[i].Associations, func(a cloud.Association) bool { return a.Subnet == s.ID })
		}) {
			continue
		}
		d.Add(steps.Step{What: "have subnet " + s.ID + " use route table " + t.ID, Essential: true, Do: func(ctx context.Context) error {
			made, err := v.place.Associate(ctx, t.ID, s.ID)
			if err == nil {
				t.Associations = append(slices.Clip(t.Associations), made)
			}
			return err
		}})
	}
}

// waysOut decides about the routes of a table to everything.
func (v *view) waysOut(d *steps.Decision, t *cloud.Table, through, six string) {
	v.wayOut(d, t, everywhere, through)
	if six != "" {
		v.wayOut(d, t, everywhere6, six)
	}
}

func (v *view) wayOut(d *steps.Decision, t *cloud.Table, to, through string) {
	switch is := t.Route(to); {
	case t.Hop(to).Others(): // as people want it
	case is != "" && is != through:
		d.Add(steps.Step{What: "delete route of " + t.ID + " through " + is, Do: func(ctx context.Context) error {
			err := v.place.DeleteRoute(ctx, t.ID, to)
			if err == nil { // the listing keeps its own
				t.Routes = slices.DeleteFunc(slices.Clone(t.Routes), func(h cloud.Hop) bool { return h.To == to || h.To6 == to })
			}
			return err
		}})
	case is == "":
		d.Add(steps.Step{What: "create route of " + t.ID + " through " + through + forSix(to), Essential: true, Do: func(ctx context.Context) error {
			err := v.place.CreateRoute(ctx, t.ID, to, through)
			if err == nil {
				t.Routes = append(slices.Clip(t.Routes), cloud.Hop{To: to, Gateway: through})
			}
			return err
		}})
	}
}

// forSix tells the steps of both families apart.
func forSix(to string) string {
	if to == everywhere6 {
		return " for IPv6"
	}
	return ""
}

func (v *view) deleteTable(ctx context.Context, id string) error {
	err := v.place.DeleteTable(ctx, id)
	if err == nil {
		v.tables = slices.DeleteFunc(v.tables, func(t cloud.Table) bool { return t.ID == id })
	}
	return err
}

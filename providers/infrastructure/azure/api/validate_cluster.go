package api

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"fairlead.dev/providers/driver/objects"
)

// The defaults of a cluster.
const (
	PublicCloud       = "AzurePublicCloud"
	DefaultPort       = 6443
	DefaultIdle       = 4 // minutes
	DefaultInternalIP = "10.0.0.100"
	defaultVNetCIDR   = "10.0.0.0/8"
)

// Environments are the clouds of Azure, with the hosts of their APIs and logins, and the domain of public names.
// Source: Azure documentation, "National clouds".
func Environments() map[string]Environment {
	return map[string]Environment{
		PublicCloud:              {Manager: "management.azure.com", Login: "login.microsoftonline.com", Domain: "cloudapp.azure.com", CloudType: "public"},
		"AzureUSGovernmentCloud": {Manager: "management.usgovcloudapi.net", Login: "login.microsoftonline.us", Domain: "cloudapp.usgovcloudapi.net", CloudType: "usgovernment"},
		"AzureChinaCloud":        {Manager: "management.chinacloudapi.cn", Login: "login.chinacloudapi.cn", Domain: "cloudapp.chinacloudapi.cn", CloudType: "china"},
	}
}

// An Environment is one of the clouds of Azure.
type Environment struct {
	Manager, Login, Domain string
	CloudType              string // as UserAssignedIdentityCredentials call it
}

// A validator fills in defaults and collects what is wrong.
type validator struct{ objects.Validator }

var (
	// name is what Azure takes as the name of most things of a network.
	name     = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]{0,78}[A-Za-z0-9_])?$`)
	location = regexp.MustCompile(`^[a-z][a-z0-9]+$`)
	// groupName is what it takes as that of a resource group.
	groupName = regexp.MustCompile(`^[\w().-]{0,89}[\w()-]$`)
	ports     = regexp.MustCompile(`^(\*|\d+(-\d+)?(,\d+(-\d+)?)*)$`)
)

func (v *validator) cluster(at *field.Path, s *AzureClusterSpec) {
	v.Required(at.Child("location"), s.Location, "the region of the cluster, such as westeurope")
	v.Required(at.Child("subscriptionID"), s.SubscriptionID, "the id of the subscription that the cluster is in")
	v.clusterTemplate(at, s)
	if s.IdentityRef == nil {
		v.Add(field.Required(at.Child("identityRef"), "the AzureClusterIdentity of the cluster"))
	}
}

// clusterTemplate checks the fields of a cluster that are set: patches of a class may add others.
func (v *validator) clusterTemplate(at *field.Path, s *AzureClusterSpec) {
	v.site(at, s, "resourceGroup")
	v.Forbidden(at.Child("controlPlaneEnabled"), s.ControlPlaneEnabled != nil && !*s.ControlPlaneEnabled, "leave it out: a control plane that is elsewhere has an object that says so")
	s.ControlPlaneEnabled = nil
	for _, zone := range slices.Sorted(maps.Keys(s.FailureDomains)) {
		if !zones[zone] {
			v.Invalid(at.Child("failureDomains").Key(zone), zone, "must be an availability zone: 1, 2 or 3")
		}
		v.Forbidden(at.Child("failureDomains").Key(zone).Child("attributes"), len(s.FailureDomains[zone].Attributes) > 0, "no machine is chosen by it: leave it out")
	}
	if e := s.ControlPlaneEndpoint; e != nil {
		if e.Host != "" {
			v.Address(at.Child("controlPlaneEndpoint", "host"), e.Host, "")
		}
		v.Port(at.Child("controlPlaneEndpoint", "port"), e.Port)
		if *e == (APIEndpoint{}) { // as controllers write one that is not there
			s.ControlPlaneEndpoint = nil
		}
	}
	if e := s.ExtendedLocation; e != nil && *e == (ExtendedLocation{}) { // as controllers write none
		s.ExtendedLocation = nil
	}
	if e := s.ExtendedLocation; e != nil {
		v.Required(at.Child("extendedLocation", "name"), e.Name, "the name of the edge zone")
		objects.Enum(v, at.Child("extendedLocation", "type"), e.Type, edgeZone)
		v.Forbidden(at.Child("failureDomains"), len(s.FailureDomains) > 0, "an edge zone has no availability zones: leave it out")
	}
	v.network(at.Child("networkSpec"), &s.NetworkSpec)
	if s.CloudProviderConfigOverrides != nil {
		v.overrides(at.Child("cloudProviderConfigOverrides"), s.CloudProviderConfigOverrides)
	}
	taken := make(map[string]bool)
	for i := range s.NetworkSpec.Subnets {
		v.privateEndpoints(at.Child("networkSpec", "subnets").Index(i).Child("privateEndpoints"), s.NetworkSpec.Subnets[i].PrivateEndpoints, s.Location, taken)
	}
	if s.BastionSpec != nil && s.BastionSpec.AzureBastion == nil { // as controllers write none
		s.BastionSpec = nil
	}
	if s.BastionSpec != nil {
		v.bastion(at.Child("bastionSpec", "azureBastion"), s.BastionSpec.AzureBastion, s.NetworkSpec.VNet.CIDRBlocks)
	}
}

// edgeZone is the type of extended locations.
const edgeZone = "EdgeZone"

// regionOf returns the name of a region that people may write as West Europe.
func regionOf(text string) string { return strings.ToLower(strings.ReplaceAll(text, " ", "")) }

// site checks where a cluster is, its identity and its tags.
func (v *validator) site(at *field.Path, s *AzureClusterSpec, group string) {
	s.AzureEnvironment = cmp.Or(s.AzureEnvironment, PublicCloud)
	if _, ok := Environments()[s.AzureEnvironment]; !ok {
		v.Add(field.NotSupported(at.Child("azureEnvironment"), s.AzureEnvironment, []string{"AzureChinaCloud", PublicCloud, "AzureUSGovernmentCloud"}))
	}
	if s.Location = regionOf(s.Location); s.Location != "" && !location.MatchString(s.Location) {
		v.Invalid(at.Child("location"), s.Location, "must be the name of a region such as westeurope")
	}
	if s.SubscriptionID != "" {
		s.SubscriptionID = strings.ToLower(s.SubscriptionID)
		v.UUID(at.Child("subscriptionID"), s.SubscriptionID)
	}
	if s.ResourceGroup != "" && !groupName.MatchString(s.ResourceGroup) {
		v.Invalid(at.Child(group), s.ResourceGroup, "must be the name of a resource group: letters, digits, '_', '-', '.', '(' and ')'")
	}
	v.tags(at.Child("additionalTags"), s.AdditionalTags)
	if r := s.IdentityRef; r != nil {
		ref := at.Child("identityRef")
		*r = IdentityReference{Kind: cmp.Or(r.Kind, IdentityKind), Name: r.Name, Namespace: r.Namespace}
		objects.Enum(v, ref.Child("kind"), r.Kind, IdentityKind)
		v.Required(ref.Child("name"), r.Name, "the name of the AzureClusterIdentity")
	}
}

func (v *validator) network(at *field.Path, n *NetworkSpec) {
	v.named(at.Child("vnet", "name"), n.VNet.Name)
	n.VNet.ID = ""
	if n.VNet.ResourceGroup != "" && !groupName.MatchString(n.VNet.ResourceGroup) {
		v.Invalid(at.Child("vnet", "resourceGroup"), n.VNet.ResourceGroup, "must be the name of a resource group")
	}
	v.tags(at.Child("vnet", "tags"), n.VNet.Tags)
	v.peerings(at.Child("vnet", "peerings"), n.VNet.Peerings)
	if len(n.VNet.CIDRBlocks) == 0 {
		n.VNet.CIDRBlocks = []string{defaultVNetCIDR}
	}
	whole := v.cidrs(at.Child("vnet", "cidrBlocks"), n.VNet.CIDRBlocks, true)
	v.subnets(at.Child("subnets"), n, whole)
	v.balancer(at.Child("apiServerLB"), n)
	v.outbound(at.Child("nodeOutboundLB"), n.NodeOutboundLB)
	v.outbound(at.Child("controlPlaneOutboundLB"), n.ControlPlaneOutboundLB)
	v.Forbidden(at.Child("controlPlaneOutboundLB"), n.ControlPlaneOutboundLB != nil && n.APIServerLB.Type == Public, "servers reach the internet through the load balancer of the API server, which is public: leave it out")
	for i, p := range n.AdditionalAPIServerLBPorts {
		below := at.Child("additionalAPIServerLBPorts").Index(i)
		v.Required(below.Child("name"), p.Name, "the name of the port")
		v.named(below.Child("name"), p.Name)
		objects.Within(v, below.Child("port"), p.Port, 1, 65535, "must be a port")
	}
	objects.Unique(v, at.Child("additionalAPIServerLBPorts"), n.AdditionalAPIServerLBPorts, "name", func(p LoadBalancerPort) string { return p.Name })
	if n.APIServerLB.Type == Internal {
		n.PrivateDNSZone = cmp.Or(n.PrivateDNSZone, "System")
	}
	if n.PrivateDNSZone != "" {
		objects.Enum(v, at.Child("privateDNSZone"), n.PrivateDNSZone, "System", "None")
	}
	if g := n.PrivateDNSZoneResourceGroup; g != "" {
		below := at.Child("privateDNSZoneResourceGroup")
		if !groupName.MatchString(g) {
			v.Invalid(below, g, "must be the name of a resource group")
		}
		v.Forbidden(below, n.PrivateDNSZone == "None", "no private zone is made: leave it out, or set privateDNSZone: System")
		v.Forbidden(below, n.PrivateDNSZoneName == "", "name the zone in privateDNSZoneName, too: the one by default is in the resource group of the cluster")
	}
	for _, f := range [][2]string{{"privateDNSZone", n.PrivateDNSZone}, {"privateDNSZoneName", n.PrivateDNSZoneName}, {"privateDNSZoneResourceGroup", n.PrivateDNSZoneResourceGroup}} {
		v.Forbidden(at.Child(f[0]), n.APIServerLB.Type == Public && f[1] != "", "a public load balancer has a public name: leave it out, or set apiServerLB.type: Internal")
	}
	if n.PrivateDNSZoneName != "" {
		v.Address(at.Child("privateDNSZoneName"), n.PrivateDNSZoneName, "")
	}
}

// peerings checks the peerings. Those with settings that say nothing have none: controllers write them so.
func (v *validator) peerings(at *field.Path, list []Peering) {
	for i := range list {
		p, below := &list[i], at.Index(i)
		v.Required(below.Child("remoteVnetName"), p.RemoteVnetName, "the VNet that the one of the cluster is connected with")
		v.named(below.Child("remoteVnetName"), p.RemoteVnetName)
		if p.ResourceGroup != "" && !groupName.MatchString(p.ResourceGroup) {
			v.Invalid(below.Child("resourceGroup"), p.ResourceGroup, "must be the name of a resource group")
		}
		for _, s := range []**PeeringProperties{&p.ForwardPeeringProperties, &p.ReversePeeringProperties} {
			if *s != nil && **s == (PeeringProperties{}) {
				*s = nil
			}
		}
	}
	objects.Unique(v, at, list, "remoteVnetName", func(p Peering) string { return strings.ToLower(p.RemoteVnetName) })
}

// A pair of ranges, of IPv4 and of IPv6. The second may be none.
type pair struct{ four, six netip.Prefix }

// subnetBits is the length of the prefix of a subnet of IPv6: Azure takes no other.
// Source: Azure documentation, "What is IPv6 for Azure Virtual Network?", limitations.
const subnetBits = 64

// cidrs checks ranges: one of IPv4, and if the place may have two, one of IPv6 after it. It returns them, and puts that of IPv4 first.
func (v *validator) cidrs(at *field.Path, list []string, two bool) pair {
	var out pair
	for i, text := range list {
		p, err := netip.ParsePrefix(text)
		switch {
		case err != nil:
			v.Invalid(at.Index(i), text, `must be a range of addresses such as "10.0.0.0/16"`)
		case !p.Addr().Is4() && !two:
			v.Invalid(at.Index(i), text, "must be a range of IPv4")
		case p.Addr().Is4() && out.four.IsValid(), !p.Addr().Is4() && out.six.IsValid():
			v.Invalid(at.Index(i), text, "a second range of its kind is not supported yet: leave it out")
		case p != p.Masked():
			v.Invalid(at.Index(i), text, "the range begins at "+p.Masked().String())
		case p.Addr().Is4():
			out.four = p
		default:
			out.six = p
		}
	}
	if out.six.IsValid() && !out.four.IsValid() {
		v.Invalid(at, list, "Azure has no network of IPv6 alone: add a range of IPv4")
	}
	slices.SortStableFunc(list, func(a, b string) int { return cmp.Compare(strings.Count(a, ":"), strings.Count(b, ":")) })
	return out
}

// subnets checks the subnets, and gives each its range: that of the control plane 10.0.0.0/16, and the nth of nodes
// 10.n.0.0/16.
// Source: CAPZ, api/v1beta1/azurecluster_default.go.
func (v *validator) subnets(at *field.Path, n *NetworkSpec, whole pair) {
	if len(n.Subnets) == 0 {
		n.Subnets = []Subnet{{Role: ControlPlaneSubnet}, {Role: NodeSubnet}}
	}
	roles, nodes := map[string]int{}, 0
	for i := range n.Subnets {
		s, below := &n.Subnets[i], at.Index(i)
		if s.Role == BastionSubnet {
			v.Invalid(below.Child("role"), s.Role, "the subnet of a bastion is in bastionSpec.azureBastion.subnet: leave it out here")
			continue
		}
		if v.Required(below.Child("role"), s.Role, "control-plane, node or cluster") {
			objects.Enum(v, below.Child("role"), s.Role, ControlPlaneSubnet, NodeSubnet, ClusterSubnet)
		}
		roles[s.Role]++
		if s.Role == NodeSubnet {
			nodes++
		}
		if s.ID = ""; len(s.CIDRBlocks) == 0 {
			s.CIDRBlocks = []string{netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(nodes)}), 16).String()}
			if s.Role != NodeSubnet {
				s.CIDRBlocks = []string{"10.0.0.0/16"}
			}
		}
		p := v.cidrs(below.Child("cidrBlocks"), s.CIDRBlocks, true)
		v.within(below.Child("cidrBlocks").Index(0), p.four, whole.four)
		switch six := below.Child("cidrBlocks").Index(1); {
		case !p.six.IsValid():
		case p.six.Bits() != subnetBits:
			v.Invalid(six, p.six.String(), "must be of /64: Azure has no other subnets of IPv6")
		case !whole.six.IsValid():
			v.Invalid(six, p.six.String(), "vnet.cidrBlocks has no range of IPv6: add one that it is in")
		default:
			v.within(six, p.six, whole.six)
		}
		v.named(below.Child("name"), s.Name)
		v.subnet(below, s)
	}
	if roles[ControlPlaneSubnet]+roles[ClusterSubnet] != 1 {
		v.Invalid(at, roles[ControlPlaneSubnet], "exactly one subnet has the role control-plane, or cluster")
	}
	if nodes+roles[ClusterSubnet] == 0 {
		v.Invalid(at, nodes, "a subnet has the role node, or cluster")
	}
	objects.Unique(v, at, n.Subnets, "name", func(s Subnet) string { return strings.ToLower(cmp.Or(s.Name, "the default of role "+s.Role)) })
}

// within checks that a range is in that of the VNet.
func (v *validator) within(at *field.Path, part, whole netip.Prefix) {
	if whole.IsValid() && part.IsValid() && (!whole.Contains(part.Addr()) || part.Bits() < whole.Bits()) {
		v.Invalid(at, part.String(), "must be within "+whole.String()+" of vnet.cidrBlocks")
	}
}

func (v *validator) subnet(at *field.Path, s *Subnet) {
	if t := s.RouteTable; t != nil {
		v.named(at.Child("routeTable", "name"), t.Name)
		if t.ID = ""; t.Name == "" { // as controllers write none
			s.RouteTable = nil
		}
	}
	if g := s.NATGateway; g != nil && g.Name == "" && (g.IP == nil || g.IP.Name == "" && g.IP.DNSName == "" && len(g.IP.IPTags) == 0) && len(g.Zones) == 0 { // the same
		s.NATGateway = nil
	}
	if g := s.NATGateway; g != nil {
		g.ID = ""
		v.named(at.Child("natGateway", "name"), g.Name)
		if g.IP != nil {
			v.publicIP(at.Child("natGateway", "ip"), g.IP)
		}
		v.zones(at.Child("natGateway", "zones"), g.Zones)
		if len(g.Zones) > 1 {
			v.Invalid(at.Child("natGateway", "zones"), g.Zones, "a NAT gateway is in one zone: name one, or none")
		}
	}
	v.serviceEndpoints(at.Child("serviceEndpoints"), s.ServiceEndpoints)
	g := s.SecurityGroup
	if g == nil {
		return
	}
	g.ID = ""
	v.named(at.Child("securityGroup", "name"), g.Name)
	v.tags(at.Child("securityGroup", "tags"), g.Tags)
	for i := range g.SecurityRules {
		v.rule(at.Child("securityGroup", "securityRules").Index(i), &g.SecurityRules[i])
	}
	objects.Unique(v, at.Child("securityGroup", "securityRules"), g.SecurityRules, "name", func(r SecurityRule) string { return strings.ToLower(r.Name) })
}

func (v *validator) serviceEndpoints(at *field.Path, list []ServiceEndpoint) {
	for i, e := range list {
		v.Required(at.Index(i).Child("service"), e.Service, "the name of a service such as Microsoft.Storage")
	}
}

// The range of priorities that rules may have.
const leastPriority, mostPriority = 100, 4096

func (v *validator) rule(at *field.Path, r *SecurityRule) {
	v.Required(at.Child("name"), r.Name, "the name of the rule")
	v.named(at.Child("name"), r.Name)
	if strings.HasPrefix(r.Name, "k8s-") {
		v.Invalid(at.Child("name"), r.Name, "rules that begin with k8s- are those of the cloud controller manager")
	}
	r.Action, r.Direction = cmp.Or(r.Action, "Allow"), cmp.Or(r.Direction, "Inbound")
	objects.Enum(v, at.Child("action"), r.Action, "Allow", "Deny")
	objects.Enum(v, at.Child("direction"), r.Direction, "Inbound", "Outbound")
	if v.Required(at.Child("protocol"), r.Protocol, "Tcp, Udp, Icmp or *") {
		objects.Enum(v, at.Child("protocol"), r.Protocol, "Tcp", "Udp", "Icmp", "*")
	}
	objects.Within(v, at.Child("priority"), r.Priority, leastPriority, mostPriority, "must be between 100 and 4096")
	for _, p := range []struct {
		name string
		text *string
	}{{"sourcePorts", &r.SourcePorts}, {"destinationPorts", &r.DestinationPorts}} {
		if *p.text = cmp.Or(*p.text, "*"); !ports.MatchString(*p.text) {
			v.Invalid(at.Child(p.name), *p.text, `must be "*", a port, a range such as "80-90", or several with commas`)
		}
	}
	v.Forbidden(at.Child("sources"), r.Source != "" && len(r.Sources) > 0, "only one of source and sources may be set")
	if r.Source == "" && len(r.Sources) == 0 {
		r.Source = "*"
	}
	r.Destination = cmp.Or(r.Destination, "*")
}

func (v *validator) balancer(at *field.Path, n *NetworkSpec) {
	if n.APIServerLB == nil {
		n.APIServerLB = &LoadBalancer{}
	}
	lb := n.APIServerLB
	v.anyBalancer(at, lb, longestIdle, Public, Internal)
	if c := lb.FrontendIPsCount; c != nil && *c != 1 {
		v.Invalid(at.Child("frontendIPsCount"), *c, "the load balancer has one address: leave it out")
	}
	lb.FrontendIPsCount = nil
	switch len(lb.FrontendIPs) {
	case 0:
		lb.FrontendIPs = []FrontendIP{{}}
	case 1:
	default:
		v.Invalid(at.Child("frontendIPs"), len(lb.FrontendIPs), "the load balancer has one address, public or private: name one")
	}
	f, below := &lb.FrontendIPs[0], at.Child("frontendIPs").Index(0)
	v.named(below.Child("name"), f.Name)
	if lb.Type == Internal {
		v.Forbidden(below.Child("publicIP"), f.PublicIP != nil, "an internal load balancer has a private address: name privateIP")
		f.PrivateIP = cmp.Or(f.PrivateIP, DefaultInternalIP)
		v.IPv4(below.Child("privateIP"), f.PrivateIP)
		return
	}
	v.Forbidden(below.Child("privateIP"), f.PrivateIP != "", "a public load balancer has a public address: leave it out, or set type: Internal")
	if f.PublicIP == nil {
		f.PublicIP = &PublicIP{}
	}
	v.publicIP(below.Child("publicIP"), f.PublicIP)
}

// mostFrontends is how many addresses an outbound load balancer has at most.
// Source: CAPZ, internal/webhooks/azurecluster_validation.go.
const mostFrontends = 16

// outbound checks a load balancer through which machines reach the internet. It has as many addresses as Git says.
func (v *validator) outbound(at *field.Path, lb *LoadBalancer) {
	if lb == nil {
		return
	}
	v.anyBalancer(at, lb, longestOutboundIdle, Public)
	count := int32(max(len(lb.FrontendIPs), 1)) //nolint:gosec // there are few
	if c := lb.FrontendIPsCount; c != nil {
		count = *c
	}
	objects.Within(v, at.Child("frontendIPsCount"), count, 1, mostFrontends, "must be between 1 and 16")
	v.Forbidden(at.Child("frontendIPs"), len(lb.FrontendIPs) > int(count), "are more than frontendIPsCount: name as many")
	lb.FrontendIPsCount = nil
	for len(lb.FrontendIPs) < int(min(count, mostFrontends)) {
		lb.FrontendIPs = append(lb.FrontendIPs, FrontendIP{})
	}
	for i := range lb.FrontendIPs {
		f, below := &lb.FrontendIPs[i], at.Child("frontendIPs").Index(i)
		v.named(below.Child("name"), f.Name)
		v.Forbidden(below.Child("privateIP"), f.PrivateIP != "", "machines reach the internet by a public address: leave it out")
		if f.PublicIP == nil {
			f.PublicIP = &PublicIP{}
		}
		v.publicIP(below.Child("publicIP"), f.PublicIP)
	}
}

// How many minutes rules keep a connection that is idle, at most.
// Source: Azure REST API, Load Balancers.
const (
	shortestIdle        = 4
	longestIdle         = 30
	longestOutboundIdle = 100
)

// anyBalancer checks what all load balancers have.
func (v *validator) anyBalancer(at *field.Path, lb *LoadBalancer, longest int32, types ...string) {
	lb.ID, lb.Type, lb.SKU = "", cmp.Or(lb.Type, Public), cmp.Or(lb.SKU, "Standard")
	objects.Enum(v, at.Child("type"), lb.Type, types...)
	objects.Enum(v, at.Child("sku"), lb.SKU, "Standard")
	v.named(at.Child("name"), lb.Name)
	if lb.BackendPool != nil {
		v.named(at.Child("backendPool", "name"), lb.BackendPool.Name)
	}
	v.zones(at.Child("availabilityZones"), lb.AvailabilityZones)
	if lb.IdleTimeoutInMinutes == nil {
		lb.IdleTimeoutInMinutes = new(int32(DefaultIdle))
	}
	objects.Within(v, at.Child("idleTimeoutInMinutes"), *lb.IdleTimeoutInMinutes, shortestIdle, longest, fmt.Sprintf("must be between %d and %d", shortestIdle, longest))
}

//nolint:gochecknoglobals // a constant that Go cannot write as one
var zones = map[string]bool{"1": true, "2": true, "3": true}

func (v *validator) zones(at *field.Path, list []string) {
	for i, z := range list {
		if !zones[z] {
			v.Invalid(at.Index(i), z, "must be an availability zone: 1, 2 or 3")
		}
	}
}

func (v *validator) named(at *field.Path, s string) {
	if s != "" && !name.MatchString(s) {
		v.Invalid(at, s, "must be a name of Azure: letters, digits, '_', '.' and '-', at most 80")
	}
}

// The bounds of tags. Fairlead's own and those of others take some of the 50 of Azure.
// Source: Azure documentation, "Use tags to organize your Azure resources", limitations.
const (
	maxTags     = 30
	maxTagKey   = 512
	maxTagValue = 256
)

func (v *validator) tags(at *field.Path, tags map[string]string) {
	if len(tags) > maxTags {
		v.Add(field.TooMany(at, len(tags), maxTags))
	}
	seen := map[string]bool{}
	for _, k := range slices.Sorted(maps.Keys(tags)) {
		below := at.Key(k)
		v.Text(below, k, maxTagKey)
		v.Text(below, tags[k], maxTagValue)
		lower := strings.ToLower(k)
		switch {
		case k == "" || strings.ContainsAny(k, `<>%&\?/`):
			v.Invalid(below, k, `a tag has a name without <, >, %, &, \, ? and /`)
		case strings.HasPrefix(lower, "fairlead.dev"):
			v.Invalid(below, k, "tags that begin with fairlead.dev say whose a thing is, and are set by Fairlead alone")
		case strings.HasPrefix(lower, "microsoft") || strings.HasPrefix(lower, "azure") || strings.HasPrefix(lower, "windows"):
			v.Invalid(below, k, "tags that begin with microsoft, azure or windows are those of Azure")
		case seen[lower]:
			v.Invalid(below, k, "Azure does not tell upper and lower case of names of tags apart: write it once")
		}
		seen[lower] = true
	}
}

func (v *validator) identity(at *field.Path, s *AzureClusterIdentitySpec) {
	if a := s.AllowedNamespaces; a != nil && a.Selector != nil {
		if _, err := metav1.LabelSelectorAsSelector(a.Selector); err != nil {
			v.Invalid(at.Child("allowedNamespaces", "selector"), a.Selector, err.Error())
		}
	}
	types := []string{ServicePrincipal, ManualServicePrincipal, Certificate, WorkloadIdentity, ManagedIdentity, IdentityCredential}
	if objects.Enum(v, at.Child("type"), s.Type, types...); !slices.Contains(types, s.Type) {
		return
	}
	v.Required(at.Child("tenantID"), s.TenantID, "the id of the tenant of the identity")
	if strings.ContainsAny(s.TenantID, "/?#") {
		v.Invalid(at.Child("tenantID"), s.TenantID, "must be the id or a domain of a tenant")
	}
	v.Required(at.Child("clientID"), s.ClientID, "the id of the application of the service principal, or of the managed identity")
	password := s.Type == ServicePrincipal || s.Type == ManualServicePrincipal
	if secret := at.Child("clientSecret", "name"); password || s.Type == Certificate && s.CertPath == "" {
		v.Object(secret, s.ClientSecret.Name, "the name of the Secret with the key clientSecret")
	} else {
		v.Forbidden(secret, s.ClientSecret.Name != "", "type "+s.Type+" reads no Secret here: leave it out")
	}
	v.Forbidden(at.Child("certPath"), s.CertPath != "" && s.Type != Certificate, "is for type: "+Certificate)
	if s.Type != IdentityCredential {
		v.Forbidden(at.Child("userAssignedIdentityCredentialsPath"), s.CredentialsPath != "", "is for type: "+IdentityCredential)
		v.Forbidden(at.Child("userAssignedIdentityCredentialsCloudType"), s.CredentialsCloudType != "", "is for type: "+IdentityCredential)
		return
	}
	v.Required(at.Child("userAssignedIdentityCredentialsPath"), s.CredentialsPath, "the file on the agent's machine")
	s.CredentialsCloudType = cmp.Or(s.CredentialsCloudType, "public")
	objects.Enum(v, at.Child("userAssignedIdentityCredentialsCloudType"), s.CredentialsCloudType, "public", "china", "usgovernment")
}

package api

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"fairlead.dev/providers/driver/objects"
)

// DefaultCIDR is the range of a VPC that is made.
const DefaultCIDR = "10.0.0.0/16"

// The ways in which zones are chosen, and in which a VPC is divided.
const (
	Ordered       = "Ordered"
	Random        = "Random"
	PreferPrivate = "PreferPrivate"
	PreferPublic  = "PreferPublic"
)

// The roles of security groups.
const (
	BastionRole      = "bastion"
	NodeRole         = "node"
	ControlPlaneRole = "controlplane"
	APIServerRole    = "apiserver-lb"
	BalancerRole     = "lb"
)

func (v *validator) cluster(at *field.Path, s *AWSClusterSpec) {
	if v.Required(at.Child("region"), s.Region, "the region of the cluster, such as eu-central-1") {
		v.region(at.Child("region"), s.Region)
	}
	v.clusterOrTemplate(at, s)
}

// clusterTemplate checks the template of a class, to which patches may add what it does not have.
func (v *validator) clusterTemplate(at *field.Path, s *AWSClusterSpec) {
	if s.Region != "" {
		v.region(at.Child("region"), s.Region)
	}
	v.clusterOrTemplate(at, s)
}

func (v *validator) region(at *field.Path, r string) {
	if !region.MatchString(r) {
		v.Invalid(at, r, "must be the name of a region such as eu-central-1")
	}
}

func (v *validator) clusterOrTemplate(at *field.Path, s *AWSClusterSpec) {
	if s.IdentityRef == nil {
		s.IdentityRef = &IdentityReference{Kind: ControllerIdentity, Name: DefaultIdentity}
	}
	v.identityRef(at.Child("identityRef"), s.IdentityRef)
	v.sshKeyName(at.Child("sshKeyName"), s.SSHKeyName)
	v.tags(at.Child("additionalTags"), s.AdditionalTags)
	if e := s.ControlPlaneEndpoint; e != nil && *e == (APIEndpoint{}) {
		s.ControlPlaneEndpoint = nil
	} else if e != nil {
		v.Address(at.Child("controlPlaneEndpoint", "host"), e.Host, "where the API server is reached")
		v.Port(at.Child("controlPlaneEndpoint", "port"), e.Port)
	}
	if s.ControlPlaneLoadBalancer == nil {
		s.ControlPlaneLoadBalancer = &LoadBalancer{}
	}
	v.loadBalancer(at.Child("controlPlaneLoadBalancer"), s.ControlPlaneLoadBalancer)
	if s.Network == nil {
		s.Network = &Network{}
	}
	v.network(at.Child("network"), s.Network)
	v.image(at, s.ImageLookupFormat)
}

func (v *validator) network(at *field.Path, n *Network) {
	if n.VPC == nil {
		n.VPC = &VPC{}
	}
	v.vpc(at.Child("vpc"), n.VPC)
	v.subnets(at.Child("subnets"), n)
	if n.CNI == nil { // as upstream: what Calico needs
		n.CNI = &CNI{CNIIngressRules: []CNIIngressRule{
			{Description: "bgp (calico)", Protocol: "tcp", FromPort: 179, ToPort: 179},
			{Description: "IP-in-IP (calico)", Protocol: "4", FromPort: -1, ToPort: 65535},
		}}
	}
	for i, r := range n.CNI.CNIIngressRules {
		v.protocol(at.Child("cni", "cniIngressRules").Index(i).Child("protocol"), r.Protocol)
	}
	v.rules(at.Child("additionalControlPlaneIngressRules"), n.AdditionalControlPlaneIngressRules)
	v.rules(at.Child("additionalNodeIngressRules"), n.AdditionalNodeIngressRules)
	for i, c := range n.NodePortIngressRuleCIDRBlocks {
		n.NodePortIngressRuleCIDRBlocks[i] = v.cidr(at.Child("nodePortIngressRuleCidrBlocks").Index(i), c, true)
	}
	for role, id := range n.SecurityGroupOverrides {
		below := at.Child("securityGroupOverrides").Key(role)
		objects.Enum(v, below, role, BastionRole, NodeRole, ControlPlaneRole, APIServerRole, BalancerRole)
		v.id(below, id, "sg-")
	}
}

// id checks an id of AWS.
func (v *validator) id(at *field.Path, id, prefix string) {
	if !strings.HasPrefix(id, prefix) {
		v.Invalid(at, id, "must be an id that begins with "+prefix)
	}
}

func (v *validator) vpc(at *field.Path, n *VPC) {
	v.tags(at.Child("tags"), n.Tags)
	if n.ID != "" {
		v.id(at.Child("id"), n.ID, "vpc-")
	}
	switch {
	case n.CIDRBlock != "":
		n.CIDRBlock = v.cidr(at.Child("cidrBlock"), n.CIDRBlock, true)
	case n.ID == "":
		n.CIDRBlock = DefaultCIDR
	}
	if n.AvailabilityZoneUsageLimit == nil {
		n.AvailabilityZoneUsageLimit = ptr.To[int64](3)
	}
	if *n.AvailabilityZoneUsageLimit < 1 {
		v.Invalid(at.Child("availabilityZoneUsageLimit"), *n.AvailabilityZoneUsageLimit, "must be 1 or more")
	}
	if n.AvailabilityZoneSelection == "" {
		n.AvailabilityZoneSelection = Ordered
	}
	objects.Enum(v, at.Child("availabilityZoneSelection"), n.AvailabilityZoneSelection, Ordered, Random)
	if n.SubnetSchema == "" {
		n.SubnetSchema = PreferPrivate
	}
	objects.Enum(v, at.Child("subnetSchema"), n.SubnetSchema, PreferPrivate, PreferPublic)
}

// subnets checks those of a given VPC, which have ids of AWS, and those that are made, which have not.
func (v *validator) subnets(at *field.Path, n *Network) {
	objects.Unique(v, at, n.Subnets, "id", func(s Subnet) string { return s.ID })
	objects.Unique(v, at, n.Subnets, "cidrBlock", func(s Subnet) string { return s.CIDRBlock })
	for i := range n.Subnets {
		s, below := &n.Subnets[i], at.Index(i)
		v.tags(below.Child("tags"), s.Tags)
		if s.CIDRBlock != "" {
			s.CIDRBlock = v.cidr(below.Child("cidrBlock"), s.CIDRBlock, true)
		}
		if s.ZoneType != "" && s.ZoneType != "availability-zone" {
			v.Invalid(below.Child("zoneType"), s.ZoneType, "local and wavelength zones are not supported")
		}
		given := strings.HasPrefix(s.ID, "subnet-")
		switch {
		case n.VPC.ID != "" && !given:
			v.Invalid(below.Child("id"), s.ID, "must be the id of a subnet of the VPC: no subnets are made in a given VPC")
		case n.VPC.ID == "" && given:
			v.Invalid(below.Child("id"), s.ID, "is a subnet that exists: name its VPC in network.vpc.id")
		case n.VPC.ID == "":
			v.Required(below.Child("cidrBlock"), s.CIDRBlock, "the range of a subnet that is made")
			v.Required(below.Child("availabilityZone"), s.AvailabilityZone, "the zone of a subnet that is made")
		}
	}
	if n.VPC.ID == "" && len(n.Subnets) > 0 && !slices.ContainsFunc(n.Subnets, func(s Subnet) bool { return s.IsPublic }) {
		v.Invalid(at, "", "one has to be public (isPublic), or nothing leads to the internet: give a VPC of your own for a network without that")
	}
}

// protocols are those of rules of security groups.
func protocols() []string { return []string{"-1", "4", "tcp", "udp", "icmp", "58", "50"} }

func (v *validator) protocol(at *field.Path, p string) { objects.Enum(v, at, p, protocols()...) }

func (v *validator) rules(at *field.Path, rules []IngressRule) {
	for i := range rules {
		r, below := &rules[i], at.Index(i)
		v.protocol(below.Child("protocol"), r.Protocol)
		for j, c := range r.CIDRBlocks {
			r.CIDRBlocks[j] = v.cidr(below.Child("cidrBlocks").Index(j), c, true)
		}
		for j, c := range r.IPv6CIDRBlocks {
			r.IPv6CIDRBlocks[j] = v.cidr(below.Child("ipv6CidrBlocks").Index(j), c, false)
		}
		for j, role := range r.SourceSecurityGroupRoles {
			objects.Enum(v, below.Child("sourceSecurityGroupRoles").Index(j), role, BastionRole, NodeRole, ControlPlaneRole, APIServerRole, BalancerRole)
		}
		for j, id := range r.SourceSecurityGroupIDs {
			v.id(below.Child("sourceSecurityGroupIds").Index(j), id, "sg-")
		}
		ranges := len(r.CIDRBlocks)+len(r.IPv6CIDRBlocks) > 0
		groups := len(r.SourceSecurityGroupIDs)+len(r.SourceSecurityGroupRoles) > 0
		switch {
		case r.NATGatewaysIPsSource && (ranges || groups):
			v.Invalid(below, "", "natGatewaysIPsSource stands alone: without ranges and security groups")
		case ranges && groups:
			v.Invalid(below, "", "has ranges and security groups: write two rules")
		}
	}
}

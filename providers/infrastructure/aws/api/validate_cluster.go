package api

import (
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"time"

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
	if s.SecondaryControlPlaneLoadBalancer != nil {
		v.secondLoadBalancer(at.Child("secondaryControlPlaneLoadBalancer"), s.SecondaryControlPlaneLoadBalancer, s.ControlPlaneLoadBalancer)
	}
	if s.Network == nil {
		s.Network = &Network{}
	}
	v.network(at.Child("network"), s.Network)
	for _, lb := range []struct {
		name string
		*LoadBalancer
	}{{"controlPlaneLoadBalancer", s.ControlPlaneLoadBalancer}, {"secondaryControlPlaneLoadBalancer", s.SecondaryControlPlaneLoadBalancer}} {
		v.Forbidden(at.Child(lb.name, "targetGroupIPType"), s.Network.VPC.IPv6 == nil && lb.LoadBalancer != nil && lb.TargetGroupIPType == SixFamily, onlyWithIPv6)
	}
	v.image(at, s.ImageLookupFormat)
	if b := s.Bastion; b != nil {
		below := at.Child("bastion")
		v.Forbidden(below.Child("allowedCIDRBlocks"), b.DisableIngressRules && len(b.AllowedCIDRBlocks) > 0, "nothing is let in with disableIngressRules: leave one of both out")
		for i, c := range b.AllowedCIDRBlocks {
			b.AllowedCIDRBlocks[i] = v.cidr(below.Child("allowedCIDRBlocks").Index(i), c, false)
		}
		if b.AMI != "" {
			v.id(below.Child("ami"), b.AMI, "ami-")
		}
	}
	if s.S3Bucket != nil {
		v.bucket(at.Child("s3Bucket"), s.S3Bucket)
	}
}

// bucketName matches names of buckets.
// Source: Amazon S3 user guide, "General purpose bucket naming rules".
var bucketName = regexp.MustCompile(`^[a-z0-9]([-.a-z0-9]{1,61})[a-z0-9]$`)

// longestURL is how long a presigned URL is valid at most.
const longestURL = 7 * 24 * time.Hour

func (v *validator) bucket(at *field.Path, b *S3Bucket) {
	if _, err := netip.ParseAddr(b.Name); err == nil || !bucketName.MatchString(b.Name) || strings.Contains(b.Name, "..") {
		v.Invalid(at.Child("name"), b.Name, "must have 3 to 63 lower-case letters, digits, hyphens and dots, begin and end with a letter or a digit, and be no address")
	}
	if d := b.PresignedURLDuration; d != "" {
		valid, err := time.ParseDuration(d)
		if err != nil || valid < time.Second || valid > longestURL {
			v.Invalid(at.Child("presignedURLDuration"), d, "must be between 1s and 168h, such as 1h")
		}
		return
	}
	const reads = "the instance profile whose role reads what is stored (or set presignedURLDuration)"
	v.Required(at.Child("controlPlaneIAMInstanceProfile"), b.ControlPlaneIAMInstanceProfile, reads)
	if len(b.NodesIAMInstanceProfiles) == 0 {
		v.Add(field.Required(at.Child("nodesIAMInstanceProfiles"), reads))
	}
	for i, name := range b.NodesIAMInstanceProfiles {
		v.Required(at.Child("nodesIAMInstanceProfiles").Index(i), name, reads)
	}
}

func (v *validator) network(at *field.Path, n *Network) {
	if n.VPC == nil {
		n.VPC = &VPC{}
	}
	v.vpc(at.Child("vpc"), n.VPC)
	v.subnets(at.Child("subnets"), n)
	if n.CNI == nil { // as upstream: what Calico needs
		n.CNI = &CNI{CNIIngressRules: calicoRules()}
	}
	for i, r := range n.CNI.CNIIngressRules {
		v.protocol(at.Child("cni", "cniIngressRules").Index(i).Child("protocol"), r.Protocol)
	}
	v.rules(at.Child("additionalControlPlaneIngressRules"), n.AdditionalControlPlaneIngressRules)
	v.rules(at.Child("additionalNodeIngressRules"), n.AdditionalNodeIngressRules)
	for i, c := range n.NodePortIngressRuleCIDRBlocks {
		n.NodePortIngressRuleCIDRBlocks[i] = v.cidr(at.Child("nodePortIngressRuleCidrBlocks").Index(i), c, n.VPC.IPv6 == nil)
	}
	for role, id := range n.SecurityGroupOverrides {
		below := at.Child("securityGroupOverrides").Key(role)
		objects.Enum(v, below, role, BastionRole, NodeRole, ControlPlaneRole, APIServerRole, BalancerRole)
		v.id(below, id, "sg-")
	}
}

// calicoRules are those that clusters have by default.
// Source: CAPA, api/v1beta2/defaults.go.
func calicoRules() []CNIIngressRule {
	return []CNIIngressRule{
		{Description: "bgp (calico)", Protocol: "tcp", FromPort: 179, ToPort: 179},
		{Description: "IP-in-IP (calico)", Protocol: "4", FromPort: -1, ToPort: 65535},
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
	case n.ID == "" && n.IPAMPool == nil:
		n.CIDRBlock = DefaultCIDR
	}
	if n.IPAMPool != nil {
		v.ipam(at.Child("ipamPool"), n)
	}
	if n.IPv6 != nil {
		v.ipv6(at.Child("ipv6"), n)
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
	if n.PrivateDNSHostnameTypeOnLaunch != "" {
		objects.Enum(v, at.Child("privateDnsHostnameTypeOnLaunch"), n.PrivateDNSHostnameTypeOnLaunch, "ip-name", "resource-name")
	}
	const made = "is for a VPC that is made: leave it out"
	for i := range n.SecondaryCIDRBlocks {
		below := at.Child("secondaryCidrBlocks").Index(i).Child("ipv4CidrBlock")
		n.SecondaryCIDRBlocks[i].IPv4CIDRBlock = v.cidr(below, n.SecondaryCIDRBlocks[i].IPv4CIDRBlock, true)
		if n.SecondaryCIDRBlocks[i].IPv4CIDRBlock == n.CIDRBlock {
			v.Add(field.Duplicate(below, n.CIDRBlock))
		}
	}
	objects.Unique(v, at.Child("secondaryCidrBlocks"), n.SecondaryCIDRBlocks, "ipv4CidrBlock", func(b VPCCIDRBlock) string { return b.IPv4CIDRBlock })
	given := n.ID != "" && !IsTheirs(n)
	v.Forbidden(at.Child("secondaryCidrBlocks"), given && len(n.SecondaryCIDRBlocks) > 0, made)
	v.Forbidden(at.Child("emptyRoutesDefaultVPCSecurityGroup"), given && n.EmptyRoutesDefaultVPCSecurityGroup, made)
	v.Forbidden(at.Child("elasticIpPool"), given && n.ElasticIPPool != nil, made)
	if p := n.ElasticIPPool; p != nil && !given {
		v.id(at.Child("elasticIpPool", "publicIpv4Pool"), p.PublicIPv4Pool, "ipv4pool-ec2-")
		v.Text(at.Child("elasticIpPool", "publicIpv4Pool"), p.PublicIPv4Pool, 30)
		if p.PublicIPv4PoolFallbackOrder != "" {
			objects.Enum(v, at.Child("elasticIpPool", "publicIpv4PoolFallbackOrder"), p.PublicIPv4PoolFallbackOrder, AmazonPool, "none")
		}
	}
}

// onlyWithIPv6 is why a field of IPv6 is refused.
const onlyWithIPv6 = "the VPC has no IPv6: add network.vpc.ipv6"

// ipv6 checks where a VPC has its range of IPv6 from, and fills in how large it is.
func (v *validator) ipv6(at *field.Path, n *VPC) {
	x := n.IPv6
	v.Forbidden(at.Child("ipamPool"), n.ID != "" && !IsTheirs(n) && x.IPAMPool != nil, "is for a VPC that is made: a given one has its range")
	if x.CIDRBlock != "" {
		x.CIDRBlock = v.cidr(at.Child("cidrBlock"), x.CIDRBlock, false)
		if !strings.Contains(x.CIDRBlock, ":") {
			v.Invalid(at.Child("cidrBlock"), x.CIDRBlock, "must be a range of IPv6")
		}
		if n.ID == "" { // or Cluster API's provider wrote it there
			v.Required(at.Child("poolId"), x.PoolID, "the pool of the account that has the range; without cidrBlock it is one of Amazon")
			v.Forbidden(at.Child("ipamPool"), x.IPAMPool != nil, "cidrBlock is the range: leave one of both out")
		}
	} else {
		v.Forbidden(at.Child("poolId"), x.PoolID != "", "only with cidrBlock")
	}
	if p := x.IPAMPool; p != nil {
		below := at.Child("ipamPool")
		if (p.ID == "") == (p.Name == "") {
			v.Invalid(below, "", "needs the id of a pool or the tag Name of one, and not both")
		}
		if p.NetmaskLength == 0 {
			p.NetmaskLength = 56
		}
		if p.NetmaskLength < 44 || p.NetmaskLength > 60 || p.NetmaskLength%4 != 0 { // what AWS lets a VPC have
			v.Invalid(below.Child("netmaskLength"), p.NetmaskLength, "must be 44, 48, 52, 56 or 60")
		}
	}
}

// ipam checks the pool that gives a VPC its range, and fills in how large that is.
func (v *validator) ipam(at *field.Path, n *VPC) {
	p := n.IPAMPool
	v.Forbidden(at, n.ID != "" && !IsTheirs(n), "is for a VPC that is made: leave it out")
	v.Forbidden(at, n.CIDRBlock != "" && !IsTheirs(n), "cidrBlock is the range: leave one of both out")
	if (p.ID == "") == (p.Name == "") {
		v.Invalid(at, "", "needs the id of a pool or the tag Name of one, and not both")
	}
	if p.ID != "" {
		v.id(at.Child("id"), p.ID, "ipam-pool-")
	}
	if p.NetmaskLength == 0 {
		p.NetmaskLength = 16
	}
	if p.NetmaskLength < 16 || p.NetmaskLength > 28 { // what AWS lets a VPC have
		v.Invalid(at.Child("netmaskLength"), p.NetmaskLength, "must be between 16 and 28")
	}
}

// AmazonPool has addresses be those of Amazon, once a pool has none.
const AmazonPool = "amazon-pool"

// subnets checks those of a given VPC, which have ids of AWS, and those that are made, which have not.
func (v *validator) subnets(at *field.Path, n *Network) {
	objects.Unique(v, at, n.Subnets, "id", func(s Subnet) string { return s.ID })
	objects.Unique(v, at, n.Subnets, "cidrBlock", func(s Subnet) string { return s.CIDRBlock })
	objects.Unique(v, at, n.Subnets, "ipv6CidrBlock", func(s Subnet) string { return s.IPv6CIDRBlock })
	for i := range n.Subnets {
		s, below := &n.Subnets[i], at.Index(i)
		v.tags(below.Child("tags"), s.Tags)
		if s.CIDRBlock != "" {
			s.CIDRBlock = v.cidr(below.Child("cidrBlock"), s.CIDRBlock, true)
		}
		six := s.IsIPv6 || s.IPv6CIDRBlock != ""
		v.Forbidden(below.Child("isIpv6"), six && n.VPC.IPv6 == nil, onlyWithIPv6)
		if s.IPv6CIDRBlock != "" {
			s.IPv6CIDRBlock = v.cidr(below.Child("ipv6CidrBlock"), s.IPv6CIDRBlock, false)
			if !strings.HasSuffix(s.IPv6CIDRBlock, "::/64") {
				v.Invalid(below.Child("ipv6CidrBlock"), s.IPv6CIDRBlock, "must be a range of IPv6 with /64")
			}
		}
		if s.ZoneType != "" && s.ZoneType != "availability-zone" {
			v.Invalid(below.Child("zoneType"), s.ZoneType, "local and wavelength zones are not supported")
		}
		given := strings.HasPrefix(s.ID, "subnet-")
		theirs := IsTheirs(n.VPC)
		switch {
		case theirs:
			v.Required(below.Child("cidrBlock"), s.CIDRBlock, "the range of the subnet")
			v.Required(below.Child("availabilityZone"), s.AvailabilityZone, "the zone of the subnet")
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

// TheirCluster begins the tag that Cluster API's provider gives what it makes for a cluster, and writes into network.vpc.tags.
// Source: CAPA, api/v1beta2/tags.go.
const TheirCluster = "sigs.k8s.io/cluster-api-provider-aws/cluster/"

// IsTheirs reports whether Cluster API's provider made a VPC that has an id: its tags, which that provider writes, say so.
func IsTheirs(n *VPC) bool {
	for k, value := range n.Tags {
		if n.ID != "" && strings.HasPrefix(k, TheirCluster) && value == "owned" {
			return true
		}
	}
	return false
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

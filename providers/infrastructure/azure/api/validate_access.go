package api

import (
	"cmp"
	"math"
	"net/netip"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"fairlead.dev/providers/driver/objects"
)

// DefaultBastionCIDR is the range of the subnet of a new bastion. Azure takes no smaller one; Cluster API's default is smaller.
// Source: Azure documentation, "About Bastion configuration settings".
const DefaultBastionCIDR = "10.255.255.192/26"

// The offers of bastions.
const basic, standard = "Basic", "Standard"

// bastion checks a bastion in a VNet with ranges. Its subnet may name no range: one that is there keeps its own.
func (v *validator) bastion(at *field.Path, b *AzureBastion, ranges []string) {
	if b.PublicIP == nil {
		b.PublicIP = &PublicIP{}
	}
	if b.EnableTunneling == nil {
		b.EnableTunneling = new(bool)
	}
	v.named(at.Child("name"), b.Name)
	v.publicIP(at.Child("publicIP"), b.PublicIP)
	b.SKU = cmp.Or(b.SKU, basic)
	objects.Enum(v, at.Child("sku"), b.SKU, basic, standard)
	v.Forbidden(at.Child("enableTunneling"), *b.EnableTunneling && b.SKU != standard, "needs sku: "+standard)
	if b.Subnet == nil {
		b.Subnet = &Subnet{}
	}
	s, below := b.Subnet, at.Child("subnet")
	s.Name, s.Role = cmp.Or(s.Name, BastionSubnetName), cmp.Or(s.Role, BastionSubnet)
	objects.Enum(v, below.Child("name"), s.Name, BastionSubnetName)
	objects.Enum(v, below.Child("role"), s.Role, BastionSubnet)
	*s = Subnet{Name: s.Name, Role: s.Role, CIDRBlocks: s.CIDRBlocks, ServiceEndpoints: s.ServiceEndpoints} // without what webhooks write as empty
	v.serviceEndpoints(below.Child("serviceEndpoints"), s.ServiceEndpoints)
	has := s.CIDRBlocks
	if len(has) == 0 {
		has = []string{DefaultBastionCIDR}
	}
	whole, _ := netip.ParsePrefix(ranges[0]) // that of the network is checked by itself
	at = below.Child("cidrBlocks")
	v.within(at.Index(0), v.cidrs(at, has, false).four, whole)
}

// publicIP checks a public address.
func (v *validator) publicIP(at *field.Path, ip *PublicIP) {
	v.named(at.Child("name"), ip.Name)
	if ip.DNSName != "" {
		v.Address(at.Child("dnsName"), ip.DNSName, "")
	}
	for i, t := range ip.IPTags {
		v.Required(at.Child("ipTags").Index(i).Child("type"), t.Type, "such as RoutingPreference")
		v.Required(at.Child("ipTags").Index(i).Child("tag"), t.Tag, "such as Internet")
	}
}

// DefaultRateLimit is the limit of requests that have none of their own.
const DefaultRateLimit = "defaultRateLimit"

// overrides checks what Git sets for the cloud controller manager.
func (v *validator) overrides(at *field.Path, o *CloudProviderOverrides) {
	negative := func(at *field.Path, n *int32) {
		if n != nil {
			objects.Within(v, at, *n, 0, math.MaxInt32, "must not be negative")
		}
	}
	below := func(at *field.Path, q *resource.Quantity) {
		if q != nil && q.Sign() < 0 {
			v.Invalid(at, q.String(), "must not be negative")
		}
	}
	if b := o.BackOffs; b != nil {
		of := at.Child("backOffs")
		negative(of.Child("cloudProviderBackoffDuration"), b.Duration)
		negative(of.Child("cloudProviderBackoffRetries"), b.Retries)
		below(of.Child("cloudProviderBackoffExponent"), b.Exponent)
		below(of.Child("cloudProviderBackoffJitter"), b.Jitter)
	}
	for i := range o.RateLimits {
		r, of := &o.RateLimits[i], at.Child("rateLimits").Index(i)
		objects.Enum(v, of.Child("name"), r.Name, DefaultRateLimit, "routeRateLimit", "subnetsRateLimit", "interfaceRateLimit", "routeTableRateLimit", "loadBalancerRateLimit",
			"publicIPAddressRateLimit", "securityGroupRateLimit", "virtualMachineRateLimit", "storageAccountRateLimit", "diskRateLimit", "snapshotRateLimit",
			"virtualMachineScaleSetRateLimit", "virtualMachineSizesRateLimit", "availabilitySetRateLimit")
		negative(of.Child("config", "cloudProviderRateLimitBucket"), r.Config.RateLimitBucket)
		negative(of.Child("config", "cloudProviderRateLimitBucketWrite"), r.Config.RateLimitBucketWrite)
		below(of.Child("config", "cloudProviderRateLimitQPS"), r.Config.RateLimitQPS)
		below(of.Child("config", "cloudProviderRateLimitQPSWrite"), r.Config.RateLimitQPSWrite)
	}
	objects.Unique(v, at.Child("rateLimits"), o.RateLimits, "name", func(r RateLimit) string { return r.Name })
}

// privateEndpoints checks the private endpoints of a subnet. No two of a cluster have one name: taken are those of other subnets.
func (v *validator) privateEndpoints(at *field.Path, list []PrivateEndpoint, location string, taken map[string]bool) {
	for i := range list {
		e, below := &list[i], at.Index(i)
		v.Required(below.Child("name"), e.Name, "the name of the private endpoint")
		v.named(below.Child("name"), e.Name)
		if key := strings.ToLower(e.Name); taken[key] {
			v.Add(field.Duplicate(below.Child("name"), e.Name))
		} else {
			taken[key] = true
		}
		v.named(below.Child("customNetworkInterfaceName"), e.CustomNetworkInterfaceName)
		v.Forbidden(below.Child("location"), e.Location != "" && location != "" && regionOf(e.Location) != location, "it is in the location of its VNet: leave it out")
		e.Location = ""
		if len(e.PrivateLinkServiceConnections) == 0 {
			v.Add(field.Required(below.Child("privateLinkServiceConnections"), "the service that it leads to"))
		}
		for j := range e.PrivateLinkServiceConnections {
			c, of := &e.PrivateLinkServiceConnections[j], below.Child("privateLinkServiceConnections").Index(j)
			v.id(of.Child("privateLinkServiceID"), c.PrivateLinkServiceID, "the id of the service")
			c.Name = cmp.Or(c.Name, c.PrivateLinkServiceID[strings.LastIndexByte(c.PrivateLinkServiceID, '/')+1:])
			v.named(of.Child("name"), c.Name)
			v.Forbidden(of.Child("requestMessage"), c.RequestMessage != "" && (e.ManualApproval == nil || !*e.ManualApproval), "is for manualApproval: true")
		}
		for j, ip := range e.PrivateIPAddresses {
			v.IPv4(below.Child("privateIPAddresses").Index(j), ip)
		}
		e.PrivateIPAddresses = objects.Set(v, below.Child("privateIPAddresses"), e.PrivateIPAddresses)
		for j, id := range e.ApplicationSecurityGroups {
			v.id(below.Child("applicationSecurityGroups").Index(j), id, "the id of the application security group")
		}
	}
}

// id checks the id of a resource of Azure.
func (v *validator) id(at *field.Path, id, what string) {
	if v.Required(at, id, what) && !strings.HasPrefix(strings.ToLower(id), "/subscriptions/") {
		v.Invalid(at, id, "must be the id of a resource of Azure, which begins with /subscriptions/")
	}
}

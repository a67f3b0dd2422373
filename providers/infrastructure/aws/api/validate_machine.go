package api

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"fairlead.dev/providers/driver/objects"
)

// The markets of instances.
const (
	OnDemand      = "OnDemand"
	Spot          = "Spot"
	CapacityBlock = "CapacityBlock"
)

// Whether the network interface of an instance has a primary address of IPv6.
const (
	Enabled = "enabled"
	Off     = "disabled"
)

// Where the configuration of Ignition is: in the bucket of the cluster, or in the user data of an instance.
const (
	ClusterObjectStore  = "ClusterObjectStore"
	UnencryptedUserData = "UnencryptedUserData"
)

// ResolveSSM begins the id of an image that EC2 finds by a parameter of SSM.
const ResolveSSM = "resolve:ssm:"

var (
	hostID = regexp.MustCompile(`^h-[0-9a-f]{17}$`)
	price  = regexp.MustCompile(`^\d+(\.\d+)?$`)
)

func (v *validator) machine(at *field.Path, s *AWSMachineSpec) { v.machineOf(at, at, s) }

// machineOf checks a machine whose tags and Ignition are at another path.
func (v *validator) machineOf(at, of *field.Path, s *AWSMachineSpec) {
	if v.Required(at.Child("instanceType"), s.InstanceType, "such as m6i.large") && len(s.InstanceType) < 2 {
		v.Invalid(at.Child("instanceType"), s.InstanceType, "must be a type of instances such as m6i.large")
	}
	v.sshKeyName(at.Child("sshKeyName"), s.SSHKeyName)
	v.tags(of.Child("additionalTags"), s.AdditionalTags)
	if s.AMI != nil && s.AMI.ID != "" && !strings.HasPrefix(s.AMI.ID, "ami-") && !strings.HasPrefix(s.AMI.ID, ResolveSSM) {
		v.Invalid(at.Child("ami", "id"), s.AMI.ID, "must be the id of an image, or "+ResolveSSM+" and the name of a parameter")
	}
	if s.AMI != nil {
		v.eksImage(at.Child("ami", "eksLookupType"), s.AMI.EKSLookupType)
		v.Forbidden(at.Child("ami", "eksLookupType"), s.AMI.EKSLookupType != "" && s.AMI.ID != "", "id names the image: leave one of both out")
	}
	v.image(at, s.ImageLookupFormat)
	v.bootstrap(of, s)
	if s.AssignPrimaryIPv6 != "" {
		objects.Enum(v, at.Child("assignPrimaryIPv6"), s.AssignPrimaryIPv6, Enabled, Off)
	}
	v.volumes(at, s)
	v.metadata(at.Child("instanceMetadataOptions"), s)
	for i := range s.AdditionalSecurityGroups {
		v.reference(at.Child("additionalSecurityGroups").Index(i), &s.AdditionalSecurityGroups[i], "sg-")
	}
	if s.Subnet != nil {
		v.reference(at.Child("subnet"), s.Subnet, "subnet-")
	}
	for role, id := range s.SecurityGroupOverrides {
		below := at.Child("securityGroupOverrides").Key(role)
		objects.Enum(v, below, role, BastionRole, NodeRole, ControlPlaneRole, APIServerRole, BalancerRole)
		v.id(below, id, "sg-")
	}
	v.market(at, s)
	v.placement(at, s)
	v.interfaces(at, s)
}

// interfaces checks the network interfaces that a machine is given. They have their subnet, type and addresses.
func (v *validator) interfaces(at *field.Path, s *AWSMachineSpec) {
	below := at.Child("networkInterfaces")
	if len(s.NetworkInterfaces) == 0 {
		return
	}
	for i, id := range s.NetworkInterfaces {
		v.id(below.Index(i), id, "eni-")
		if slices.Contains(s.NetworkInterfaces[:i], id) {
			v.Add(field.Duplicate(below.Index(i), id))
		}
	}
	const theirs = "that is a property of the network interfaces in networkInterfaces: leave one of both out"
	v.Forbidden(at.Child("subnet"), s.Subnet != nil, theirs)
	v.Forbidden(at.Child("networkInterfaceType"), s.NetworkInterfaceType != "", theirs)
	v.Forbidden(at.Child("assignPrimaryIPv6"), s.AssignPrimaryIPv6 != "", theirs)
	v.Forbidden(at.Child("publicIP"), s.PublicIP != nil && *s.PublicIP, "AWS gives no public address to a network interface that is there: associate one with the interface")
}

// AmazonLinux2023GPU is Amazon Linux 2023 with drivers of NVIDIA.
const AmazonLinux2023GPU = "AmazonLinux2023GPU"

// eksImage checks which image of EKS a machine has.
func (v *validator) eksImage(at *field.Path, lookup string) {
	switch lookup {
	case "":
	case "AmazonLinux", "AmazonLinuxGPU":
		v.Invalid(at, lookup, "Amazon Linux 2 has no nodeadm, and EKS has no images of it from Kubernetes 1.33 on: use AmazonLinux2023")
	default:
		objects.Enum(v, at, lookup, "AmazonLinux2023", AmazonLinux2023GPU)
	}
}

// image checks how the name of an image is made.
func (v *validator) image(at *field.Path, format string) {
	if _, err := template.New("image").Parse(format); err != nil {
		v.Invalid(at.Child("imageLookupFormat"), format, "is no template such as capa-ami-{{.BaseOS}}-?{{.K8sVersion}}-*: "+err.Error())
	}
}

// bootstrap checks how a machine gets its user data.
func (v *validator) bootstrap(at *field.Path, s *AWSMachineSpec) {
	if s.CloudInit == nil {
		s.CloudInit = &CloudInit{}
	}
	if backend := at.Child("cloudInit", "secureSecretsBackend"); s.CloudInit.SecureSecretsBackend != "" {
		objects.Enum(v, backend, s.CloudInit.SecureSecretsBackend, "secrets-manager", "ssm-parameter-store")
		v.Forbidden(backend, s.CloudInit.InsecureSkipSecretsManager, "nothing is kept with insecureSkipSecretsManager: leave one of both out")
	}
	if s.Ignition == nil {
		return
	}
	v.Forbidden(at.Child("cloudInit"), *s.CloudInit != (CloudInit{}), "a machine has Ignition or cloud-init: leave one of both out")
	if s.Ignition.StorageType == "" {
		s.Ignition.StorageType = ClusterObjectStore
	}
	objects.Enum(v, at.Child("ignition", "storageType"), s.Ignition.StorageType, ClusterObjectStore, UnencryptedUserData)
	const fetches = "only with storageType: " + ClusterObjectStore + ": an instance that has its configuration as user data fetches nothing"
	v.Forbidden(at.Child("ignition", "proxy"), s.Ignition.Proxy != nil && s.Ignition.StorageType != ClusterObjectStore, fetches)
	v.Forbidden(at.Child("ignition", "tls"), s.Ignition.TLS != nil && s.Ignition.StorageType != ClusterObjectStore, fetches)
	if p := s.Ignition.Proxy; p != nil {
		for _, text := range []string{p.HTTPProxy, p.HTTPSProxy} {
			if _, err := url.Parse(text); err != nil {
				v.Invalid(at.Child("ignition", "proxy"), text, "is no URL")
			}
		}
	}
	if t := s.Ignition.TLS; t != nil {
		for i, ca := range t.CertificateAuthorities {
			if u, err := url.Parse(ca); err != nil || u.Scheme == "" {
				v.Invalid(at.Child("ignition", "tls", "certificateAuthorities").Index(i), ca, "must be the URL of certificates, such as https://… or data:…")
			}
		}
	}
}

func (v *validator) volumes(at *field.Path, s *AWSMachineSpec) {
	if s.RootVolume != nil {
		v.volume(at.Child("rootVolume"), s.RootVolume)
	}
	below := at.Child("nonRootVolumes")
	objects.Unique(v, below, s.NonRootVolumes, "deviceName", func(d Volume) string { return d.DeviceName })
	for i := range s.NonRootVolumes {
		v.volume(below.Index(i), &s.NonRootVolumes[i])
		v.Required(below.Index(i).Child("deviceName"), s.NonRootVolumes[i].DeviceName, "the device of the volume, such as /dev/sdb")
	}
}

// volume checks a volume.
// Source: CAPA, webhooks/awsmachine_webhook.go; https://aws.amazon.com/ebs/general-purpose/.
func (v *validator) volume(at *field.Path, d *Volume) {
	if d.Size < 8 {
		v.Invalid(at.Child("size"), d.Size, "must be 8 or more, in GiB")
	}
	if d.Type == "" {
		d.Type = "gp3"
	}
	objects.Enum(v, at.Child("type"), d.Type, "standard", "gp2", "gp3", "io1", "io2", "st1", "sc1")
	if (d.Type == "io1" || d.Type == "io2") && d.IOPS == 0 {
		v.Add(field.Required(at.Child("iops"), "a volume of type "+d.Type+" says how many it has"))
	}
	if t := d.Throughput; t != nil {
		v.Forbidden(at.Child("throughput"), d.Type != "gp3", "only a volume of type gp3 has one")
		if *t < 125 || *t > 2000 {
			v.Invalid(at.Child("throughput"), *t, "must be between 125 and 2000, in MiB/s")
		}
	}
	v.Forbidden(at.Child("encryptionKey"), d.EncryptionKey != "" && d.Encrypted != nil && !*d.Encrypted, "the volume is not encrypted: leave it out")
}

// metadata fills in how an instance reads its metadata. Unlike upstream, IMDSv2 is required unless the
// template says otherwise, and pods reach it, which needs two hops.
func (v *validator) metadata(at *field.Path, s *AWSMachineSpec) {
	if s.InstanceMetadataOptions == nil {
		s.InstanceMetadataOptions = &InstanceMetadataOptions{}
	}
	o := s.InstanceMetadataOptions
	for _, f := range []struct {
		name     string
		value    *string
		fallback string
		values   []string
	}{
		{"httpEndpoint", &o.HTTPEndpoint, "enabled", []string{"enabled", "disabled"}},
		{"httpProtocolIpv6", &o.HTTPProtocolIPv6, "disabled", []string{"enabled", "disabled"}},
		{"httpTokens", &o.HTTPTokens, "required", []string{"optional", "required"}},
		{"instanceMetadataTags", &o.InstanceMetadataTags, "disabled", []string{"enabled", "disabled"}},
	} {
		if *f.value == "" {
			*f.value = f.fallback
		}
		objects.Enum(v, at.Child(f.name), *f.value, f.values...)
	}
	if o.HTTPPutResponseHopLimit == 0 {
		o.HTTPPutResponseHopLimit = 2
	}
	if o.HTTPPutResponseHopLimit < 1 || o.HTTPPutResponseHopLimit > 64 {
		v.Invalid(at.Child("httpPutResponseHopLimit"), o.HTTPPutResponseHopLimit, "must be between 1 and 64")
	}
}

func (v *validator) reference(at *field.Path, r *ResourceReference, prefix string) {
	switch {
	case r.ID != "" && len(r.Filters) > 0:
		v.Add(field.Forbidden(at.Child("filters"), "an id is given, too: leave one of both out"))
	case r.ID == "" && len(r.Filters) == 0:
		v.Add(field.Required(at, "an id or filters"))
	case r.ID != "":
		v.id(at.Child("id"), r.ID, prefix)
	}
	for i, f := range r.Filters {
		v.Required(at.Child("filters").Index(i).Child("name"), f.Name, "the name of a filter, such as tag:Name")
		if len(f.Values) == 0 {
			v.Add(field.Required(at.Child("filters").Index(i).Child("values"), "the values of the filter"))
		}
	}
}

// market checks how an instance is paid for.
func (v *validator) market(at *field.Path, s *AWSMachineSpec) {
	if s.MarketType != "" {
		objects.Enum(v, at.Child("marketType"), s.MarketType, OnDemand, Spot, CapacityBlock)
	}
	if s.SpotMarketOptions != nil {
		v.Forbidden(at.Child("spotMarketOptions"), s.MarketType != "" && s.MarketType != Spot, "marketType is "+s.MarketType+": leave one of both out")
		if p := s.SpotMarketOptions.MaxPrice; p != "" && !price.MatchString(p) {
			v.Invalid(at.Child("spotMarketOptions", "maxPrice"), p, `must be dollars in an hour such as "0.05"`)
		}
		s.MarketType = Spot
	}
	if s.MarketType == Spot && s.SpotMarketOptions == nil {
		s.SpotMarketOptions = &SpotMarketOptions{}
	}
	if s.MarketType == "" {
		s.MarketType = OnDemand
	}
	v.Forbidden(at.Child("capacityReservationId"), s.MarketType == Spot && s.CapacityReservationID != "", "a spot instance has no reservation")
	if s.MarketType == CapacityBlock && s.CapacityReservationID == "" {
		v.Add(field.Required(at.Child("capacityReservationId"), "the reservation of the capacity block"))
	}
	if p := s.CapacityReservationPreference; p != "" {
		const only = "CapacityReservationsOnly"
		below := at.Child("capacityReservationPreference")
		objects.Enum(v, below, p, "None", "Open", only)
		v.Forbidden(below, s.CapacityReservationID != "" && p != only, "with capacityReservationId it is "+only)
		v.Forbidden(below, s.MarketType == Spot && p == only, "a spot instance has no reservation")
	}
}

// placement checks where an instance is.
func (v *validator) placement(at *field.Path, s *AWSMachineSpec) {
	if s.Tenancy != "" {
		objects.Enum(v, at.Child("tenancy"), s.Tenancy, "default", "dedicated", "host")
	}
	if s.HostAffinity != "" {
		objects.Enum(v, at.Child("hostAffinity"), s.HostAffinity, "default", "host")
	}
	if s.HostID != "" && !hostID.MatchString(s.HostID) {
		v.Invalid(at.Child("hostID"), s.HostID, "must be the id of a dedicated host such as h-0123456789abcdef0")
	}
	v.Forbidden(at.Child("hostID"), s.HostID != "" && s.Tenancy != "host", "only with tenancy: host")
	v.Forbidden(at.Child("hostAffinity"), s.HostAffinity == "host" && s.Tenancy != "host", "only with tenancy: host")
	if s.HostAffinity == "host" && s.HostID == "" {
		v.Add(field.Required(at.Child("hostID"), "with hostAffinity: host an instance is on one dedicated host"))
	}
	v.Forbidden(at.Child("placementGroupPartition"), s.PlacementGroupPartition != 0 && s.PlacementGroupName == "", "only with placementGroupName")
	if s.PlacementGroupPartition < 0 || s.PlacementGroupPartition > 7 {
		v.Invalid(at.Child("placementGroupPartition"), s.PlacementGroupPartition, "must be between 1 and 7")
	}
	if s.NetworkInterfaceType != "" {
		objects.Enum(v, at.Child("networkInterfaceType"), s.NetworkInterfaceType, "interface", "efa")
	}
	if o := s.CPUOptions; o != nil && o.ConfidentialCompute != "" {
		objects.Enum(v, at.Child("cpuOptions", "confidentialCompute"), o.ConfidentialCompute, "Disabled", "AMDEncryptedVirtualizationNestedPaging")
	}
	if o := s.CPUOptions; o != nil && o.NestedVirtualization != "" {
		objects.Enum(v, at.Child("cpuOptions", "nestedVirtualization"), o.NestedVirtualization, "enabled", "disabled")
	}
	if o := s.PrivateDNSName; o != nil && o.HostnameType != "" {
		objects.Enum(v, at.Child("privateDnsName", "hostnameType"), o.HostnameType, "ip-name", "resource-name")
	}
	if s.PublicIP == nil {
		s.PublicIP = ptr.To(false)
	}
}

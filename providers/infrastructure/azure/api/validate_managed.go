package api

import (
	"cmp"
	"encoding/base64"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/objects"
)

// The modes of agent pools, and what may change in a pool or a cluster of AKS.
const (
	SystemPool     = "System"
	UserPool       = "User"
	SpotPool       = "Spot"
	SystemIdentity = "SystemAssigned"
	FreeTier       = "Free"
	StandardTier   = "Standard"
	Windows        = "Windows"
	Kubenet        = "kubenet"
	NoPlugin       = "none"
	Overlay        = "overlay"
)

// The ranges of addresses that CAPZ gives the VNet of a cluster of AKS.
// Source: CAPZ, api/v1beta1/azuremanagedcontrolplane_default.go.
const (
	managedVNetCIDR   = "10.0.0.0/8"
	managedSubnetCIDR = "10.240.0.0/16"
)

// longestWindows is how long the name of an agent pool of Windows may be.
// Source: AKS documentation, "Create node pools", limitations.
const longestWindows = 6

var (
	// managedName is what Azure takes as the name of a cluster of AKS, and dnsPrefix as the beginning of that of its API server.
	managedName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9_-]{0,61}[A-Za-z0-9])?$`)
	dnsPrefix   = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9-]{0,52}[A-Za-z0-9])?$`)
	poolName    = regexp.MustCompile(`^[a-z][a-z0-9]{0,11}$`)
	// memberName is what Azure takes as the name of a fleet, or of a membership in one.
	memberName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,48}[a-z0-9])?$`)
	version    = regexp.MustCompile(`^v?[1-9][0-9]*\.[0-9]+\.[0-9]+$`)
)

// managedControlPlane is a kinds.Normaliser.
func managedControlPlane(o metav1.Object, at *field.Path, s *AzureManagedControlPlaneSpec) (any, field.ErrorList) {
	v := new(validator)
	if name := o.GetName(); name != "" && !managedName.MatchString(name) {
		v.Invalid(field.NewPath("metadata", "name"), name, "it is the name of the cluster of AKS: letters, digits, '_' and '-', at most 63")
	}
	out := &fleet.HostedManifest{Spec: s}
	if v.Required(at.Child("version"), s.Version, "the version of Kubernetes, such as v1.34.1") && !version.MatchString(s.Version) {
		v.Invalid(at.Child("version"), s.Version, "must be a version of Kubernetes with its patch, such as v1.34.1: az aks get-versions lists them")
	}
	s.ControlPlaneEndpoint = nil
	s.Version = strings.TrimPrefix(s.Version, "v")
	out.Version = "v" + s.Version
	s.ResourceGroupName = cmp.Or(s.ResourceGroupName, o.GetLabels()[clusterv1.ClusterNameLabel])
	v.Required(at.Child("resourceGroupName"), s.ResourceGroupName, "the resource group of the cluster")
	shared := s.shared()
	v.site(at, shared, "resourceGroupName")
	s.Location, s.SubscriptionID, s.AzureEnvironment = shared.Location, shared.SubscriptionID, shared.AzureEnvironment
	v.Required(at.Child("location"), s.Location, "the region of the cluster, such as westeurope")
	v.Required(at.Child("subscriptionID"), s.SubscriptionID, "the id of the subscription that the cluster is in")
	if s.IdentityRef == nil {
		v.Add(field.Required(at.Child("identityRef"), "the AzureClusterIdentity of the cluster"))
	}
	if g := s.NodeResourceGroupName; g != "" && (!groupName.MatchString(g) || strings.EqualFold(g, s.ResourceGroupName)) {
		v.Invalid(at.Child("nodeResourceGroupName"), g, "must be the name of a resource group that AKS makes for the machines, other than resourceGroupName")
	}
	v.Forbidden(at.Child("disableLocalAccounts"), s.DisableLocalAccounts != nil && *s.DisableLocalAccounts, "the agent logs in with the admin credential of the cluster, and not with Microsoft Entra ID yet: leave it out")
	v.Forbidden(at.Child("enablePreviewFeatures"), s.EnablePreviewFeatures != nil && *s.EnablePreviewFeatures, "what is in preview is not asked for: leave it out")
	s.DisableLocalAccounts, s.EnablePreviewFeatures, s.MachineTemplate, s.ControlPlaneEndpoint = nil, nil, nil, nil
	v.managedIdentity(at, s)
	v.managedNetwork(at, o.GetName(), s)
	v.managedAccess(at, s)
	v.managedExtras(at, s)
	v.extensionsOfAKS(at.Child("extensions"), s.Extensions)
	if f := s.FleetsMember; f != nil {
		v.fleetsMember(at.Child("fleetsMember"), f, o.GetLabels()[clusterv1.ClusterNameLabel])
	}
	return out, v.Errors()
}

// managedIdentity checks the identities of the cluster, its tier and its key.
func (v *validator) managedIdentity(at *field.Path, s *AzureManagedControlPlaneSpec) {
	i, below := &Identity{Type: SystemIdentity}, at.Child("identity") // of a new cluster
	if s.Identity != nil {
		i = s.Identity
	}
	i.Type = cmp.Or(i.Type, SystemIdentity)
	objects.Enum(v, below.Child("type"), i.Type, SystemIdentity, UserAssigned)
	v.identityID(below.Child("userAssignedIdentityResourceID"), &i.UserAssignedIdentityResourceID)
	v.Forbidden(below.Child("userAssignedIdentityResourceID"), i.Type == SystemIdentity && i.UserAssignedIdentityResourceID != "", "set type: UserAssigned, or leave it out")
	if i.Type == UserAssigned {
		v.Required(below.Child("userAssignedIdentityResourceID"), i.UserAssignedIdentityResourceID, "the identity of the cluster")
	}
	v.identityID(at.Child("kubeletUserAssignedIdentity"), &s.KubeletUserAssignedIdentity)
	v.Forbidden(at.Child("kubeletUserAssignedIdentity"), s.KubeletUserAssignedIdentity != "" && i.Type != UserAssigned, "AKS takes one only beside identity.type: UserAssigned")
	if s.SKU != nil {
		objects.Enum(v, at.Child("sku", "tier"), s.SKU.Tier, FreeTier, "Paid", StandardTier)
		if s.SKU.Tier == "Paid" { // the former name
			s.SKU.Tier = StandardTier
		}
	}
	if s.SSHPublicKey != nil && *s.SSHPublicKey == "" {
		s.SSHPublicKey = nil // CAPZ makes a key then, which nothing keeps
	}
	if s.SSHPublicKey != nil {
		text, err := base64.StdEncoding.DecodeString(*s.SSHPublicKey)
		if err != nil || !strings.HasPrefix(string(text), "ssh-") {
			v.Invalid(at.Child("sshPublicKey"), *s.SSHPublicKey, `must be a public key such as "ssh-ed25519 AAAA…", encoded as base64`)
		}
	}
}

// identityID checks the id of a managed identity, which may begin as a provider id does.
func (v *validator) identityID(at *field.Path, id *string) {
	if *id = strings.TrimPrefix(strings.TrimPrefix(*id, "azure://"), "azure:"); *id != "" && !strings.HasPrefix(*id, "/subscriptions/") {
		v.Invalid(at, *id, `must be the id of an identity, "/subscriptions/…/userAssignedIdentities/NAME"`)
	}
}

// managedNetwork checks the VNet of the machines and the network of Pods.
func (v *validator) managedNetwork(at *field.Path, name string, s *AzureManagedControlPlaneSpec) {
	s.DNSPrefix = cmp.Or(s.DNSPrefix, name)
	if s.DNSPrefix != "" && !dnsPrefix.MatchString(s.DNSPrefix) {
		v.Invalid(at.Child("dnsPrefix"), s.DNSPrefix, "must be letters, digits and '-', at most 54, and begin and end with a letter or digit")
	}
	if s.DNSServiceIP != "" {
		v.IPv4(at.Child("dnsServiceIP"), s.DNSServiceIP)
	}
	s.NetworkPlugin, s.LoadBalancerSKU = cmp.Or(s.NetworkPlugin, "azure"), cmp.Or(s.LoadBalancerSKU, "Standard")
	objects.Enum(v, at.Child("networkPlugin"), s.NetworkPlugin, "azure", Kubenet, NoPlugin)
	if s.LoadBalancerSKU != "Standard" {
		v.Invalid(at.Child("loadBalancerSKU"), s.LoadBalancerSKU, "must be Standard: Azure has retired Basic")
	}
	for _, f := range []struct {
		name, value string
		values      []string
	}{
		{"networkPluginMode", s.NetworkPluginMode, []string{Overlay}},
		{"networkPolicy", s.NetworkPolicy, []string{"azure", "calico", "cilium"}},
		{"networkDataplane", s.NetworkDataplane, []string{"azure", "cilium"}},
		{"outboundType", s.OutboundType, []string{"loadBalancer", "managedNATGateway", "userAssignedNATGateway", "userDefinedRouting"}},
	} {
		if f.value != "" {
			objects.Enum(v, at.Child(f.name), f.value, f.values...)
		}
	}
	v.Forbidden(at.Child("networkPluginMode"), s.NetworkPluginMode != "" && s.NetworkPlugin != "azure", "needs networkPlugin: azure")
	v.Forbidden(at.Child("networkPolicy"), s.NetworkPolicy == "cilium" && s.NetworkDataplane != "cilium", "needs networkDataplane: cilium")
	v.Forbidden(at.Child("loadBalancerProfile"), s.LoadBalancerProfile != nil && s.OutboundType != "" && s.OutboundType != "loadBalancer", "is for outboundType: loadBalancer")
	if s.VirtualNetwork == nil {
		s.VirtualNetwork = &ManagedVirtualNetwork{}
	}
	n, below := s.VirtualNetwork, at.Child("virtualNetwork")
	n.Name, n.CIDRBlock = cmp.Or(n.Name, name), cmp.Or(n.CIDRBlock, managedVNetCIDR)
	if n.Subnet == nil {
		n.Subnet = &ManagedSubnet{}
	}
	sub := n.Subnet
	sub.Name, sub.CIDRBlock = cmp.Or(sub.Name, name), cmp.Or(sub.CIDRBlock, managedSubnetCIDR)
	v.named(below.Child("name"), n.Name)
	v.named(below.Child("subnet", "name"), sub.Name)
	if n.ResourceGroup != "" && !groupName.MatchString(n.ResourceGroup) {
		v.Invalid(below.Child("resourceGroup"), n.ResourceGroup, "must be the name of a resource group")
	}
	whole, part := v.cidrs(below.Child("cidrBlock"), []string{n.CIDRBlock}, false).four, v.cidrs(below.Child("subnet", "cidrBlock"), []string{sub.CIDRBlock}, false).four
	if whole.IsValid() && part.IsValid() && (!whole.Contains(part.Addr()) || part.Bits() < whole.Bits()) {
		v.Invalid(below.Child("subnet", "cidrBlock"), sub.CIDRBlock, "must be within "+whole.String()+" of virtualNetwork.cidrBlock")
	}
	v.privateEndpoints(below.Child("subnet", "privateEndpoints"), sub.PrivateEndpoints, s.Location, make(map[string]bool))
	v.serviceEndpoints(below.Child("subnet", "serviceEndpoints"), sub.ServiceEndpoints)
}

// managedAccess checks from where the API server is reached, and who is let in.
func (v *validator) managedAccess(at *field.Path, s *AzureManagedControlPlaneSpec) {
	if a := s.APIServerAccessProfile; a != nil {
		below := at.Child("apiServerAccessProfile")
		private := a.EnablePrivateCluster != nil && *a.EnablePrivateCluster
		for i, r := range a.AuthorizedIPRanges { // Azure shows them with a mask
			p, err := netip.ParsePrefix(r)
			if address, bad := netip.ParseAddr(r); bad == nil {
				p, err = netip.PrefixFrom(address, address.BitLen()), nil
			}
			if err != nil {
				v.Invalid(below.Child("authorizedIPRanges").Index(i), r, `must be an address or a range such as "192.0.2.0/24"`)
				continue
			}
			a.AuthorizedIPRanges[i] = p.Masked().String()
		}
		v.Forbidden(below.Child("authorizedIPRanges"), private && len(a.AuthorizedIPRanges) > 0, "a private cluster is reached through the VNet: leave it out")
		v.Forbidden(below.Child("privateDNSZone"), !private && a.PrivateDNSZone != "", "needs enablePrivateCluster: true")
		v.Forbidden(below.Child("enablePrivateClusterPublicFQDN"), !private && a.EnablePrivateClusterPublicFQDN != nil && *a.EnablePrivateClusterPublicFQDN, "needs enablePrivateCluster: true")
		v.Forbidden(below.Child("enablePrivateClusterPublicFQDN"), a.PrivateDNSZone == "None" && a.EnablePrivateClusterPublicFQDN != nil && !*a.EnablePrivateClusterPublicFQDN, "without a private zone no name would lead to the API server: set it to true, or leave privateDNSZone out")
	}
	if a := s.AADProfile; a != nil {
		v.Forbidden(at.Child("aadProfile", "managed"), !a.Managed, "only what AKS manages is left: set it to true")
		a.AdminGroupObjectIDs = objects.Set(v, at.Child("aadProfile", "adminGroupObjectIDs"), a.AdminGroupObjectIDs)
	}
}

// managedExtras checks add-ons, and what AKS does for security and upgrades.
func (v *validator) managedExtras(at *field.Path, s *AzureManagedControlPlaneSpec) {
	for i, a := range s.AddonProfiles {
		v.Required(at.Child("addonProfiles").Index(i).Child("name"), a.Name, "the name of the add-on")
	}
	objects.Unique(v, at.Child("addonProfiles"), s.AddonProfiles, "name", func(a AddonProfile) string { return strings.ToLower(a.Name) })
	if u := s.AutoUpgradeProfile; u != nil && u.UpgradeChannel != "" {
		objects.Enum(v, at.Child("autoUpgradeProfile", "upgradeChannel"), u.UpgradeChannel, "node-image", "none", "patch", "rapid", "stable")
	}
	if k := s.SecurityProfile; k != nil {
		below := at.Child("securityProfile")
		if w := k.WorkloadIdentity; w != nil && w.Enabled && (s.OIDCIssuerProfile == nil || s.OIDCIssuerProfile.Enabled == nil || !*s.OIDCIssuerProfile.Enabled) {
			v.Invalid(below.Child("workloadIdentity", "enabled"), true, "needs oidcIssuerProfile.enabled: true")
		}
		if m := k.AzureKeyVaultKMS; m != nil {
			m.KeyVaultNetworkAccess = cmp.Or(m.KeyVaultNetworkAccess, "Public")
			objects.Enum(v, below.Child("azureKeyVaultKms", "keyVaultNetworkAccess"), m.KeyVaultNetworkAccess, "Public", "Private")
			v.Required(below.Child("azureKeyVaultKms", "keyID"), m.KeyID, "the key")
			v.Forbidden(below.Child("azureKeyVaultKms"), (s.Identity == nil || s.Identity.Type != UserAssigned) && m.Enabled, "AKS reads the key with identity.type: UserAssigned alone")
		}
		if d := k.Defender; d != nil {
			v.Required(below.Child("defender", "logAnalyticsWorkspaceResourceID"), d.LogAnalyticsWorkspaceResourceID, "the workspace")
		}
	}
	if l := s.LoadBalancerProfile; l != nil {
		n := 0
		for _, set := range []bool{l.ManagedOutboundIPs != nil, len(l.OutboundIPs) > 0, len(l.OutboundIPPrefixes) > 0} {
			if set {
				n++
			}
		}
		if n > 1 {
			v.Invalid(at.Child("loadBalancerProfile"), n, "at most one of managedOutboundIPs, outboundIPPrefixes and outboundIPs is set")
		}
	}
}

// ScopeCluster and ScopeNamespace say whether an extension is one of a cluster or of a namespace.
const (
	ScopeCluster   = "Cluster"
	ScopeNamespace = "Namespace"
)

// extensionsOfAKS checks the extensions of a cluster.
// Source: CAPZ, internal/webhooks/azuremanagedcontrolplane_validation.go.
func (v *validator) extensionsOfAKS(at *field.Path, list []Extension) {
	for i, e := range list {
		below := at.Index(i)
		v.Required(below.Child("name"), e.Name, "the name of the extension")
		v.named(below.Child("name"), e.Name)
		v.Required(below.Child("extensionType"), e.ExtensionType, "the type of the extension, such as microsoft.flux")
		upgrades := e.AutoUpgradeMinorVersion == nil || *e.AutoUpgradeMinorVersion
		v.Forbidden(below.Child("version"), e.Version != "" && upgrades, "needs autoUpgradeMinorVersion: false")
		v.Forbidden(below.Child("releaseTrain"), e.ReleaseTrain != "" && !upgrades, "is for versions that Azure upgrades: leave it out, or autoUpgradeMinorVersion: false")
		if e.AKSAssignedIdentityType != "" {
			objects.Enum(v, below.Child("aksAssignedIdentityType"), e.AKSAssignedIdentityType, SystemIdentity, UserAssigned)
		}
		if e.Identity != "" {
			objects.Enum(v, below.Child("identity"), e.Identity, SystemIdentity)
		}
		s, of := e.Scope, below.Child("scope")
		if s == nil {
			continue
		}
		objects.Enum(v, of.Child("scopeType"), s.ScopeType, ScopeCluster, ScopeNamespace)
		if s.ScopeType == ScopeNamespace {
			v.Required(of.Child("targetNamespace"), s.TargetNamespace, "the namespace of the extension")
			v.Forbidden(of.Child("releaseNamespace"), s.ReleaseNamespace != "", "is for scopeType: "+ScopeCluster)
			continue
		}
		v.Required(of.Child("releaseNamespace"), s.ReleaseNamespace, "the namespace in which the extension is released")
		v.Forbidden(of.Child("targetNamespace"), s.TargetNamespace != "", "is for scopeType: "+ScopeNamespace)
	}
	objects.Unique(v, at, list, "name", func(e Extension) string { return strings.ToLower(e.Name) })
}

// fleetsMember checks the membership of a cluster in a fleet of Azure, which by default has the name of the Cluster.
func (v *validator) fleetsMember(at *field.Path, f *FleetsMember, cluster string) {
	f.Name = cmp.Or(f.Name, cluster)
	if v.Required(at.Child("name"), f.Name, "the name of the membership") && !memberName.MatchString(f.Name) {
		v.Invalid(at.Child("name"), f.Name, "must be lower case letters, digits and '-', at most 50, and begin and end with a letter or digit")
	}
	if v.Required(at.Child("managerName"), f.ManagerName, "the name of the fleet") && !memberName.MatchString(f.ManagerName) {
		v.Invalid(at.Child("managerName"), f.ManagerName, "must be the name of a fleet")
	}
	if v.Required(at.Child("managerResourceGroup"), f.ManagerResourceGroup, "the resource group of the fleet") && !groupName.MatchString(f.ManagerResourceGroup) {
		v.Invalid(at.Child("managerResourceGroup"), f.ManagerResourceGroup, "must be the name of a resource group")
	}
}

// servingManaged implements fleet.Kind: no machine serves the API of such a cluster.
func servingManaged(any) field.ErrorList {
	return field.ErrorList{field.Forbidden(field.NewPath("spec"), "an AzureManagedCluster is for a control plane that AKS keeps: use an AzureManagedControlPlane, or for a control plane of machines an AzureCluster")}
}

// managedCluster has nothing to check: controllers write the only field.
func (v *validator) managedCluster(_ *field.Path, s *AzureManagedClusterSpec) {
	s.ControlPlaneEndpoint = nil
}

// managedClusterTemplate has nothing to check: there is no field.
func (v *validator) managedClusterTemplate(*field.Path, *AzureManagedClusterTemplateSpec) {}

// managedPool is a kinds.Normaliser.
func managedPool(o metav1.Object, at *field.Path, s *AzureManagedMachinePoolSpec) (any, field.ErrorList) {
	v := new(validator)
	v.tags(at.Child("additionalTags"), s.AdditionalTags)
	if s.Name == "" {
		if s.Name = o.GetName(); !poolName.MatchString(s.Name) {
			v.Add(field.Required(at.Child("name"), "AKS cannot call an agent pool "+s.Name+": name it with at most 12 lower case letters and digits, the first a letter"))
			s.Name = "pool"
		}
	}
	s.OSType, s.OSDiskType, s.ScaleDownMode = cmp.Or(s.OSType, "Linux"), cmp.Or(s.OSDiskType, "Managed"), cmp.Or(s.ScaleDownMode, "Delete")
	objects.Enum(v, at.Child("osType"), s.OSType, "Linux", Windows)
	switch {
	case !poolName.MatchString(s.Name):
		v.Invalid(at.Child("name"), s.Name, "must be at most 12 lower case letters and digits, the first a letter")
	case s.OSType == Windows && len(s.Name) > longestWindows:
		v.Invalid(at.Child("name"), s.Name, "that of a pool of Windows has at most 6 characters")
	}
	if v.Required(at.Child("mode"), s.Mode, "System or User") {
		objects.Enum(v, at.Child("mode"), s.Mode, SystemPool, UserPool)
	}
	v.Forbidden(at.Child("osType"), s.OSType == Windows && s.Mode == SystemPool, "a System pool has Linux")
	v.Required(at.Child("sku"), s.SKU, "the size of the machines, such as Standard_D4s_v5")
	objects.Enum(v, at.Child("osDiskType"), s.OSDiskType, "Ephemeral", "Managed")
	objects.Enum(v, at.Child("scaleDownMode"), s.ScaleDownMode, "Deallocate", "Delete")
	v.zones(at.Child("availabilityZones"), s.AvailabilityZones)
	s.AvailabilityZones = objects.Set(v, at.Child("availabilityZones"), s.AvailabilityZones)
	s.ScaleSetPriority = cmp.Or(s.ScaleSetPriority, "Regular")
	objects.Enum(v, at.Child("scaleSetPriority"), s.ScaleSetPriority, "Regular", SpotPool)
	v.Forbidden(at.Child("scaleSetPriority"), s.ScaleSetPriority == SpotPool && s.Mode == SystemPool, "a System pool has no spot machines: use mode: User")
	v.Forbidden(at.Child("spotMaxPrice"), s.SpotMaxPrice != nil && s.ScaleSetPriority != SpotPool, "needs scaleSetPriority: Spot")
	v.Forbidden(at.Child("nodePublicIPPrefixID"), s.NodePublicIPPrefixID != "" && (s.EnableNodePublicIP == nil || !*s.EnableNodePublicIP), "needs enableNodePublicIP: true")
	v.Forbidden(at.Child("linuxOSConfig"), s.LinuxOSConfig != nil && s.OSType == Windows, "is for osType: Linux")
	if c := s.LinuxOSConfig; c != nil && c.SwapFileSizeMB != nil && (s.KubeletConfig == nil || s.KubeletConfig.FailSwapOn == nil || *s.KubeletConfig.FailSwapOn) {
		v.Invalid(at.Child("linuxOSConfig", "swapFileSizeMB"), *c.SwapFileSizeMB, "needs kubeletConfig.failSwapOn: false")
	}
	if s.Scaling != nil {
		v.scaling(at.Child("scaling"), s.Scaling)
	}
	v.named(at.Child("subnetName"), s.SubnetName)
	for k := range s.NodeLabels {
		v.Forbidden(at.Child("nodeLabels").Key(k), strings.HasPrefix(k, AKSLabels), "labels of kubernetes.azure.com are set by AKS: leave it out")
	}
	for i, t := range s.Taints {
		below := at.Child("taints").Index(i)
		v.Required(below.Child("key"), t.Key, "the key of the taint")
		objects.Enum(v, below.Child("effect"), t.Effect, "NoSchedule", "NoExecute", "PreferNoSchedule")
		v.Forbidden(below.Child("key"), strings.HasPrefix(t.Key, AKSLabels), "taints of kubernetes.azure.com are set by AKS: leave it out")
	}
	slices.SortFunc(v.Errs, func(a, b *field.Error) int { return cmp.Compare(a.Field, b.Field) })
	return s, v.Errors()
}

// scaling checks the bounds of the number of machines.
func (v *validator) scaling(at *field.Path, s *PoolScaling) {
	if s.MinSize == nil || s.MaxSize == nil {
		v.Add(field.Required(at, "minSize and maxSize, between which AKS decides the number of machines"))
		return
	}
	objects.Within(v, at.Child("minSize"), *s.MinSize, 0, fleet.MaxReplicas, "must be a number of machines")
	objects.Within(v, at.Child("maxSize"), *s.MaxSize, max(1, *s.MinSize), fleet.MaxReplicas, "must be a number of machines, of minSize or more, and of 1 or more")
}

// scalingOf implements fleet.Kind.
func scalingOf(spec any) *fleet.PoolRange {
	s, ok := spec.(*AzureManagedMachinePoolSpec)
	if !ok || s.Scaling == nil || s.Scaling.MinSize == nil || s.Scaling.MaxSize == nil {
		return nil
	}
	return &fleet.PoolRange{Min: int(*s.Scaling.MinSize), Max: int(*s.Scaling.MaxSize)}
}

// AKSLabels begins the labels and taints that AKS sets by itself.
const AKSLabels = "kubernetes.azure.com/"

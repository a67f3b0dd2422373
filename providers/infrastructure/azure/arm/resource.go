package arm

import (
	"strings"
	"time"
)

// Tags are those of a resource.
type Tags = map[string]string

// A Resource is one of Azure with properties P.
type Resource[P any] struct {
	ID         string   `json:"id,omitempty"`
	Name       string   `json:"name,omitempty"`
	Type       string   `json:"type,omitempty"`
	Location   string   `json:"location,omitempty"`
	ETag       string   `json:"etag,omitempty"`
	ManagedBy  string   `json:"managedBy,omitempty"` // of a resource group that a service made
	SKU        SKUName  `json:"sku,omitzero"`
	Tags       Tags     `json:"tags,omitempty"`
	Zones      []string `json:"zones,omitempty"`
	Extended   *Edge    `json:"extendedLocation,omitempty"`
	Properties P        `json:"properties"`
}

// An Edge is an edge zone.
type Edge struct {
	Name string `json:"name"`
	Type string `json:"type"`
}

// A SKUName says which of its offers a resource is.
type SKUName struct {
	Name string `json:"name"`
}

// A Ref is a reference to a resource.
type Ref struct {
	ID string `json:"id"`
}

// A State is how far a resource is.
type State struct {
	Provisioning string `json:"provisioningState,omitempty"`
}

// ProvisioningState returns how far a resource is.
func (s State) ProvisioningState() string { return s.Provisioning }

// Group is a resource group.
type Group struct{ State }

// VNet is a virtual network.
type VNet struct {
	State
	AddressSpace struct {
		Prefixes []string `json:"addressPrefixes"`
	} `json:"addressSpace"`
	Subnets  []Resource[Subnet]  `json:"subnets"`
	Peerings []Resource[Peering] `json:"virtualNetworkPeerings"`
}

// A Peering is the half in one VNet of what connects two.
type Peering struct {
	State  string `json:"peeringState"`
	Remote Ref    `json:"remoteVirtualNetwork"`

	Provisioning string `json:"provisioningState,omitempty"`
}

// Subnet is one of a VNet.
type Subnet struct {
	State
	Prefix   string   `json:"addressPrefix"`
	Prefixes []string `json:"addressPrefixes"`
	NSG      *Ref     `json:"networkSecurityGroup"`
	NAT      *Ref     `json:"natGateway"`
	Table    *Ref     `json:"routeTable"`

	Endpoints []Ref `json:"privateEndpoints"`
}

// A Bastion is Azure's service through which people reach machines.
type Bastion struct {
	State
	Tunneling bool `json:"enableTunneling"`
}

// A PrivateEndpoint is an address of a service in a subnet.
type PrivateEndpoint struct {
	State
	Subnet      Ref                    `json:"subnet"`
	Connections []Resource[Connection] `json:"privateLinkServiceConnections"`
	Manual      []Resource[Connection] `json:"manualPrivateLinkServiceConnections"` // which people approve

	Addresses []Resource[IPConfiguration] `json:"ipConfigurations"` // that were asked for
}

// A Connection leads from a private endpoint to a service.
type Connection struct {
	Service string   `json:"privateLinkServiceId"`
	Groups  []string `json:"groupIds"`
	State   struct {
		Status      string `json:"status"` // Pending, Approved, Rejected, Disconnected
		Description string `json:"description"`
	} `json:"privateLinkServiceConnectionState"`
}

// NSG is a network security group.
type NSG struct {
	State
	Rules []Resource[Rule] `json:"securityRules"`
}

// Rule is one of an NSG. It is written in the form in which it is read.
type Rule struct {
	Description      string   `json:"description,omitempty"`
	Access           string   `json:"access,omitempty"`
	Direction        string   `json:"direction,omitempty"`
	Protocol         string   `json:"protocol,omitempty"`
	Priority         int32    `json:"priority,omitempty"`
	Source           string   `json:"sourceAddressPrefix,omitempty"`
	Sources          []string `json:"sourceAddressPrefixes,omitempty"`
	SourcePort       string   `json:"sourcePortRange,omitempty"`
	SourcePorts      []string `json:"sourcePortRanges,omitempty"`
	Destination      string   `json:"destinationAddressPrefix,omitempty"`
	DestinationPort  string   `json:"destinationPortRange,omitempty"`
	DestinationPorts []string `json:"destinationPortRanges,omitempty"`
}

// PublicIP is a public address.
type PublicIP struct {
	State
	DNS struct {
		Label string `json:"domainNameLabel"`
		FQDN  string `json:"fqdn"`
	} `json:"dnsSettings"`
	IPTags        []IPTag `json:"ipTags"`
	Configuration *Ref    `json:"ipConfiguration"` // what has it
}

// An IPTag says for what a public address is used.
type IPTag struct {
	Type string `json:"ipTagType"`
	Tag  string `json:"tag"`
}

// NAT is a NAT gateway.
type NAT struct{ State }

// Balancer is a load balancer.
type Balancer struct {
	State
	Frontends []Resource[Frontend]     `json:"frontendIPConfigurations"`
	Pools     []Resource[struct{}]     `json:"backendAddressPools"`
	Rules     []Resource[BalancerRule] `json:"loadBalancingRules"`
	Outbound  []Resource[OutboundRule] `json:"outboundRules"`
}

// An OutboundRule has the machines of a pool reach the internet by addresses.
type OutboundRule struct {
	Idle      int32 `json:"idleTimeoutInMinutes"`
	Frontends []Ref `json:"frontendIPConfigurations"`
	Pool      Ref   `json:"backendAddressPool"`
}

// Frontend is an address of a load balancer.
type Frontend struct {
	Address  string `json:"privateIPAddress"`
	PublicIP *Ref   `json:"publicIPAddress"`
}

// BalancerRule leads from a port to a port.
type BalancerRule struct {
	FrontendPort int32 `json:"frontendPort"`
	BackendPort  int32 `json:"backendPort"`
	Idle         int32 `json:"idleTimeoutInMinutes"`
	Frontend     Ref   `json:"frontendIPConfiguration"`
	Pool         Ref   `json:"backendAddressPool"`
	Probe        Ref   `json:"probe"`
}

// Zone is a private zone of DNS.
type Zone struct{ State }

// Link makes a private zone known in a VNet.
type Link struct{ State }

// Interface is a network interface.
type Interface struct {
	State
	VM             *Ref                        `json:"virtualMachine"`
	Endpoint       *Ref                        `json:"privateEndpoint"`
	Configurations []Resource[IPConfiguration] `json:"ipConfigurations"`
}

// IPConfiguration is an address of one.
type IPConfiguration struct {
	Address string `json:"privateIPAddress"`
	Pools   []Ref  `json:"loadBalancerBackendAddressPools"`
	Subnet  *Ref   `json:"subnet"`
	Public  *Ref   `json:"publicIPAddress"`
}

// Disk is a managed disk.
type Disk struct {
	State
	DiskState string `json:"diskState"`
	Creation  struct {
		Option string `json:"createOption"` // FromImage and Empty with a VM; Copy, Restore and others by people
	} `json:"creationData"`
}

// ManagedIdentity is one that VMs may have.
type ManagedIdentity struct {
	ClientID string `json:"clientId"`
}

// VM is a virtual machine.
type VM struct {
	State
	ID       string    `json:"vmId"`
	Created  time.Time `json:"timeCreated"`
	Priority string    `json:"priority"`
	Hardware struct {
		Size string `json:"vmSize"`
	} `json:"hardwareProfile"`
	Network struct {
		Interfaces []Ref `json:"networkInterfaces"`
	} `json:"networkProfile"`
	View *InstanceView `json:"instanceView"` // where it was asked for
}

// InstanceView is how a VM is.
type InstanceView struct {
	Statuses []Status `json:"statuses"`
}

// An Extension is a program that Azure runs in a VM.
type Extension struct {
	State
	View *InstanceView `json:"instanceView"` // where it was asked for
}

// Status is one of its states: "ProvisioningState/failed/AllocationFailed", "PowerState/running".
type Status struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Failure returns the code and the message of a provisioning that failed.
func (v *InstanceView) Failure() (code, message string) {
	for _, s := range v.statuses() {
		if rest, ok := strings.CutPrefix(s.Code, "ProvisioningState/failed"); ok {
			return strings.TrimPrefix(rest, "/"), s.Message
		}
	}
	return "", ""
}

// Runs reports whether the VM is on.
func (v *InstanceView) Runs() bool {
	for _, s := range v.statuses() {
		if s.Code == "PowerState/running" {
			return true
		}
	}
	return false
}

func (v *InstanceView) statuses() []Status {
	if v == nil {
		return nil
	}
	return v.Statuses
}

// ManagedCluster is a cluster of AKS. What is changed of it is changed in what a GET gave.
type ManagedCluster struct {
	State
	Version     string         `json:"currentKubernetesVersion"` // empty before its creation ends
	FQDN        string         `json:"fqdn"`
	PrivateFQDN string         `json:"privateFQDN"`
	NodeGroup   string         `json:"nodeResourceGroup"`
	Power       PowerState     `json:"powerState"`
	Pools       []AgentProfile `json:"agentPoolProfiles"`
}

// PowerState says whether a cluster or a pool of AKS runs.
type PowerState struct {
	Code string `json:"code"` // Running, Stopped
}

// AgentProfile is an agent pool, as its cluster has it.
type AgentProfile struct {
	State
	Name   string `json:"name"`
	Subnet string `json:"vnetSubnetID"`
}

// AgentPool is a pool of machines that AKS keeps.
type AgentPool struct {
	State
	Mode         string     `json:"mode"`
	Count        int        `json:"count"`
	AutoScaling  bool       `json:"enableAutoScaling"`
	MinCount     int        `json:"minCount"`
	MaxCount     int        `json:"maxCount"`
	Orchestrator string     `json:"orchestratorVersion"`        // that it is to have
	Version      string     `json:"currentOrchestratorVersion"` // that it has
	Power        PowerState `json:"powerState"`
	Tags         Tags       `json:"tags"`
}

// ScaleSet is a group of VMs that AKS makes for an agent pool.
type ScaleSet struct {
	State
	Created time.Time `json:"timeCreated"`
}

// Kubeconfigs are credentials of a cluster of AKS.
type Kubeconfigs struct {
	All []struct {
		Value []byte `json:"value"`
	} `json:"kubeconfigs"`
}

// A SKU is what Azure says of a size in a location.
type SKU struct {
	Type      string `json:"resourceType"`
	Family    string `json:"family"`
	Name      string `json:"name"`
	Locations []struct {
		Zones []string `json:"zones"`
	} `json:"locationInfo"`
	Capabilities []struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	} `json:"capabilities"`
	Restrictions []struct {
		Type string `json:"type"` // Location, Zone
		Info struct {
			Zones []string `json:"zones"`
		} `json:"restrictionInfo"`
	} `json:"restrictions"`
}

// A Permission is what a role allows.
type Permission struct {
	Actions    []string `json:"actions"`
	NotActions []string `json:"notActions"`
}

// A Usage is how much of a quota is used.
type Usage struct {
	Name struct {
		Value string `json:"value"`
	} `json:"name"`
	Current int `json:"currentValue"`
	Limit   int `json:"limit"`
}

// The versions of the API, by namespace and the last type.
const (
	groupVersion    = "2024-03-01"
	computeVersion  = "2025-04-01" // the first that tags interfaces made with a VM
	diskVersion     = "2024-03-02"
	galleryVersion  = "2024-03-03"
	rightsVersion   = "2022-04-01"
	skuVersion      = "2021-07-01"
	networkVersion  = "2024-05-01"
	dnsVersion      = "2024-06-01"
	identityVersion = "2023-01-31"
	managedVersion  = "2024-09-01"

	extensionVersion = "2023-05-01"
	fleetVersion     = "2025-03-01"
)

// versionOf returns the version of the API for an id.
func versionOf(id string) string {
	lower := strings.ToLower(id)
	switch {
	case strings.HasSuffix(lower, "/microsoft.resources/tags/default"):
		return groupVersion
	case strings.Contains(lower, "/microsoft.authorization/"):
		return rightsVersion
	case strings.Contains(lower, "/microsoft.kubernetesconfiguration/"):
		return extensionVersion
	case strings.Contains(lower, "/microsoft.containerservice/fleets/"):
		return fleetVersion
	case strings.Contains(lower, "/microsoft.compute/galleries/"), strings.Contains(lower, "/communitygalleries/"):
		return galleryVersion
	case strings.Contains(lower, "/microsoft.compute/disks"):
		return diskVersion
	case strings.Contains(lower, "/microsoft.compute/skus"):
		return skuVersion
	case strings.Contains(lower, "/microsoft.compute/"):
		return computeVersion
	case strings.Contains(lower, "/microsoft.containerservice/"):
		return managedVersion
	case strings.Contains(lower, "/microsoft.managedidentity/"):
		return identityVersion
	case strings.Contains(lower, "/microsoft.network/privatednszones"):
		return dnsVersion
	case strings.Contains(lower, "/microsoft.network/"):
		return networkVersion
	}
	return groupVersion
}

// GroupID returns the id of a resource group.
func GroupID(subscription, group string) string {
	return "/subscriptions/" + subscription + "/resourceGroups/" + group
}

// The types of resources that are made.
const (
	VMs       = "Microsoft.Compute/virtualMachines"
	Disks     = "Microsoft.Compute/disks"
	NICs      = "Microsoft.Network/networkInterfaces"
	VNets     = "Microsoft.Network/virtualNetworks"
	NSGs      = "Microsoft.Network/networkSecurityGroups"
	PublicIPs = "Microsoft.Network/publicIPAddresses"
	NATs      = "Microsoft.Network/natGateways"
	Balancers = "Microsoft.Network/loadBalancers"
	Zones     = "Microsoft.Network/privateDnsZones"

	RouteTables = "Microsoft.Network/routeTables"
	Sets        = "Microsoft.Compute/availabilitySets"
	Bastions    = "Microsoft.Network/bastionHosts"
	Endpoints   = "Microsoft.Network/privateEndpoints"

	ClusterExtensions = "Microsoft.KubernetesConfiguration/extensions" // of a cluster of AKS
	Fleets            = "Microsoft.ContainerService/fleets"

	ManagedClusters = "Microsoft.ContainerService/managedClusters"
	ScaleSets       = "Microsoft.Compute/virtualMachineScaleSets"
)

// Same reports whether two ids are of one resource: Azure writes them in any case.
func Same(a, b string) bool {
	return strings.EqualFold(strings.TrimSuffix(a, "/"), strings.TrimSuffix(b, "/"))
}

package api

// VSphereFailureDomainSpec is a part of a vCenter that fails as a whole. A VSphereFailureDomain
// has no namespace.
type VSphereFailureDomainSpec struct {
	Region   FailureDomain `json:"region,omitzero"`
	Zone     FailureDomain `json:"zone,omitzero"`
	Topology Topology      `json:"topology,omitzero"`
}

// A FailureDomain is a tag that the objects of Type in a topology have: its data center,
// compute cluster, or the hosts of its host group.
type FailureDomain struct {
	Name        string            `json:"name,omitempty"`
	Type        FailureDomainType `json:"type,omitempty"`
	TagCategory string            `json:"tagCategory,omitempty"`
}

// A FailureDomainType says which objects of vCenter have a tag.
type FailureDomainType string

// The types.
const (
	HostGroupFailureDomain      FailureDomainType = "HostGroup"
	ComputeClusterFailureDomain FailureDomainType = "ComputeCluster"
	DatacenterFailureDomain     FailureDomainType = "Datacenter"
)

// Topology is where in a vCenter machines of a failure domain are.
type Topology struct {
	Datacenter     string             `json:"datacenter,omitempty"`
	ComputeCluster string             `json:"computeCluster,omitempty"`
	Hosts          FailureDomainHosts `json:"hosts,omitzero"`
	// Networks are names, by the index of the machine's device; NetworkConfigurations say
	// more than the name. One of them is empty.
	Networks              []string               `json:"networks,omitempty"`
	NetworkConfigurations []NetworkConfiguration `json:"networkConfigurations,omitempty"`
	Datastore             string                 `json:"datastore,omitempty"`
}

// FailureDomainHosts are hosts of a compute cluster: machines join VMGroupName, which a rule
// of DRS holds to the hosts of HostGroupName. Both exist, and so does the rule.
type FailureDomainHosts struct {
	VMGroupName   string `json:"vmGroupName,omitempty"`
	HostGroupName string `json:"hostGroupName,omitempty"`
}

// IsZero reports whether no hosts are named.
func (h FailureDomainHosts) IsZero() bool { return h == FailureDomainHosts{} }

// VSphereDeploymentZoneSpec is a failure domain that machines can be put in. The name of a
// VSphereDeploymentZone is the failure domain of machines. It has no namespace.
type VSphereDeploymentZoneSpec struct {
	Server string `json:"server,omitempty"` // empty: that of the cluster
	// FailureDomain names a VSphereFailureDomain.
	FailureDomain string `json:"failureDomain,omitempty"`
	// ControlPlane says whether control-plane machines may be put there; default true.
	ControlPlane        *bool               `json:"controlPlane,omitempty"`
	PlacementConstraint PlacementConstraint `json:"placementConstraint,omitzero"`
}

// PlacementConstraint is where machines of a zone are put.
type PlacementConstraint struct {
	ResourcePool string `json:"resourcePool,omitempty"`
	Folder       string `json:"folder,omitempty"`
}

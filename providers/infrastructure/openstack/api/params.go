package api

// NeutronTag is a tag of something in Neutron. It is not empty and has no comma.
type NeutronTag string

// FilterByNeutronTags is the part of a filter that looks at tags.
type FilterByNeutronTags struct {
	Tags       []NeutronTag `json:"tags,omitempty"`       // has all of them
	TagsAny    []NeutronTag `json:"tagsAny,omitempty"`    // has one of them
	NotTags    []NeutronTag `json:"notTags,omitempty"`    // lacks one of them
	NotTagsAny []NeutronTag `json:"notTagsAny,omitempty"` // has none of them
}

// A NetworkParam names a network: by ID, or by a filter that one network
// matches.
type NetworkParam struct {
	ID     *string        `json:"id,omitempty"`
	Filter *NetworkFilter `json:"filter,omitempty"`
}

// A NetworkFilter says what a network must have; an empty field matches all.
type NetworkFilter struct {
	Name        string `json:"name,omitempty"`
	Description string `json:"description,omitempty"`
	ProjectID   string `json:"projectID,omitempty"`

	FilterByNeutronTags `json:",inline"`
}

// A SubnetParam names a subnet: by ID, or by a filter that one subnet matches.
type SubnetParam struct {
	ID     *string       `json:"id,omitempty"`
	Filter *SubnetFilter `json:"filter,omitempty"`
}

// A SubnetFilter says what a subnet must have; an empty field matches all.
type SubnetFilter struct {
	Name            string `json:"name,omitempty"`
	Description     string `json:"description,omitempty"`
	ProjectID       string `json:"projectID,omitempty"`
	IPVersion       int32  `json:"ipVersion,omitempty"` // 4 or 6
	GatewayIP       string `json:"gatewayIP,omitempty"`
	CIDR            string `json:"cidr,omitempty"`
	IPv6AddressMode string `json:"ipv6AddressMode,omitempty"`
	IPv6RAMode      string `json:"ipv6RAMode,omitempty"`

	FilterByNeutronTags `json:",inline"`
}

// A RouterParam names a router: by ID, or by a filter that one router matches.
type RouterParam struct {
	ID     *string       `json:"id,omitempty"`
	Filter *RouterFilter `json:"filter,omitempty"`
}

// A RouterFilter says what a router must have; an empty field matches all.
type RouterFilter struct {
	Name        string `json:"name,omitempty"`
	Description string `json:"description,omitempty"`
	ProjectID   string `json:"projectID,omitempty"`

	FilterByNeutronTags `json:",inline"`
}

// A SecurityGroupParam names security groups: one by ID, or all that a filter
// matches.
type SecurityGroupParam struct {
	ID     *string              `json:"id,omitempty"`
	Filter *SecurityGroupFilter `json:"filter,omitempty"`
}

// A SecurityGroupFilter says what a security group must have; an empty field
// matches all.
type SecurityGroupFilter struct {
	Name        string `json:"name,omitempty"`
	Description string `json:"description,omitempty"`
	ProjectID   string `json:"projectID,omitempty"`

	FilterByNeutronTags `json:",inline"`
}

// An ImageParam names an image of Glance: by ID, or by a filter that one image
// matches.
type ImageParam struct {
	ID     *string      `json:"id,omitempty"`
	Filter *ImageFilter `json:"filter,omitempty"`
	// ImageRef names an Image. In what was decoded it stands only for one that is
	// made, or that only its visibility tells, and its name is the Image's essence.
	ImageRef *ResourceReference `json:"imageRef,omitempty"`
}

// An ImageFilter says what an image must have; an empty field matches all.
type ImageFilter struct {
	Name *string  `json:"name,omitempty"`
	Tags []string `json:"tags,omitempty"` // has all of them
}

// A ResourceReference names an object in the same namespace.
type ResourceReference struct {
	Name string `json:"name,omitempty"`
}

// A FlavorParam names a flavor of Nova: by ID, or by a filter that one flavor
// matches.
type FlavorParam struct {
	ID     *string       `json:"id,omitempty"`
	Filter *FlavorFilter `json:"filter,omitempty"`
}

// A FlavorFilter says what a flavor must have.
type FlavorFilter struct {
	Name *string `json:"name,omitempty"`
}

// A ServerGroupParam names a server group of Nova: by ID, or by a filter that
// one server group matches.
type ServerGroupParam struct {
	ID     *string            `json:"id,omitempty"`
	Filter *ServerGroupFilter `json:"filter,omitempty"`
}

// A ServerGroupFilter says what a server group must have.
type ServerGroupFilter struct {
	Name *string `json:"name,omitempty"`
}

// The types of an OpenStackIdentityReference.
const (
	IdentitySecret  = "Secret"          // a Secret in the namespace of the object
	IdentityCluster = "ClusterIdentity" // an OpenStackClusterIdentity
)

// An OpenStackIdentityReference says with which credentials a cloud is used.
type OpenStackIdentityReference struct {
	// Type is IdentitySecret, which is the default, or IdentityCluster.
	Type string `json:"type,omitempty"`
	// Name of the Secret or of the OpenStackClusterIdentity.
	Name string `json:"name,omitempty"`
	// CloudName is the entry of clouds.yaml.
	CloudName string `json:"cloudName,omitempty"`
	// Region overrides that of clouds.yaml.
	Region string `json:"region,omitempty"`
}

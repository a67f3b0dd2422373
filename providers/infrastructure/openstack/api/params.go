package api

// NeutronTag is a tag of something in Neutron. It is not empty and has no comma.
type NeutronTag string

// FilterByNeutronTags is the part of a filter that looks at tags.
type FilterByNeutronTags struct {
	Tags       []NeutronTag `json:"tags,omitempty"`       // has all of them
	TagsAny    []NeutronTag `json:"tagsAny,omitempty"`    // has one of them
	NotTags    []NeutronTag `json:"notTags,omitempty"`    // lacks one of them
	NotTagsAny []NeutronTag `json:"notTagsAny,omitempty"` // has no tag of these
}

// A NeutronParam names something in Neutron: by ID, or by a filter that one thing matches; of security
// groups all that match are meant.
type NeutronParam struct {
	ID     *string        `json:"id,omitempty"`
	Filter *NeutronFilter `json:"filter,omitempty"`
}

// A NeutronFilter says what something in Neutron must have; an empty field matches all.
type NeutronFilter struct {
	Name        string `json:"name,omitempty"`
	Description string `json:"description,omitempty"`
	ProjectID   string `json:"projectID,omitempty"`

	FilterByNeutronTags `json:",inline"`
}

// What is named so, and by what.
type (
	NetworkParam        = NeutronParam
	NetworkFilter       = NeutronFilter
	RouterParam         = NeutronParam
	RouterFilter        = NeutronFilter
	SecurityGroupParam  = NeutronParam
	SecurityGroupFilter = NeutronFilter
)

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

// A NovaParam names something of Nova: by ID, or by a filter that one thing matches.
type NovaParam struct {
	ID     *string     `json:"id,omitempty"`
	Filter *NovaFilter `json:"filter,omitempty"`
}

// A NovaFilter says what something of Nova must have.
type NovaFilter struct {
	Name *string `json:"name,omitempty"`
}

// What is named so, and by what.
type (
	FlavorParam       = NovaParam
	FlavorFilter      = NovaFilter
	ServerGroupParam  = NovaParam
	ServerGroupFilter = NovaFilter
)

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

package api

// NetworkData is the network of a machine, as OpenStack's network_data.json has it.
type NetworkData struct {
	Links    *NetworkDataLink    `json:"links,omitempty"`
	Networks *NetworkDataNetwork `json:"networks,omitempty"`
	Services *NetworkDataService `json:"services,omitempty"`
}

// NetworkDataLink are the links of a machine.
type NetworkDataLink struct {
	Ethernets []NetworkDataLinkEthernet `json:"ethernets,omitempty"`
	Bonds     []NetworkDataLinkBond     `json:"bonds,omitempty"`
	Vlans     []NetworkDataLinkVlan     `json:"vlans,omitempty"`
}

// A NetworkDataLinkEthernet is a network card.
type NetworkDataLinkEthernet struct {
	Type       string                  `json:"type,omitempty"`
	ID         string                  `json:"id,omitempty"`
	Name       string                  `json:"name,omitempty"` // the name to give it; default: the name in the system
	MTU        int32                   `json:"mtu,omitempty"`  // default 1500
	MACAddress *NetworkLinkEthernetMac `json:"macAddress,omitempty"`
}

// A NetworkDataLinkBond is a bond of other links.
type NetworkDataLinkBond struct {
	BondMode           string                     `json:"bondMode,omitempty"`
	BondXmitHashPolicy string                     `json:"bondXmitHashPolicy,omitempty"`
	ID                 string                     `json:"id,omitempty"`
	Name               string                     `json:"name,omitempty"`
	MTU                int32                      `json:"mtu,omitempty"`
	MACAddress         *NetworkLinkEthernetMac    `json:"macAddress,omitempty"`
	Parameters         []NetworkDataLinkBondParam `json:"parameters,omitempty"`
	BondLinks          []string                   `json:"bondLinks,omitempty"`
}

// A NetworkDataLinkBondParam is a parameter of a bond: Name without "bond_".
type NetworkDataLinkBondParam struct {
	Name  string `json:"name,omitempty"`
	Value any    `json:"value,omitempty"`
}

// A NetworkDataLinkVlan is a VLAN on another link.
type NetworkDataLinkVlan struct {
	VlanID     *int32                  `json:"vlanID,omitempty"`
	ID         string                  `json:"id,omitempty"`
	Name       string                  `json:"name,omitempty"`
	MTU        int32                   `json:"mtu,omitempty"`
	MACAddress *NetworkLinkEthernetMac `json:"macAddress,omitempty"`
	VlanLink   string                  `json:"vlanLink,omitempty"`
}

// A NetworkLinkEthernetMac is a MAC address, written down or known of the host. One of the
// fields is set.
type NetworkLinkEthernetMac struct {
	String            string         `json:"string,omitempty"`
	FromHostInterface string         `json:"fromHostInterface,omitempty"`
	FromAnnotation    FromAnnotation `json:"fromAnnotation,omitzero"`
}

// NetworkDataNetwork are the networks on the links.
type NetworkDataNetwork struct {
	IPv4      []NetworkDataIPv4     `json:"ipv4,omitempty"`
	IPv6      []NetworkDataIPv4     `json:"ipv6,omitempty"`
	IPv4DHCP  []NetworkDataIPv4DHCP `json:"ipv4DHCP,omitempty"`
	IPv6DHCP  []NetworkDataIPv4DHCP `json:"ipv6DHCP,omitempty"`
	IPv6SLAAC []NetworkDataIPv4DHCP `json:"ipv6SLAAC,omitempty"`
}

// A NetworkDataIPv4 is a network in which a machine has an address of a pool. Its fields are
// the same for IPv6.
type NetworkDataIPv4 struct {
	ID                  string               `json:"id,omitempty"`
	Link                string               `json:"link,omitempty"`
	IPAddressFromIPPool string               `json:"ipAddressFromIPPool,omitempty"`
	FromPoolRef         IPPoolReference      `json:"fromPoolRef,omitzero"`
	FromPoolAnnotation  FromAnnotation       `json:"fromPoolAnnotation,omitzero"`
	Routes              []NetworkDataRoutev4 `json:"routes,omitempty"`
}

// A NetworkDataIPv4DHCP is a network that gives a machine its address itself. Its fields are
// the same for IPv6.
type NetworkDataIPv4DHCP struct {
	ID     string               `json:"id,omitempty"`
	Link   string               `json:"link,omitempty"`
	Routes []NetworkDataRoutev4 `json:"routes,omitempty"`
}

// A NetworkDataRoutev4 is a route. Its fields are the same for IPv6.
type NetworkDataRoutev4 struct {
	Network  string              `json:"network,omitempty"`
	Prefix   *int32              `json:"prefix,omitempty"` // default 0
	Gateway  NetworkGatewayv4    `json:"gateway,omitzero"`
	Services *NetworkDataService `json:"services,omitempty"`
}

// A NetworkGatewayv4 is a gateway: an address, or that of a pool. Its fields are the same for
// IPv6.
type NetworkGatewayv4 struct {
	String             *string         `json:"string,omitempty"`
	FromIPPool         string          `json:"fromIPPool,omitempty"`
	FromPoolRef        IPPoolReference `json:"fromPoolRef,omitzero"`
	FromPoolAnnotation FromAnnotation  `json:"fromPoolAnnotation,omitzero"`
}

// NetworkDataService are services of a network: those of DNSFromIPPool come last.
type NetworkDataService struct {
	DNS           []string `json:"dns,omitempty"`
	DNSFromIPPool string   `json:"dnsFromIPPool,omitempty"`
}

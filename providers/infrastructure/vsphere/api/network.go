package api

import "fairlead.dev/providers/driver/addresses"

// NetworkSpec are the network devices of a machine.
type NetworkSpec struct {
	Devices []NetworkDeviceSpec `json:"devices,omitempty"`
	// Routes of the machine, besides those of its devices.
	Routes []NetworkRouteSpec `json:"routes,omitempty"`
}

// A NetworkDeviceSpec is one network card with its settings in the guest.
type NetworkDeviceSpec struct {
	NetworkConfiguration `json:",inline"`

	// DeviceName is what the guest calls the device; empty: as it likes.
	DeviceName string `json:"deviceName,omitempty"`
	Gateway4   string `json:"gateway4,omitempty"`
	Gateway6   string `json:"gateway6,omitempty"`
	// IPAddrs are addresses with the length of their prefix, of a machine that stands
	// alone; a template has none.
	IPAddrs []string `json:"ipAddrs,omitempty"`
	MTU     *int64   `json:"mtu,omitempty"`
	MACAddr string   `json:"macAddr,omitempty"` // empty: vCenter gives one
	// Routes by way of the device.
	Routes []NetworkRouteSpec `json:"routes,omitempty"`
	// SkipIPAllocation says that the device has no address that is known here.
	SkipIPAllocation *bool `json:"skipIPAllocation,omitempty"`
}

// NetworkConfiguration is what a failure domain can say of the device of the same index.
type NetworkConfiguration struct {
	NetworkName        string          `json:"networkName,omitempty"`
	DHCP4              *bool           `json:"dhcp4,omitempty"`
	DHCP6              *bool           `json:"dhcp6,omitempty"`
	DHCP4Overrides     *DHCPOverrides  `json:"dhcp4Overrides,omitempty"`
	DHCP6Overrides     *DHCPOverrides  `json:"dhcp6Overrides,omitempty"`
	Nameservers        []string        `json:"nameservers,omitempty"`
	SearchDomains      []string        `json:"searchDomains,omitempty"`
	AddressesFromPools []addresses.Ref `json:"addressesFromPools,omitempty"`
}

// DHCPOverrides is what of DHCP's answer the guest takes; nil: as it does by itself.
// Source: https://netplan.io/reference#dhcp-overrides
type DHCPOverrides struct {
	Hostname     *string `json:"hostname,omitempty"`
	RouteMetric  *int32  `json:"routeMetric,omitempty"`
	SendHostname *bool   `json:"sendHostname,omitempty"`
	UseDNS       *bool   `json:"useDNS,omitempty"`
	UseDomains   *string `json:"useDomains,omitempty"` // true, false or route
	UseHostname  *bool   `json:"useHostname,omitempty"`
	UseMTU       *bool   `json:"useMTU,omitempty"`
	UseNTP       *bool   `json:"useNTP,omitempty"`
	UseRoutes    *string `json:"useRoutes,omitempty"` // true or false
}

// A NetworkRouteSpec is a static route.
type NetworkRouteSpec struct {
	To     string `json:"to,omitempty"` // a prefix
	Via    string `json:"via,omitempty"`
	Metric *int32 `json:"metric,omitempty"`
}

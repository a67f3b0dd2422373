package api

// IPPoolSpec is a pool that machines have addresses of.
type IPPoolSpec struct {
	ClusterName *string `json:"clusterName,omitempty"` // no effect
	// Pools are the addresses; one is used up before the next begins.
	Pools              []Pool `json:"pools,omitempty"`
	AllocationStrategy string `json:"allocationStrategy,omitempty"`
	// PreAllocations are addresses that are reserved: by "<host>-<pool>", or
	// "<data template>-<index>-<pool>".
	PreAllocations map[string]string `json:"preAllocations,omitempty"`
	Prefix         int               `json:"prefix,omitempty"`
	Gateway        *string           `json:"gateway,omitempty"`
	DNSServers     []string          `json:"dnsServers,omitempty"`
	NamePrefix     string            `json:"namePrefix"` // no effect
}

// A Pool is addresses of a network. What is empty is as in the IPPoolSpec.
type Pool struct {
	Start      *string  `json:"start,omitempty"`
	End        *string  `json:"end,omitempty"`
	Subnet     *string  `json:"subnet,omitempty"`
	Prefix     int      `json:"prefix,omitempty"`
	Gateway    *string  `json:"gateway,omitempty"`
	DNSServers []string `json:"dnsServers,omitempty"`
}

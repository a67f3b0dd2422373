package api

// A LoadBalancer leads to the API servers.
type LoadBalancer struct {
	AdditionalListeners      []Listener    `json:"additionalListeners,omitempty"`
	AdditionalSecurityGroups []string      `json:"additionalSecurityGroups,omitempty"`
	CrossZoneLoadBalancing   bool          `json:"crossZoneLoadBalancing,omitempty"`
	DisableHostsRewrite      bool          `json:"disableHostsRewrite,omitempty"`
	DNSResolutionCheck       string        `json:"dnsResolutionCheck,omitempty"`
	HealthCheck              *HealthCheck  `json:"healthCheck,omitempty"`
	HealthCheckProtocol      string        `json:"healthCheckProtocol,omitempty"`
	IngressRules             []IngressRule `json:"ingressRules,omitempty"`
	LoadBalancerType         string        `json:"loadBalancerType,omitempty"`
	Name                     string        `json:"name,omitempty"`
	PreserveClientIP         bool          `json:"preserveClientIP,omitempty"`
	Scheme                   string        `json:"scheme,omitempty"`
	Subnets                  []string      `json:"subnets,omitempty"`
	TargetGroupIPType        string        `json:"targetGroupIPType,omitempty"`
}

// A Listener is a further port of a load balancer.
type Listener struct {
	HealthCheck       *ListenerHealthCheck `json:"healthCheck,omitempty"`
	Port              int64                `json:"port"`
	Protocol          string               `json:"protocol,omitempty"`
	TargetGroupIPType string               `json:"targetGroupIPType,omitempty"`
}

// A HealthCheck says when a target of a load balancer is well.
type HealthCheck struct {
	IntervalSeconds         *int64 `json:"intervalSeconds,omitempty"`
	ThresholdCount          *int64 `json:"thresholdCount,omitempty"`
	TimeoutSeconds          *int64 `json:"timeoutSeconds,omitempty"`
	UnhealthyThresholdCount *int64 `json:"unhealthyThresholdCount,omitempty"`
}

// A ListenerHealthCheck is the HealthCheck of a Listener.
type ListenerHealthCheck struct {
	IntervalSeconds         *int64 `json:"intervalSeconds,omitempty"`
	Path                    string `json:"path,omitempty"`
	Port                    string `json:"port,omitempty"`
	Protocol                string `json:"protocol,omitempty"`
	ThresholdCount          *int64 `json:"thresholdCount,omitempty"`
	TimeoutSeconds          *int64 `json:"timeoutSeconds,omitempty"`
	UnhealthyThresholdCount *int64 `json:"unhealthyThresholdCount,omitempty"`
}

package api

import (
	"cmp"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"fairlead.dev/providers/driver/objects"
)

// apiServer checks where the API server is to answer, and fills in defaults.
func (v *validator) apiServer(at *field.Path, s *OpenStackClusterSpec) {
	a := s.APIServer
	if a == nil {
		return
	}
	if a.Port != nil {
		v.portNumber(at.Child("port"), int32(*a.Port))
	}
	floating := a.EnableFloatingIP == nil || *a.EnableFloatingIP
	balanced := a.ManagedLoadBalancer.IsEnabled()
	if !isEmpty(a.FixedIP) {
		v.IP(at.Child("fixedIP"), *a.FixedIP)
		v.Forbidden(at.Child("fixedIP"), floating && !balanced, "the endpoint is the floating IP; without a load balancer nothing has a fixed IP")
	}
	if !isEmpty(a.FloatingIP) {
		v.IPv4(at.Child("floatingIP"), *a.FloatingIP)
		v.Forbidden(at.Child("floatingIP"), !floating, "the floating IP is switched off")
	}
	if a.ManagedLoadBalancer != nil {
		v.loadBalancer(at.Child("managedLoadBalancer"), a)
	}
}

// Defaults of a load balancer's monitor.
// Source: the OpenStack provider of Cluster API, APIServerLoadBalancerMonitor.
const (
	monitorDelay          = 10
	monitorTimeout        = 5
	monitorMaxRetries     = 5
	monitorMaxRetriesDown = 3
)

func (v *validator) loadBalancer(at *field.Path, a *APIServer) {
	lb := a.ManagedLoadBalancer
	if lb.Enabled == nil {
		lb.Enabled = new(true)
	}
	ports := at.Child("additionalPorts")
	for i, p := range lb.AdditionalPorts {
		v.portNumber(ports.Index(i), p)
		if a.Port != nil && p == int32(*a.Port) {
			v.Add(field.Duplicate(ports.Index(i), p))
		}
	}
	lb.AdditionalPorts = objects.Set(v, ports, lb.AdditionalPorts)
	cidrs := at.Child("allowedCIDRs")
	for i, c := range lb.AllowedCIDRs {
		if p := v.Prefix(cidrs.Index(i), c); p.IsValid() {
			lb.AllowedCIDRs[i] = p.String()
		}
	}
	lb.AllowedCIDRs = objects.Set(v, cidrs, lb.AllowedCIDRs)
	v.neutron(at.Child("network"), lb.Network)
	if len(lb.Subnets) > 1 {
		v.Add(field.TooMany(at.Child("subnets"), len(lb.Subnets), 1))
	}
	v.subnets(at.Child("subnets"), lb.Subnets)
	if lb.Monitor == nil {
		lb.Monitor = new(APIServerLoadBalancerMonitor)
	}
	m, at := lb.Monitor, at.Child("monitor")
	m.Delay = cmp.Or(m.Delay, monitorDelay)
	m.Timeout = cmp.Or(m.Timeout, monitorTimeout)
	m.MaxRetries = cmp.Or(m.MaxRetries, monitorMaxRetries)
	m.MaxRetriesDown = cmp.Or(m.MaxRetriesDown, monitorMaxRetriesDown)
	const seconds = "must be a number of seconds"
	objects.Within(v, at.Child("delay"), m.Delay, 1, 86400, seconds)
	objects.Within(v, at.Child("timeout"), m.Timeout, 1, 86400, seconds)
	const probes = "must be between 1 and 10"
	objects.Within(v, at.Child("maxRetries"), m.MaxRetries, 1, 10, probes)
	objects.Within(v, at.Child("maxRetriesDown"), m.MaxRetriesDown, 1, 10, probes)
}

// elsewhere implements fleet.Kind.
func elsewhere(in any) field.ErrorList {
	var v validator
	s, ok := in.(*OpenStackClusterSpec)
	if !ok || s.APIServer == nil {
		return nil
	}
	const why = "the control plane is hosted, and its operator serves its endpoint: leave the field out"
	a, at := s.APIServer, field.NewPath("spec", "apiServer")
	v.Forbidden(at.Child("managedLoadBalancer"), a.ManagedLoadBalancer.IsEnabled(), why)
	v.Forbidden(at.Child("enableFloatingIP"), a.EnableFloatingIP != nil && *a.EnableFloatingIP, why)
	v.Forbidden(at.Child("floatingIP"), a.FloatingIP != nil, why)
	v.Forbidden(at.Child("fixedIP"), a.FixedIP != nil, why)
	return v.Errs
}

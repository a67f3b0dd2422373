package api

import (
	"regexp"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"fairlead.dev/providers/driver/objects"
)

// The types and schemes of load balancers.
const (
	Classic  = "classic"
	NLB      = "nlb"
	Disabled = "disabled"

	Public   = "internet-facing"
	Internal = "internal"
)

var balancerName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9]{0,31}|[-A-Za-z0-9]{0,30}[A-Za-z0-9])$`)

func (v *validator) loadBalancer(at *field.Path, lb *LoadBalancer) {
	if lb.LoadBalancerType == "" {
		lb.LoadBalancerType = Classic
	}
	switch lb.LoadBalancerType {
	case "elb", "alb":
		v.Invalid(at.Child("loadBalancerType"), lb.LoadBalancerType, "takes no TCP, so no API server can be behind it: use nlb")
	default:
		objects.Enum(v, at.Child("loadBalancerType"), lb.LoadBalancerType, Classic, NLB, Disabled)
	}
	if lb.LoadBalancerType == Disabled {
		v.disabled(at, lb)
		return
	}
	if lb.Scheme == "" {
		lb.Scheme = Public
	}
	objects.Enum(v, at.Child("scheme"), lb.Scheme, Public, Internal)
	if lb.Name != "" && !balancerName.MatchString(lb.Name) {
		v.Invalid(at.Child("name"), lb.Name, "must be at most 32 letters, digits and hyphens, and begin and end with none of the last")
	}
	if lb.HealthCheckProtocol != "" {
		objects.Enum(v, at.Child("healthCheckProtocol"), lb.HealthCheckProtocol, "TCP", "SSL", "HTTP", "HTTPS", "TLS", "UDP")
		if lb.HealthCheckProtocol == "UDP" || lb.LoadBalancerType == NLB && (lb.HealthCheckProtocol == "SSL" || lb.HealthCheckProtocol == "TLS") {
			v.Invalid(at.Child("healthCheckProtocol"), lb.HealthCheckProtocol, "AWS checks no target of this type of load balancer so: use TCP or HTTPS")
		}
	}
	if h := lb.HealthCheck; h != nil {
		v.health(at.Child("healthCheck"), *h)
	}
	for i, id := range lb.AdditionalSecurityGroups {
		v.id(at.Child("additionalSecurityGroups").Index(i), id, "sg-")
	}
	for i, id := range lb.Subnets {
		v.id(at.Child("subnets").Index(i), id, "subnet-")
	}
	v.rules(at.Child("ingressRules"), lb.IngressRules)
	v.family(at.Child("targetGroupIPType"), lb.TargetGroupIPType, lb)
	v.Forbidden(at.Child("preserveClientIP"), lb.PreserveClientIP && lb.LoadBalancerType == Classic, "a classic load balancer hides the addresses of clients: use loadBalancerType: nlb")
	v.listeners(at.Child("additionalListeners"), lb)
}

// secondLoadBalancer checks one beside the first, whose name machines know.
// Source: CAPA, webhooks/awscluster_webhook.go.
func (v *validator) secondLoadBalancer(at *field.Path, lb, first *LoadBalancer) {
	if first.LoadBalancerType == Disabled {
		v.Add(field.Forbidden(at, "controlPlaneLoadBalancer is disabled, so no load balancer is made: leave it out"))
		return
	}
	if lb.LoadBalancerType == "" {
		lb.LoadBalancerType = NLB
	}
	if lb.Scheme == "" {
		lb.Scheme = Internal
	}
	objects.Enum(v, at.Child("loadBalancerType"), lb.LoadBalancerType, NLB)
	objects.Enum(v, at.Child("scheme"), lb.Scheme, Internal)
	if v.Required(at.Child("name"), lb.Name, "the name of the load balancer") && lb.Name == first.Name {
		v.Add(field.Duplicate(at.Child("name"), lb.Name))
	}
	if lb.LoadBalancerType == NLB {
		v.loadBalancer(at, lb)
	}
}

func (v *validator) listeners(at *field.Path, lb *LoadBalancer) {
	v.Forbidden(at, len(lb.AdditionalListeners) > 0 && lb.LoadBalancerType == Classic, "only an nlb has further listeners: use loadBalancerType: nlb")
	seen := make(map[int64]bool)
	for i := range lb.AdditionalListeners {
		l, below := &lb.AdditionalListeners[i], at.Index(i)
		if l.Protocol == "" {
			l.Protocol = "TCP"
		}
		objects.Enum(v, below.Child("protocol"), l.Protocol, "TCP")
		if l.Port < 1 || l.Port > 65535 {
			v.Invalid(below.Child("port"), l.Port, "must be between 1 and 65535")
		}
		if seen[l.Port] {
			v.Add(field.Duplicate(below.Child("port"), l.Port))
		}
		seen[l.Port] = true
		v.family(below.Child("targetGroupIPType"), l.TargetGroupIPType, lb)
		h := l.HealthCheck
		if h == nil {
			continue
		}
		if h.Protocol != "" {
			objects.Enum(v, below.Child("healthCheck", "protocol"), h.Protocol, "TCP", "HTTP", "HTTPS")
		}
		v.health(below.Child("healthCheck"), HealthCheck{h.IntervalSeconds, h.ThresholdCount, h.TimeoutSeconds, h.UnhealthyThresholdCount})
	}
}

// SixFamily is the family of addresses of targets that have IPv6.
const SixFamily = "ipv6"

// family checks the family of addresses of targets.
func (v *validator) family(at *field.Path, family string, lb *LoadBalancer) {
	if family != "" {
		objects.Enum(v, at, family, "ipv4", SixFamily)
		v.Forbidden(at, lb.LoadBalancerType == Classic, "a classic load balancer has no target groups: leave it out")
	}
}

// health checks the bounds of a health check.
func (v *validator) health(at *field.Path, h HealthCheck) {
	within := func(name string, n *int64, low, high int32, why string) {
		if n != nil {
			objects.Within(v, at.Child(name), int32(*n), low, high, why) //nolint:gosec // what is too large is out of bounds
		}
	}
	within("intervalSeconds", h.IntervalSeconds, 5, 300, "must be between 5 and 300")
	within("timeoutSeconds", h.TimeoutSeconds, 2, 120, "must be between 2 and 120")
	within("thresholdCount", h.ThresholdCount, 2, 10, "must be between 2 and 10")
	within("unhealthyThresholdCount", h.UnhealthyThresholdCount, 2, 10, "must be between 2 and 10")
}

// disabled checks a load balancer that is not made: nothing of it may be set.
func (v *validator) disabled(at *field.Path, lb *LoadBalancer) {
	for name, set := range map[string]bool{
		"name": lb.Name != "", "crossZoneLoadBalancing": lb.CrossZoneLoadBalancing, "subnets": len(lb.Subnets) > 0,
		"healthCheckProtocol": lb.HealthCheckProtocol != "", "healthCheck": lb.HealthCheck != nil,
		"additionalSecurityGroups": len(lb.AdditionalSecurityGroups) > 0, "additionalListeners": len(lb.AdditionalListeners) > 0,
		"ingressRules": len(lb.IngressRules) > 0, "preserveClientIP": lb.PreserveClientIP, "targetGroupIPType": lb.TargetGroupIPType != "",
	} {
		v.Forbidden(at.Child(name), set, "no load balancer is made: leave it out")
	}
}

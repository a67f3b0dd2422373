package api

import (
	"cmp"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"fairlead.dev/providers/driver/objects"
)

// The defaults.
const (
	defaultAPIPort = 6443
	defaultSSHPort = 22
	defaultUser    = "root"
)

// A validator fills in defaults and collects errors.
type validator struct{ objects.Validator }

func (v *validator) cluster(at *field.Path, s *HostClusterSpec) {
	if b := s.LoadBalancer; b != nil {
		v.Required(at.Child("loadBalancer", "poolName"), b.PoolName, "the HostPool of the host that the load balancer runs on")
		v.Required(at.Child("loadBalancer", "hostName"), b.HostName, "the host of that pool that the load balancer runs on")
	}
	virtual := at.Child("virtualIP")
	v.Forbidden(virtual, s.VirtualIP != nil && s.LoadBalancer != nil, "one of virtualIP and loadBalancer serves the endpoint: leave the other out")
	at = at.Child("controlPlaneEndpoint")
	v.Add(s.VirtualIP.Normalise(virtual, s.ControlPlaneEndpoint.Host, at.Child("host"))...)
	if s.ControlPlaneEndpoint.Host != "" {
		v.Address(at.Child("host"), s.ControlPlaneEndpoint.Host, "")
	}
	v.Port(at.Child("port"), s.ControlPlaneEndpoint.Port)
	s.ControlPlaneEndpoint.Port = cmp.Or(s.ControlPlaneEndpoint.Port, defaultAPIPort)
}

// clusterTemplate checks the spec of the clusters of a class.
func (v *validator) clusterTemplate(at *field.Path, s *HostClusterSpec) {
	v.cluster(at, s)
	v.endpoint(at, s)
}

// endpoint checks that s says where the API server answers, if machines on hosts serve it.
func (v *validator) endpoint(at *field.Path, s *HostClusterSpec) {
	if s.LoadBalancer == nil && s.ControlPlaneEndpoint.Host == "" {
		v.Required(at.Child("controlPlaneEndpoint", "host"), "", "give a virtual IP that the control plane announces, "+
			"a load balancer in front of it, or the address of the only control-plane host; or name a host for spec.loadBalancer")
	}
}

func (v *validator) machine(at *field.Path, s *HostMachineSpec) {
	if s.HostSelector != nil {
		v.Errs = append(v.Errs, metav1validation.ValidateLabelSelector(s.HostSelector, metav1validation.LabelSelectorValidationOptions{}, at.Child("hostSelector"))...)
		if _, err := metav1.LabelSelectorAsSelector(s.HostSelector); err != nil && len(v.Errs) == 0 {
			v.Add(field.Invalid(at.Child("hostSelector"), s.HostSelector, err.Error()))
		}
	}
	if s.MinCPUs < 0 {
		v.Add(field.Invalid(at.Child("minCPUs"), s.MinCPUs, "must not be negative"))
	}
	if s.MinMemory != "" {
		q, err := resource.ParseQuantity(s.MinMemory)
		if err != nil || q.Sign() < 0 {
			v.Add(field.Invalid(at.Child("minMemory"), s.MinMemory, `must be a quantity like "16Gi"`))
		} else {
			s.MinMemory = q.String()
		}
	}
	switch s.Bootstrap = cmp.Or(s.Bootstrap, BootstrapAuto); s.Bootstrap {
	case BootstrapAuto, BootstrapCloudInit, BootstrapScript:
	default:
		v.Add(field.NotSupported(at.Child("bootstrap"), s.Bootstrap, []BootstrapMode{BootstrapAuto, BootstrapCloudInit, BootstrapScript}))
	}
}

func (v *validator) pool(at *field.Path, s *HostPoolSpec) {
	v.ssh(at.Child("ssh"), &s.SSH)
	s.SSH.User = cmp.Or(s.SSH.User, defaultUser)
	s.SSH.Port = cmp.Or(s.SSH.Port, defaultSSHPort)
	if s.SSH.IdentityRef == nil && !s.SSH.Agent {
		v.Add(field.Required(at.Child("ssh", "identityRef"), "name a Secret with the key ssh-privatekey or password, or say agent: true"))
	}
	if s.SSH.IdentityRef == nil && s.SSH.KnownHosts == "" {
		v.Add(field.Required(at.Child("ssh", "knownHosts"), "without the public keys of the hosts anybody could pose as one: "+
			"get them with ssh-keyscan and compare them with what the hosts say themselves"))
	}
	seen := make(map[string]bool, len(s.Hosts))
	for i := range s.Hosts {
		h, at := &s.Hosts[i], at.Child("hosts").Index(i)
		if v.Required(at.Child("name"), h.Name, "a name that is unique in the pool") {
			for _, msg := range validation.IsDNS1123Subdomain(h.Name) {
				v.Add(field.Invalid(at.Child("name"), h.Name, msg))
			}
		}
		if seen[h.Name] {
			v.Add(field.Duplicate(at.Child("name"), h.Name))
		}
		seen[h.Name] = true
		v.Errs = append(v.Errs, metav1validation.ValidateLabels(h.Labels, at.Child("labels"))...)
		v.host(at, &h.HostDetails)
	}
}

func (v *validator) hostObject(at *field.Path, s *HostSpec) {
	v.Required(at.Child("poolName"), s.PoolName, "name the HostPool that the host belongs to")
	v.host(at, &s.HostDetails)
}

func (v *validator) host(at *field.Path, h *HostDetails) {
	v.Address(at.Child("address"), h.Address, "the address that SSH connects to")
	if h.FailureDomain != "" {
		for _, msg := range validation.IsValidLabelValue(h.FailureDomain) {
			v.Add(field.Invalid(at.Child("failureDomain"), h.FailureDomain, msg))
		}
	}
	if h.SSH != nil {
		v.ssh(at.Child("ssh"), h.SSH)
	}
}

func (v *validator) ssh(at *field.Path, s *SSH) {
	v.user(at.Child("user"), s.User)
	v.Port(at.Child("port"), s.Port)
	v.identity(at, s.IdentityRef, s.Agent)
	if b := s.Bastion; b != nil {
		at := at.Child("bastion")
		v.Address(at.Child("address"), b.Address, "the address of the bastion")
		v.user(at.Child("user"), b.User)
		v.Port(at.Child("port"), b.Port)
		v.identity(at, b.IdentityRef, b.Agent)
		b.Port = cmp.Or(b.Port, defaultSSHPort)
	}
}

func (v *validator) user(at *field.Path, user string) {
	if strings.ContainsAny(user, " \t\r\n:/") {
		v.Add(field.Invalid(at, user, "must be the name of a user"))
	}
}

func (v *validator) identity(at *field.Path, ref *IdentityReference, agent bool) {
	if ref == nil {
		return
	}
	v.Required(at.Child("identityRef", "name"), ref.Name, "the name of a Secret")
	if agent {
		v.Add(field.Forbidden(at.Child("agent"), "there is an identityRef already: leave out one of them"))
	}
}

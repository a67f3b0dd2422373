package api

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/objects"
	"fairlead.dev/providers/kinds"
)

// ProviderName is the name of the provider in its kinds.
const ProviderName = "docker"

const group = "infrastructure.cluster.x-k8s.io"

// The kinds that are read by their names.
const (
	clusterKind  = "DockerCluster"
	machineKind  = "DockerMachine"
	templateKind = "DockerMachineTemplate"
)

// The defaults.
const (
	defaultAPIPort = 6443
	// DefaultBootstrapTimeout is the time limit of user data.
	DefaultBootstrapTimeout = 3 * time.Minute
)

// Kinds returns the kinds of this provider.
func Kinds() []fleet.Kind {
	const newest, older = "v1beta2", "v1beta1"
	const noLabel = "a machine of this provider has no labels and annotations of its own: " +
		"put them into the machine template of the MachineDeployment or KubeadmControlPlane"
	kind := func(role fleet.KindRole, name string, v ...kinds.Version) fleet.Kind {
		return kinds.Of(fleet.Kind{Provider: ProviderName, Role: role, Group: group, Kind: name, Refused: map[string]string{}, Unused: map[string]string{}}, v...)
	}
	shared, machine := kinds.Checked((*validator).cluster), kinds.Checked((*validator).machine)
	template := kinds.Checked((*validator).clusterTemplate)
	cluster := kind(fleet.InfrastructureCluster, clusterKind, kinds.Objects(shared, newest),
		kinds.Objects(kinds.Converted((*validator).convert, (*validator).cluster), older))
	clusters := kind(fleet.InfrastructureClusterTemplate, "DockerClusterTemplate", kinds.Templates(template, newest),
		kinds.Templates(kinds.Converted((*validator).convert, (*validator).clusterTemplate), older))
	alone := kind(fleet.InfrastructureMachine, machineKind, kinds.Objects(machine, newest, older))
	machines := kind(fleet.InfrastructureMachineTemplate, templateKind, kinds.Templates(machine, newest, older))
	for _, of := range []struct {
		kind *fleet.Kind
		at   string
	}{{&cluster, "spec"}, {&clusters, "spec.template.spec"}} {
		of.kind.Refused[of.at+".loadBalancer.customHAProxyConfigTemplateRef"] = "the provider writes the configuration of HAProxy itself: leave the field out"
	}
	for _, of := range []struct {
		kind *fleet.Kind
		at   string
	}{{&alone, "spec"}, {&machines, "spec.template.spec"}} {
		of.kind.Refused[of.at+".providerID"] = "the provider gives each machine its own id: leave the field out"
		of.kind.Refused[of.at+".preLoadImages"] = "images are not loaded into machines: build a node image that has them, and name it in customImage"
		of.kind.Unused[of.at+".bootstrapped"] = "written by controllers"
	}
	clusters.Refused["spec.template.metadata"], machines.Refused["spec.template.metadata"] = noLabel, noLabel
	return []fleet.Kind{cluster, clusters, alone, machines}
}

// ReadCluster returns the spec of a DockerCluster that was normalised.
func ReadCluster(o fleet.Object) (*DockerClusterSpec, error) {
	return objects.Read[DockerClusterSpec](o, clusterKind)
}

// ReadMachine returns the spec of a DockerMachine, or of the machines of a DockerMachineTemplate, that was
// normalised.
func ReadMachine(o fleet.Object) (*DockerMachineSpec, error) {
	if o.GVK.Kind == machineKind {
		return objects.Read[DockerMachineSpec](o, machineKind)
	}
	return objects.Read[DockerMachineSpec](o, templateKind)
}

// A validator fills in defaults and collects what is wrong.
type validator struct{ objects.Validator }

// convert returns the spec of a cluster as the newest version has it.
func (v *validator) convert(_ *field.Path, old *OldDockerClusterSpec) *DockerClusterSpec {
	out := &DockerClusterSpec{ControlPlaneEndpoint: old.ControlPlaneEndpoint, LoadBalancer: old.LoadBalancer}
	for _, name := range slices.Sorted(maps.Keys(old.FailureDomains)) {
		d := old.FailureDomains[name]
		out.FailureDomains = append(out.FailureDomains, FailureDomain{Name: name, ControlPlane: d.ControlPlane, Attributes: d.Attributes})
	}
	return out
}

func (v *validator) cluster(at *field.Path, s *DockerClusterSpec) {
	v.clusterTemplate(at, s)
	host := at.Child("controlPlaneEndpoint", "host")
	if s.LoadBalancer.Disable {
		v.Required(host, s.ControlPlaneEndpoint.Host, "the address of an endpoint that exists: loadBalancer.disable is true")
		s.ControlPlaneEndpoint.Port = cmp.Or(s.ControlPlaneEndpoint.Port, defaultAPIPort)
		return
	}
	v.Forbidden(host, s.ControlPlaneEndpoint.Host != "", "the endpoint is the address of the load balancer: leave the field out, or set loadBalancer.disable")
}

// clusterTemplate checks the fields of a cluster that are set: patches of a class may add others.
func (v *validator) clusterTemplate(at *field.Path, s *DockerClusterSpec) {
	if e := s.ControlPlaneEndpoint; e.Host != "" {
		v.Address(at.Child("controlPlaneEndpoint", "host"), e.Host, "")
	}
	if s.ControlPlaneEndpoint.Port != 0 {
		v.Port(at.Child("controlPlaneEndpoint", "port"), s.ControlPlaneEndpoint.Port)
	}
	v.balancerImage(&s.LoadBalancer)
	s.LoadBalancer.CustomHAProxyConfigTemplateRef = nil
	domains := at.Child("failureDomains")
	for i := range s.FailureDomains {
		d := &s.FailureDomains[i]
		v.Required(domains.Index(i).Child("name"), d.Name, "a name that machines are labelled with")
		d.ControlPlane = cmp.Or(d.ControlPlane, new(bool))
	}
	objects.Unique(v, domains, s.FailureDomains, "name", func(d FailureDomain) string { return d.Name })
	slices.SortFunc(s.FailureDomains, func(a, b FailureDomain) int { return cmp.Compare(a.Name, b.Name) })
}

// balancerImage fills in the image of HAProxy that kind has.
func (v *validator) balancerImage(l *LoadBalancer) {
	l.ImageRepository, l.ImageTag = cmp.Or(l.ImageRepository, "kindest"), cmp.Or(l.ImageTag, "v20230606-42a2262b")
}

func (v *validator) machine(at *field.Path, s *DockerMachineSpec) {
	for i, m := range s.ExtraMounts {
		mount := at.Child("extraMounts").Index(i)
		for name, p := range map[string]string{"containerPath": m.ContainerPath, "hostPath": m.HostPath} {
			if v.Required(mount.Child(name), p, "an absolute path") && !path.IsAbs(p) {
				v.Invalid(mount.Child(name), p, "must be an absolute path")
			}
		}
	}
	timeout := at.Child("bootstrapTimeout")
	if s.BootstrapTimeout == nil {
		s.BootstrapTimeout = &metav1.Duration{Duration: DefaultBootstrapTimeout}
	}
	if s.BootstrapTimeout.Duration < time.Second {
		v.Invalid(timeout, s.BootstrapTimeout.Duration.String(), "must be at least 1s")
	}
	s.PreLoadImages, s.ProviderID, s.Bootstrapped = nil, "", false
}

package api

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"
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

// The defaults.
const (
	defaultAPIPort = 6443
	// DefaultBootstrapTimeout is the time limit of user data.
	DefaultBootstrapTimeout = 5 * time.Minute
)

const inTemplate = "spec.template."

// Kinds returns the kinds of this provider. DevCluster, DevMachine and their templates are those of the provider
// inmemory, too: an object chooses one of them by its backend. Without one it has docker, as with upstream's webhooks.
func Kinds() []fleet.Kind {
	const newest, older = "v1beta2", "v1beta1"
	cluster, clusters := kinds.Checked((*validator).cluster), kinds.Checked((*validator).clusterTemplate)
	dev, devs := kinds.Checked((*validator).devCluster), kinds.Checked((*validator).devClusterTemplate)
	pool, devPool := kinds.Converted(convertPool, (*validator).pool), kinds.Converted(convertDevPool, (*validator).devMachine)
	machine, devMachine := kinds.Checked((*validator).machine), kinds.Checked((*validator).devMachine)
	return []fleet.Kind{
		clusterKind(fleet.InfrastructureCluster, "DockerCluster", kinds.Objects(cluster, newest), kinds.Objects(kinds.Converted(convert, (*validator).cluster), older)),
		clusterKind(fleet.InfrastructureClusterTemplate, "DockerClusterTemplate", kinds.Templates(clusters, newest),
			kinds.Templates(kinds.Converted(convert, (*validator).clusterTemplate), older)),
		clusterKind(fleet.InfrastructureCluster, "DevCluster", kinds.Objects(dev, newest), kinds.Objects(kinds.Converted(convertDev, (*validator).devCluster), older)),
		clusterKind(fleet.InfrastructureClusterTemplate, "DevClusterTemplate", kinds.Templates(devs, newest),
			kinds.Templates(kinds.Converted(convertDev, (*validator).devClusterTemplate), older)),
		machineKind(fleet.InfrastructureMachine, "DockerMachine", kinds.Objects(machine, newest, older)),
		machineKind(fleet.InfrastructureMachineTemplate, "DockerMachineTemplate", kinds.Templates(machine, newest, older)),
		machineKind(fleet.InfrastructureMachine, "DevMachine", kinds.Objects(devMachine, newest, older)),
		machineKind(fleet.InfrastructureMachineTemplate, "DevMachineTemplate", kinds.Templates(devMachine, newest, older)),
		poolKind(fleet.InfrastructureMachinePool, "DockerMachinePool", kinds.Objects(pool, newest, older)),
		poolKind(fleet.InfrastructureMachinePoolTemplate, "DockerMachinePoolTemplate", kinds.Templates(pool, newest, older)),
		poolKind(fleet.InfrastructureMachinePool, "DevMachinePool", kinds.Objects(devPool, newest, older)),
		poolKind(fleet.InfrastructureMachinePoolTemplate, "DevMachinePoolTemplate", kinds.Templates(devPool, newest, older)),
	}
}

// newKind returns a kind, and where the spec of its objects and the fields of this provider are.
func newKind(role fleet.KindRole, name string, versions ...kinds.Version) (k fleet.Kind, spec, own string) {
	k = kinds.Of(fleet.Kind{Provider: ProviderName, Role: role, Group: group, Kind: name, Refused: map[string]string{}, Unused: map[string]string{}}, versions...)
	spec = "spec."
	if strings.HasSuffix(name, "Template") {
		spec = inTemplate + "spec."
	}
	if role == fleet.InfrastructureMachineTemplate || role == fleet.InfrastructureMachinePoolTemplate {
		k.Unused[inTemplate+"metadata"] = "labels and annotations of an object that controllers of Cluster API create: " +
			"those of machines and Nodes are in the machine template of the MachineDeployment or KubeadmControlPlane"
	}
	own = spec
	if strings.HasPrefix(name, "Dev") {
		if why := k.Unused[inTemplate+"metadata"]; why != "" {
			k.Unused[inTemplate+"metadata"] = why + " (with backend.inMemory it is refused)"
		}
		k.Choice, own = spec+"backend.docker", spec+"backend.docker."
		k.Refused[spec+"backend.inMemory"] = "the object has backend.docker: remove one of them"
	}
	return k, spec, own
}

func clusterKind(role fleet.KindRole, name string, versions ...kinds.Version) fleet.Kind {
	k, _, own := newKind(role, name, versions...)
	k.Refused[own+"loadBalancer.customHAProxyConfigTemplateRef"] = "the provider writes the configuration of HAProxy itself: leave the field out"
	return k
}

func machineKind(role fleet.KindRole, name string, versions ...kinds.Version) fleet.Kind {
	k, spec, _ := newKind(role, name, versions...)
	k.Refused[spec+"providerID"] = "the provider gives each machine its own id: leave the field out"
	if !strings.HasPrefix(name, "Dev") {
		k.Unused[spec+"bootstrapped"] = "written by controllers"
	}
	return k
}

// poolKind returns a kind of pools whose machines Fairlead creates, or of templates of these.
func poolKind(role fleet.KindRole, name string, versions ...kinds.Version) fleet.Kind {
	k, spec, _ := newKind(role, name, versions...)
	k.OwnMachines = true
	k.Unused[spec+"providerID"], k.Unused[spec+"providerIDList"] = "written by controllers", "written by controllers"
	return k
}

// ReadCluster returns the spec of a DockerCluster or DevCluster that was normalised.
func ReadCluster(o fleet.Object) (*DockerClusterSpec, error) {
	if o.GVK.Kind != "DevCluster" {
		return objects.Read[DockerClusterSpec](o, "DockerCluster")
	}
	spec, err := objects.Read[DevClusterSpec](o, "DevCluster")
	if err != nil || spec.Backend.Docker == nil {
		return nil, cmp.Or(err, otherBackend(o))
	}
	return &DockerClusterSpec{spec.ControlPlaneEndpoint, *spec.Backend.Docker}, nil
}

// ReadMachine returns what a machine is made from, of a DockerMachine, a DevMachine, the template of one or a pool, that
// was normalised.
func ReadMachine(o fleet.Object) (*Container, error) {
	switch o.GVK.Kind {
	case "DevMachine", "DevMachineTemplate", "DevMachinePool":
		spec, err := objects.Read[DevMachineSpec](o, o.GVK.Kind)
		if err != nil || spec.Backend.Docker == nil {
			return nil, cmp.Or(err, otherBackend(o))
		}
		return spec.Backend.Docker, nil
	case "DockerMachine", "DockerMachinePool":
		spec, err := objects.Read[DockerMachineSpec](o, o.GVK.Kind)
		return containerOf(spec), err
	}
	spec, err := objects.Read[DockerMachineSpec](o, "DockerMachineTemplate")
	return containerOf(spec), err
}

func containerOf(s *DockerMachineSpec) *Container {
	if s == nil {
		return nil
	}
	return &s.Container
}

// otherBackend is the error of an object of another provider.
func otherBackend(o fleet.Object) error {
	return fleet.Errorf(fleet.Invalid, "read "+o.GVK.Kind+" "+o.Name, "it has no backend.docker")
}

// A validator fills in defaults and collects what is wrong.
type validator struct{ objects.Validator }

// convert returns the spec of a DockerCluster as the newest version has it.
func convert(_ *validator, _ *field.Path, old *OldDockerClusterSpec) *DockerClusterSpec {
	return &DockerClusterSpec{old.ControlPlaneEndpoint, old.newest()}
}

// convertDev returns the spec of a DevCluster as the newest version has it.
func convertDev(_ *validator, _ *field.Path, old *OldDevClusterSpec) *DevClusterSpec {
	out := &DevClusterSpec{ControlPlaneEndpoint: old.ControlPlaneEndpoint}
	if old.Backend.Docker != nil {
		shared := old.Backend.Docker.newest()
		out.Backend.Docker = &shared
	}
	return out
}

// convertPool returns the spec of a machine of a DockerMachinePool.
func convertPool(_ *validator, _ *field.Path, p *DockerMachinePoolSpec) *DockerMachineSpec {
	return &DockerMachineSpec{Container: Container{PoolContainer: p.Template}}
}

// convertDevPool returns the spec of a machine of a DevMachinePool.
func convertDevPool(_ *validator, _ *field.Path, p *DevMachinePoolSpec) *DevMachineSpec {
	docker := cmp.Or(p.Backend.Docker, new(PoolContainer))
	return &DevMachineSpec{Backend: DevMachineBackend{Docker: &Container{PoolContainer: *docker}}}
}

func (o *OldShared) newest() Shared {
	out := Shared{LoadBalancer: o.LoadBalancer}
	for _, name := range slices.Sorted(maps.Keys(o.FailureDomains)) {
		d := o.FailureDomains[name]
		out.FailureDomains = append(out.FailureDomains, FailureDomain{Name: name, ControlPlane: d.ControlPlane, Attributes: d.Attributes})
	}
	return out
}

func (v *validator) cluster(at *field.Path, s *DockerClusterSpec) {
	v.clusterTemplate(at, s)
	v.endpoint(at, at, s)
}

// clusterTemplate checks the fields of a cluster that are set: patches of a class may add others.
func (v *validator) clusterTemplate(at *field.Path, s *DockerClusterSpec) {
	v.address(at, s.ControlPlaneEndpoint)
	v.shared(at, &s.Shared)
}

func (v *validator) devCluster(at *field.Path, s *DevClusterSpec) {
	v.devClusterTemplate(at, s)
	flat := &DockerClusterSpec{s.ControlPlaneEndpoint, *s.Backend.Docker}
	v.endpoint(at, at.Child("backend", "docker"), flat)
	s.ControlPlaneEndpoint = flat.ControlPlaneEndpoint
}

// devClusterTemplate is clusterTemplate for a DevCluster.
func (v *validator) devClusterTemplate(at *field.Path, s *DevClusterSpec) {
	v.address(at, s.ControlPlaneEndpoint)
	s.Backend.Docker = cmp.Or(s.Backend.Docker, new(Shared))
	v.shared(at.Child("backend", "docker"), s.Backend.Docker)
}

// endpoint checks that a cluster has one endpoint. own is the path of the fields of this provider.
func (v *validator) endpoint(at, own *field.Path, s *DockerClusterSpec) {
	host := at.Child("controlPlaneEndpoint", "host")
	if s.LoadBalancer.Disable {
		v.Required(host, s.ControlPlaneEndpoint.Host, "the address of an endpoint that exists: loadBalancer.disable is true")
		s.ControlPlaneEndpoint.Port = cmp.Or(s.ControlPlaneEndpoint.Port, defaultAPIPort)
		return
	}
	v.Forbidden(host, s.ControlPlaneEndpoint.Host != "", "the endpoint is the address of the load balancer: leave the field out, or set "+own.Child("loadBalancer", "disable").String())
}

func (v *validator) address(at *field.Path, e APIEndpoint) {
	if e.Host != "" {
		v.Address(at.Child("controlPlaneEndpoint", "host"), e.Host, "")
	}
	if e.Port != 0 {
		v.Port(at.Child("controlPlaneEndpoint", "port"), e.Port)
	}
}

func (v *validator) shared(at *field.Path, s *Shared) {
	l := &s.LoadBalancer // the image that kind has
	l.ImageRepository, l.ImageTag, l.CustomHAProxyConfigTemplateRef = cmp.Or(l.ImageRepository, "kindest"), cmp.Or(l.ImageTag, "v20230606-42a2262b"), nil
	domains := at.Child("failureDomains")
	for i := range s.FailureDomains {
		d := &s.FailureDomains[i]
		v.Required(domains.Index(i).Child("name"), d.Name, "a name that machines are labelled with")
		d.ControlPlane = cmp.Or(d.ControlPlane, new(bool))
	}
	objects.Unique(v, domains, s.FailureDomains, "name", func(d FailureDomain) string { return d.Name })
	slices.SortFunc(s.FailureDomains, func(a, b FailureDomain) int { return cmp.Compare(a.Name, b.Name) })
}

func (v *validator) machine(at *field.Path, s *DockerMachineSpec) {
	v.container(at, &s.Container)
	s.ProviderID, s.Bootstrapped = "", false
}

func (v *validator) devMachine(at *field.Path, s *DevMachineSpec) {
	s.Backend.Docker = cmp.Or(s.Backend.Docker, new(Container))
	v.container(at.Child("backend", "docker"), s.Backend.Docker)
	s.ProviderID = ""
}

// pool is machine for what convertPool returns.
func (v *validator) pool(at *field.Path, s *DockerMachineSpec) { v.machine(at.Child("template"), s) }

func (v *validator) container(at *field.Path, s *Container) {
	for i, m := range s.ExtraMounts {
		mount := at.Child("extraMounts").Index(i)
		for _, p := range []struct{ name, path string }{{"containerPath", m.ContainerPath}, {"hostPath", m.HostPath}} {
			if v.Required(mount.Child(p.name), p.path, "an absolute path") && !path.IsAbs(p.path) {
				v.Invalid(mount.Child(p.name), p.path, "must be an absolute path")
			}
		}
	}
	for i, image := range s.PreLoadImages {
		v.Required(at.Child("preLoadImages").Index(i), image, "an image of the host")
	}
	timeout := at.Child("bootstrapTimeout")
	if s.BootstrapTimeout == nil {
		s.BootstrapTimeout = &metav1.Duration{Duration: DefaultBootstrapTimeout}
	}
	if s.BootstrapTimeout.Duration < time.Second {
		v.Invalid(timeout, s.BootstrapTimeout.Duration.String(), "must be at least 1s")
	}
}

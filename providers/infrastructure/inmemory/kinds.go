package inmemory

import (
	"encoding/json"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/addresses"
	"fairlead.dev/providers/driver/endpoint"
	"fairlead.dev/providers/kinds"
)

// ProviderName is the name of the provider in the registry and in its kinds.
const ProviderName = "inmemory"

// group is the API group of the kinds.
const group = "infrastructure.cluster.x-k8s.io"

// defaultPort is where an API server listens when nothing says otherwise.
const defaultPort = 6443

// DevClusterSpec is the shared infrastructure of a cluster, with the fields of
// Cluster API's DevCluster. Both versions have the same fields, but for those of
// the docker backend, which is another provider's.
type DevClusterSpec struct {
	// ControlPlaneEndpoint is where the API server is to answer: a loopback
	// address. Without one the cloud takes a free address.
	ControlPlaneEndpoint APIEndpoint       `json:"controlPlaneEndpoint,omitzero"`
	Backend              DevClusterBackend `json:"backend"`
}

// APIEndpoint is host and port of an API server.
type APIEndpoint struct {
	Host string `json:"host,omitempty"`
	Port int32  `json:"port,omitempty"`
}

// DevClusterBackend chooses the backend of a DevCluster.
type DevClusterBackend struct {
	Docker   json.RawMessage     `json:"docker,omitempty"`
	InMemory *DevClusterInMemory `json:"inMemory,omitempty"`
}

// DevClusterInMemory has one setting. Cluster API's kind has none.
type DevClusterInMemory struct {
	// VirtualIP has the cloud make no load balancer: servers have the endpoint by turns.
	VirtualIP *endpoint.VirtualIP `json:"virtualIP,omitempty"`
}

// DevMachineSpec is the spec of one machine, with the fields of Cluster API's
// DevMachine.
type DevMachineSpec struct {
	ProviderID string            `json:"providerID,omitempty"`
	Backend    DevMachineBackend `json:"backend"`
}

// DevMachineBackend chooses the backend of a machine.
type DevMachineBackend struct {
	Docker   json.RawMessage     `json:"docker,omitempty"`
	InMemory *DevMachineInMemory `json:"inMemory,omitempty"`
}

// DevMachineInMemory says how long the parts of a machine take to start. The parts
// start in this order: the virtual machine, its Node, then etcd and API server.
type DevMachineInMemory struct {
	VM        *Component `json:"vm,omitempty"`
	Node      *Component `json:"node,omitempty"`
	APIServer *Component `json:"apiServer,omitempty"`
	Etcd      *Component `json:"etcd,omitempty"`
	// AddressesFromPools are the pools that the machine has an address of each; none:
	// the cloud gives it one. Cluster API's kind has no such field.
	AddressesFromPools []addresses.Ref `json:"addressesFromPools,omitempty"`
}

// A Component is one part of a machine.
type Component struct {
	Provisioning *Provisioning `json:"provisioning,omitempty"`
}

// Provisioning says how long a part takes to start: StartupDuration, a Go
// duration, and up to StartupJitter times that on top, a decimal number.
type Provisioning struct {
	StartupDuration string `json:"startupDuration"`
	StartupJitter   string `json:"startupJitter,omitempty"`
}

// DevMachinePoolSpec is the spec of a pool that the cloud keeps, with the fields of Cluster API's
// DevMachinePool.
type DevMachinePoolSpec struct {
	ProviderID     string                `json:"providerID,omitempty"`
	ProviderIDList []string              `json:"providerIDList,omitempty"`
	Backend        DevMachinePoolBackend `json:"backend,omitzero"`
}

// DevMachinePoolBackend chooses the backend of a pool.
type DevMachinePoolBackend struct {
	Docker   json.RawMessage         `json:"docker,omitempty"`
	InMemory *DevMachinePoolInMemory `json:"inMemory,omitempty"`
}

// DevMachinePoolInMemory says what the machines of a pool are. Cluster API's kind has no such backend.
type DevMachinePoolInMemory struct {
	// InstanceType is the size of the machines. As in clouds, it does not change for a pool that exists.
	InstanceType string     `json:"instanceType,omitempty"`
	VM           *Component `json:"vm,omitempty"`
	Node         *Component `json:"node,omitempty"`
}

// Kinds returns the kinds of this provider.
func Kinds() []fleet.Kind {
	const docker = "the docker backend is for the provider docker, and an object is for one provider: keep one backend"
	const ownID = "the provider gives each machine its own id: leave the field out"
	const newest, older = "v1beta2", "v1beta1"
	kind := func(role fleet.KindRole, name string, version kinds.Version, refused map[string]string) fleet.Kind {
		return kinds.Of(fleet.Kind{Provider: ProviderName, Role: role, Group: group, Kind: name, Refused: refused}, version)
	}
	cluster := kind(fleet.InfrastructureCluster, "DevCluster", kinds.Objects(normaliseCluster, newest, older),
		map[string]string{"spec.backend.docker": docker})
	cluster.Elsewhere = elsewhere
	clusters := kind(fleet.InfrastructureClusterTemplate, "DevClusterTemplate", kinds.Templates(normaliseCluster, newest, older),
		map[string]string{"spec.template.spec.backend.docker": docker})
	machines := kind(fleet.InfrastructureMachineTemplate, "DevMachineTemplate", kinds.Templates(normaliseMachine, newest, older), map[string]string{
		"spec.template.spec.backend.docker": docker,
		"spec.template.spec.providerID":     ownID,
		"spec.template.metadata": "a machine of this provider has no labels and annotations of its own: " +
			"put them into the machine template of the MachineDeployment or KubeadmControlPlane",
	})
	machines.Resolve = resolvePools(field.NewPath("spec", "template", "spec"))
	machine := kind(fleet.InfrastructureMachine, "DevMachine", kinds.Objects(normaliseMachine, newest, older),
		map[string]string{"spec.backend.docker": docker, "spec.providerID": ownID})
	machine.Resolve = resolvePools(field.NewPath("spec"))
	pool := kind(fleet.InfrastructureMachinePool, "DevMachinePool", kinds.Objects(normalisePool, newest, older),
		map[string]string{"spec.backend.docker": docker})
	pool.Unused = map[string]string{
		"spec.providerID":     "written by controllers",
		"spec.providerIDList": "written by controllers: the cloud tells the ids of its machines",
	}
	cluster.Choice, machine.Choice, pool.Choice = "spec.backend.inMemory", "spec.backend.inMemory", "spec.backend.inMemory"
	clusters.Choice, machines.Choice = "spec.template.spec.backend.inMemory", "spec.template.spec.backend.inMemory"
	return append(addresses.Kinds(ProviderName), cluster, clusters, machines, machine, pool)
}

// resolvePools checks that the pools of a machine's spec, which is at the path at, are in Git.
func resolvePools(at *field.Path) func(any, func(string) map[string]any) (any, field.ErrorList) {
	return func(spec any, companions func(kind string) map[string]any) (any, field.ErrorList) {
		in := spec.(DevMachineSpec).Backend.InMemory
		if in == nil {
			return spec, nil
		}
		return spec, addresses.Resolve(in.AddressesFromPools, at.Child("backend", "inMemory", "addressesFromPools"), companions)
	}
}

// elsewhere implements fleet.Kind for DevCluster.
func elsewhere(v any) field.ErrorList {
	s, ok := v.(DevClusterSpec)
	if !ok || s.Backend.InMemory == nil || s.Backend.InMemory.VirtualIP == nil {
		return nil
	}
	return field.ErrorList{field.Forbidden(field.NewPath("spec", "backend", "inMemory", "virtualIP"),
		"the control plane is hosted, and its operator serves its endpoint: leave the field out")}
}

// normaliseCluster is a kinds.Normaliser.
func normaliseCluster(_ metav1.Object, at *field.Path, s *DevClusterSpec) (any, field.ErrorList) {
	spec, errs := *s, field.ErrorList(nil)
	if len(spec.Backend.Docker) == 0 && spec.Backend.InMemory == nil {
		errs = append(errs, backendRequired(at.Child("backend")))
	}
	if in := spec.Backend.InMemory; in != nil {
		errs = append(errs, in.VirtualIP.Normalise(at.Child("backend", "inMemory", "virtualIP"), spec.ControlPlaneEndpoint.Host, at.Child("controlPlaneEndpoint", "host"))...)
	}
	e, at := &spec.ControlPlaneEndpoint, at.Child("controlPlaneEndpoint")
	if len(e.Host) > 512 {
		errs = append(errs, field.TooLong(at.Child("host"), e.Host, 512))
	}
	if e.Port < 0 || e.Port > 65535 {
		errs = append(errs, field.Invalid(at.Child("port"), e.Port, "must be between 1 and 65535"))
	}
	if e.Host != "" && e.Port == 0 {
		e.Port = defaultPort
	}
	spec.Backend.Docker = nil
	return spec, errs
}

// normaliseMachine is a kinds.Normaliser.
func normaliseMachine(_ metav1.Object, at *field.Path, spec *DevMachineSpec) (any, field.ErrorList) {
	at = at.Child("backend")
	if spec.Backend.InMemory == nil {
		if len(spec.Backend.Docker) == 0 {
			return nil, field.ErrorList{backendRequired(at)}
		}
		return DevMachineSpec{}, nil
	}
	at = at.Child("inMemory")
	var errs field.ErrorList
	canonical := func(name string, c *Component) *Component { return c.canonical(at.Child(name), &errs) }
	in := spec.Backend.InMemory
	return DevMachineSpec{Backend: DevMachineBackend{InMemory: &DevMachineInMemory{
		VM:        canonical("vm", in.VM),
		Node:      canonical("node", in.Node),
		APIServer: canonical("apiServer", in.APIServer),
		Etcd:      canonical("etcd", in.Etcd),

		AddressesFromPools: addresses.NormaliseRefs(&errs, at.Child("addressesFromPools"), in.AddressesFromPools),
	}}}, errs
}

// normalisePool is a kinds.Normaliser.
func normalisePool(_ metav1.Object, at *field.Path, spec *DevMachinePoolSpec) (any, field.ErrorList) {
	at = at.Child("backend")
	in := spec.Backend.InMemory
	if in == nil {
		if len(spec.Backend.Docker) == 0 {
			return nil, field.ErrorList{backendRequired(at)}
		}
		return DevMachinePoolSpec{}, nil
	}
	at = at.Child("inMemory")
	var errs field.ErrorList
	out := DevMachinePoolInMemory{InstanceType: in.InstanceType, VM: in.VM.canonical(at.Child("vm"), &errs), Node: in.Node.canonical(at.Child("node"), &errs)}
	return DevMachinePoolSpec{Backend: DevMachinePoolBackend{InMemory: &out}}, errs
}

// canonical returns c with equal settings written equally, and adds what is wrong with it to errs.
func (c *Component) canonical(at *field.Path, errs *field.ErrorList) *Component {
	if c == nil || c.Provisioning == nil {
		return nil
	}
	p, es := c.Provisioning.canonical(at.Child("provisioning"))
	*errs = append(*errs, es...)
	return &Component{Provisioning: &p}
}

// backendRequired is the error of a backend that is not chosen.
func backendRequired(at *field.Path) *field.Error {
	return field.Required(at.Child("inMemory"),
		"choose a backend: say inMemory: {}")
}

// canonical returns p with equal settings written equally, and what is wrong
// with it.
func (p Provisioning) canonical(at *field.Path) (Provisioning, field.ErrorList) {
	var errs field.ErrorList
	if p.StartupDuration == "" {
		errs = append(errs, field.Required(at.Child("startupDuration"), `a duration like "10s"`))
	} else if d, err := time.ParseDuration(p.StartupDuration); err != nil || d < 0 {
		errs = append(errs, field.Invalid(at.Child("startupDuration"), p.StartupDuration, `must be a duration like "10s"`))
	} else {
		p.StartupDuration = d.String()
	}
	if p.StartupJitter != "" {
		// The comparison also refuses not-a-number.
		f, err := strconv.ParseFloat(p.StartupJitter, 64)
		if err != nil || !(f >= 0 && f <= 1000) {
			errs = append(errs, field.Invalid(at.Child("startupJitter"), p.StartupJitter, `must be a number from 0 up, like "0.2"`))
		} else {
			p.StartupJitter = strconv.FormatFloat(f, 'f', -1, 64)
		}
	}
	return p, errs
}

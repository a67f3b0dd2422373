package inmemory

import (
	"context"
	"time"

	"fairlead.dev/fleet"
)

// An API is what a cloud offers its users: a *Cloud in this process, or a
// *Client of one in another. It knows names and tags but gives them no meaning:
// two machines may have one name, and a listing by tag sees only that.
//
// Errors are *fleet.Error.
type API interface {
	// Identify returns the cloud's id, which no other cloud has; empty where it is
	// of a version that does not tell.
	Identify(ctx context.Context) (string, error)

	// Networks and VMs return everything that carries all of tags, or an error.
	Networks(ctx context.Context, tags map[string]string) ([]Network, error)
	VMs(ctx context.Context, tags map[string]string) ([]VM, error)

	// CreateNetwork makes the shared part of a cluster: a load balancer whose
	// address stays. It makes a second one when called twice.
	CreateNetwork(ctx context.Context, s NetworkSpec) (Network, error)
	// DeleteNetwork removes it; with machines on it the error is of kind
	// Conflict. Nothing there gives the kind NotFound.
	DeleteNetwork(ctx context.Context, id string) error

	// CreateVM starts a machine; it makes a second one when called twice, but of a machine
	// with an address of a pool, which one has at a time: another one's gives the kind
	// Conflict. A request may fail after it was taken: VMs tells of that for ten minutes, or until the same tags
	// are asked for again.
	CreateVM(ctx context.Context, s VMSpec) (VM, error)
	// DeleteVM removes it, a silent one once it is back. Nothing there gives the
	// kind NotFound.
	DeleteVM(ctx context.Context, id string) error

	// Watch calls changed with the ownership tags of what changed until ctx
	// ends. Events may be lost and repeated.
	Watch(ctx context.Context, changed func(Owner)) error
}

// A Control is the other side of a cloud: what tests and demonstrations use to
// break it. A *Cloud and a *Client have it.
type Control interface {
	Faults(ctx context.Context) (Faults, error)
	SetFaults(ctx context.Context, f Faults) error
	// StopVM cuts the power of a machine, StartVM gives it back.
	StopVM(ctx context.Context, id string) error
	StartVM(ctx context.Context, id string) error
}

// Planes is the part of a cloud that serves control planes which are no machines. A *Cloud
// and a *Client have it.
type Planes interface {
	Planes(ctx context.Context) ([]Plane, error)
	CreatePlane(ctx context.Context, s PlaneSpec) (Plane, error)
	SetPlane(ctx context.Context, p Plane) error
}

// An Owner is the fleet and the cluster that a thing's tags name.
type Owner struct {
	Fleet   string `json:"fleet"`
	Cluster string `json:"cluster"` // "namespace/name"
}

func ownerOf(tags map[string]string) Owner {
	return Owner{Fleet: tags[fleet.TagFleet], Cluster: tags[fleet.TagCluster]}
}

// A NetworkSpec is a network to make.
type NetworkSpec struct {
	Name string            `json:"name"`
	Tags map[string]string `json:"tags,omitempty"`
	// Endpoint is where its load balancer is to answer. What is zero is chosen
	// by the cloud; the host must be a loopback address.
	Endpoint fleet.Endpoint `json:"endpoint"`
	// VirtualIP has the endpoint be an address that no load balancer has: it leads to what
	// servers announce.
	VirtualIP bool `json:"virtualIP,omitempty"`
	// Elsewhere has the machines join the control plane at Endpoint: see PlaneSpec.
	Elsewhere bool `json:"elsewhere,omitempty"`
}

// A Network is what the machines of a cluster share.
type Network struct {
	ID       string            `json:"id"`
	Name     string            `json:"name"`
	Tags     map[string]string `json:"tags,omitempty"`
	Endpoint fleet.Endpoint    `json:"endpoint"`
	Created  time.Time         `json:"created"`
	Pools    []Pool            `json:"pools,omitempty"` // that the cloud keeps, by name
}

// A VMSpec is a machine to make.
type VMSpec struct {
	Name          string             `json:"name"`
	Network       string             `json:"network"` // id
	FailureDomain string             `json:"failureDomain,omitempty"`
	Tags          map[string]string  `json:"tags,omitempty"`
	Version       string             `json:"version"`  // of Kubernetes in its image, "v1.34.1"
	UserData      []byte             `json:"userData"` // secret: cloud-config or Ignition
	Timing        DevMachineInMemory `json:"timing"`

	// What another cloud gave a machine of which this one simulates the inside;
	// what is empty is chosen by this cloud. An ID must be unique.
	ID        string           `json:"id,omitempty"`
	Provider  fleet.ProviderID `json:"providerID,omitempty"`
	Addresses []string         `json:"addresses,omitempty"`
}

// owned reports whether the machine is part of a cluster: it is neither released nor was
// the request for it refused.
func (v VM) owned() bool { return v.Refused == "" && v.State != fleet.MachineReleased }

// A VM is a machine.
type VM struct {
	ID            string             `json:"id"`
	Name          string             `json:"name"`
	Network       string             `json:"network"`
	FailureDomain string             `json:"failureDomain,omitempty"`
	Tags          map[string]string  `json:"tags,omitempty"`
	State         fleet.MachineState `json:"state"`
	// Message says why it failed to start, or what its console shows while it
	// has no Node.
	Message   string           `json:"message,omitempty"`
	Refused   string           `json:"refused,omitempty"`   // there never was one: why the request for it failed after it was taken
	Silent    bool             `json:"silent,omitempty"`    // it cannot be reached: see Faults
	Stopped   bool             `json:"stopped,omitempty"`   // its power is off
	Switching bool             `json:"switching,omitempty"` // its power is on its way
	Provider  fleet.ProviderID `json:"providerID"`
	Created   time.Time        `json:"created"`
	Addresses []string         `json:"addresses,omitempty"`
}

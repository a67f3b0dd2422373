package pivot

import (
	"context"
	"time"

	"fairlead.dev/agent/secrets"
	"fairlead.dev/fleet"
	"fairlead.dev/sources"
	"fairlead.dev/sources/status"
)

// A Home is a cluster that an agent lives in.
type Home interface {
	// CheckReady says why the API server cannot be used. Nil: it can be used.
	CheckReady(ctx context.Context) error
	// Addons returns the objects of the addons that are missing or differ, as "Kind
	// namespace/name", sorted.
	Addons(ctx context.Context) ([]string, error)
	// ApplyAddons applies the addons.
	ApplyAddons(ctx context.Context) error
	// Installed reports whether the agent is installed as configured.
	Installed(ctx context.Context) (bool, error)
	// Install installs the agent as configured, and does not wait for its pods.
	Install(ctx context.Context) error
	// Uninstall removes the agent. It succeeds where there is none.
	Uninstall(ctx context.Context) error
	// Secrets is the secret store of the agent.
	Secrets() secrets.Store
}

// A Destination says where a fleet is moved to.
type Destination struct {
	// To is the name of the next owner.
	To string
	// Home is the cluster that the next owner lives in. Zero: the next owner runs here
	// already, or is started beside the pivot.
	Home fleet.Key
	// TakeOver, if not zero, is an owner that is gone and is not asked.
	TakeOver fleet.Owner
	// Self is the agent that takes the fleet over from an owner that is gone.
	Self string
	// SkipCleanup leaves the secrets and the agent of the old owner where they are.
	SkipCleanup bool
	// WaitProvisioned waits until the home is provisioned. Otherwise its control plane is
	// enough.
	WaitProvisioned bool
}

// Arrived reports whether now is the owner that the move leads to. An owner that is gone
// may have had the same name, which is that of the home. The epoch tells them apart.
func (w Destination) Arrived(now fleet.Owner) bool {
	return now.Agent == w.To && (now.Agent != w.TakeOver.Agent || now.Epoch > w.TakeOver.Epoch)
}

// Parts are what a pivot works with.
type Parts struct {
	Arbiter sources.Arbiter
	Status  func(ctx context.Context) (status.Status, error)
	// Clusters returns all clusters whose secrets move: those in Git, and those that the
	// status branch or a store has.
	Clusters func(ctx context.Context) ([]fleet.Key, error)
	// From is the store with the owner's secrets. To is the store that the next owner
	// reads; nil stands for Home's.
	From, To secrets.Store
	// Home returns the home. An error of kind NotFound says why there is none yet. Nil: the
	// fleet moves to no home.
	Home func(ctx context.Context) (Home, error)
	// Old, if not nil, is the home that the fleet leaves.
	Old Home
	// Kubeconfig, if not nil, writes the kubeconfig of the home for a person.
	Kubeconfig Kubeconfig
	// ID returns the id of a new request.
	ID func() string
	// PollInterval is the time between two looks; default 2 s.
	PollInterval time.Duration
	// IdleInterval replaces PollInterval until the owner is asked; default PollInterval.
	IdleInterval time.Duration
	// Show is called with all steps whenever one of them changes.
	Show func([]Step)
	// Hook, if not nil, is called before and after each call that changes something. Tests
	// simulate a crash with it, by a panic or the end of the goroutine.
	Hook func(call string)
}

// A Kubeconfig is the file with the kubeconfig of the home, for a person.
type Kubeconfig interface {
	// Written reports whether the file has the kubeconfig that the home has.
	Written(fleet.Secret) bool
	Write(fleet.Secret) error
}

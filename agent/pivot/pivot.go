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
	// Answers says why the API server cannot be used; nil where it can.
	Answers(ctx context.Context) error
	// Addons returns what of the addons is not as it is to be, "Kind
	// namespace/name", sorted.
	Addons(ctx context.Context) ([]string, error)
	// ApplyAddons makes them so.
	ApplyAddons(ctx context.Context) error
	// Installed reports whether the agent is installed as it is to be.
	Installed(ctx context.Context) (bool, error)
	// Install makes it so, and does not wait for pods.
	Install(ctx context.Context) error
	// Uninstall removes the agent. Nothing there is success.
	Uninstall(ctx context.Context) error
	// Secrets is the store of the agent.
	Secrets() secrets.Store
}

// A Want is where a fleet is to go.
type Want struct {
	// To is the name of the agent that is to own the fleet.
	To string
	// Home is the cluster that this agent lives in; zero: it runs here already,
	// or is started beside the pivot.
	Home fleet.Key
	// TakeOver, if not zero, is an owner that is gone and is not asked.
	TakeOver fleet.Owner
	// Self is the agent that takes a fleet over from one that is gone.
	Self string
	// Keep leaves secrets and agent of the old place where they are.
	Keep bool
	// Whole waits until the home is provisioned, rather than its control plane.
	Whole bool
}

// Arrived reports whether now is the owner that w is for. An agent that is gone
// may have had the very name of the one to come, that of its home; epochs tell
// them apart.
func (w Want) Arrived(now fleet.Owner) bool {
	return now.Agent == w.To && (now.Agent != w.TakeOver.Agent || now.Epoch > w.TakeOver.Epoch)
}

// Parts are what a pivot works with.
type Parts struct {
	Arbiter sources.Arbiter
	Status  func(ctx context.Context) (status.Status, error)
	// Clusters returns all clusters whose secrets are to move: those in Git and
	// those that the status branch or a store tells of.
	Clusters func(ctx context.Context) ([]fleet.Key, error)
	// From is where the owner's secrets are; To where the next owner reads them,
	// nil where that is Home's.
	From, To secrets.Store
	// Home returns the home. An error of kind NotFound says why there is none yet.
	// Nil for a pivot to no home.
	Home func(ctx context.Context) (Home, error)
	// Old, if not nil, is the home that the fleet leaves.
	Old Home
	// Kubeconfig, if not nil, writes the kubeconfig of the home for a person, and
	// reports whether it is written already.
	Kubeconfig Kubeconfig
	// ID returns the id of a new request.
	ID func() string
	// Turn is how long to wait before looking again; default 2 s.
	Turn time.Duration
	// Idle is how long instead as long as the owner was not asked; default Turn.
	Idle time.Duration
	// Show is told of all steps whenever one of them changes.
	Show func([]Step)
	// Before, if not nil, is called before each call that changes something, and
	// after it: what it does (panic, end the goroutine) is what a crash does.
	Before func(call string)
}

// A Kubeconfig is where a person finds the kubeconfig of the home.
type Kubeconfig interface {
	// Written reports whether it is there as the home has it.
	Written(fleet.Secret) bool
	Write(fleet.Secret) error
}

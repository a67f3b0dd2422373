package providers

import (
	"context"

	"fairlead.dev/fleet"
)

// An Adopter is an Infrastructure that can take over what Cluster API's own
// controllers made for a cluster. It changes whose things are, never the things.
//
// Each method looks at everything first: where one thing cannot be taken over,
// none is. Errors of kind Conflict say what belongs to somebody else, of kind
// NotFound what is missing, of kind Invalid what Git would have to say for it.
// All of it may be repeated: what was done is confirmed.
type Adopter interface {
	// Adoptable lists what Adopt would mark as c's and does not carry the mark
	// yet, for people, sorted. Empty means that all of it does.
	Adoptable(ctx context.Context, c *fleet.Cluster, machines []AdoptedMachine) ([]string, error)

	// Adopt marks the machines, their parts and what they share with c's
	// ownership tags. The machines get the template hash of their pool: what they
	// were made from counts as what Git says.
	Adopt(ctx context.Context, c *fleet.Cluster, machines []AdoptedMachine) error

	// Release takes the marks of Adopt off again. What carries other marks of c
	// was made or changed since: then nothing is released, and the error is of
	// kind Conflict.
	Release(ctx context.Context, c *fleet.Cluster, machines []AdoptedMachine) error
}

// An AdoptedMachine is a machine that another controller made for a cluster.
type AdoptedMachine struct {
	Name fleet.MachineName // that of its Machine, which its Node names too
	Pool fleet.PoolName    // a pool of the cluster
	ID   fleet.ProviderID  // as its Machine and its Node have it

	FailureDomain string // as its Machine has it; empty: none
	// Addresses are those of pools that were given to it, in the order of its devices, as
	// package addresses formats claims; empty: none.
	Addresses string
	// Index is its number among the machines of its data template, as "namespace/template/number";
	// empty: it has none.
	Index string
}

// AdoptionID is the operation id on what Adopt marked. Whatever has another one
// was made since.
func AdoptionID(k fleet.Key) fleet.OperationID { return fleet.NewOperationID(k, "Adopt", "") }

// AdoptionTags returns the ownership tags of an adopted machine; false where c
// has no such pool.
func AdoptionTags(c *fleet.Cluster, m AdoptedMachine) (map[string]string, bool) {
	p, ok := c.Pool(m.Pool)
	if !ok {
		return nil, false
	}
	return c.MachineTags(p, m.Name, AdoptionID(c.Key)), true
}

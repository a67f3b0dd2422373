package providers

import (
	"context"

	"fairlead.dev/fleet"
)

// An Adopter is an Infrastructure that can adopt what Cluster API's own controllers created
// for a cluster. It changes the owner of resources, never the resources.
//
// Each method observes everything first: if one resource cannot be adopted, none is. Errors
// of kind Conflict name what belongs to another owner, of kind NotFound what is missing, of
// kind Invalid what Git has to say instead. Every method may be repeated.
type Adopter interface {
	// Adoptable lists what Adopt would mark as c's and has no mark yet, for people, sorted.
	// It is empty if everything is marked.
	Adoptable(ctx context.Context, c *fleet.Cluster, machines []AdoptedMachine) ([]string, error)

	// Adopt marks the machines, their parts and their shared infrastructure with c's ownership
	// tags. The machines get the template hash of their pool, and so count as up to date.
	Adopt(ctx context.Context, c *fleet.Cluster, machines []AdoptedMachine) error

	// Release removes the marks of Adopt. If something has other marks of c, it was created or
	// changed since: then nothing is released, and the error has the kind Conflict.
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

// AdoptionID is the operation id on what Adopt marked. Resources with another one were created
// since.
func AdoptionID(k fleet.Key) fleet.OperationID { return fleet.NewOperationID(k, "Adopt", "") }

// AdoptionTags returns the ownership tags of an adopted machine; false if c has no such pool.
func AdoptionTags(c *fleet.Cluster, m AdoptedMachine) (map[string]string, bool) {
	p, ok := c.Pool(m.Pool)
	if !ok {
		return nil, false
	}
	return c.MachineTags(p, m.Name, AdoptionID(c.Key)), true
}

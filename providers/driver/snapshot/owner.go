package snapshot

import "fairlead.dev/fleet"

// An Owner says whose a thing is: a cluster's, or where Machine is set, part of
// that machine.
type Owner struct {
	Fleet   fleet.ID
	Cluster fleet.Key
	Machine fleet.MachineName
}

// OwnerOf returns the owner of what the machines of c share.
func OwnerOf(c *fleet.Cluster) Owner { return Owner{Fleet: c.Fleet, Cluster: c.Key} }

// Part returns the owner of the parts of o's machine called name.
func (o Owner) Part(name fleet.MachineName) Owner {
	o.Machine = name
	return o
}

// Shared returns the cluster of o.
func (o Owner) Shared() Owner { return o.Part("") }

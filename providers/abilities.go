package providers

import (
	"context"

	"fairlead.dev/fleet"
)

// Abilities are what an Infrastructure can do beyond the contract. Each is an
// interface of its own, found with As: Watcher, Lister, Sweeper, Adopter, Charts,
// NodeIdentifier and Closer.

// Watcher is an Infrastructure that can tell when machines change.
type Watcher interface {
	// Watch calls changed with the cluster until ctx ends. Events may be lost
	// and repeated: they say when to look, never what is.
	Watch(ctx context.Context, changed func(fleet.Key)) error
}

// Lister is an Infrastructure that can list the clusters of a fleet by their
// tags, for finding orphans.
type Lister interface {
	Clusters(ctx context.Context, id fleet.ID) ([]fleet.Key, error)
}

// Sweeper is an Infrastructure that finds what a fleet left behind.
type Sweeper interface {
	// Orphans lists what carries the tags of fleet id, or was made by one of its
	// clusters for itself, and belongs to none of clusters: their machines and
	// shared infrastructure are no orphans, parts of machines that are gone are.
	// It looks wherever the credentials of clusters reach. Sorted. An error says what
	// could not be looked at; what was found elsewhere is given with it.
	Orphans(ctx context.Context, id fleet.ID, clusters []*fleet.Cluster) ([]fleet.Orphan, error)

	// RemoveOrphan removes o, one of what Orphans gave for the same arguments,
	// after it made sure that o still is an orphan. Nothing there is success.
	RemoveOrphan(ctx context.Context, id fleet.ID, clusters []*fleet.Cluster, o fleet.Orphan) error
}

// A NodeIdentifier is an Infrastructure whose Nodes nobody gives an id: there is no
// cloud controller manager for it.
type NodeIdentifier interface {
	// NodeID is the provider id that a machine's kubelet registers its Node with, in
	// variables of user data.
	NodeID() string
}

// A Closer is an Infrastructure that keeps something open, such as connections.
type Closer interface{ Close() }

// A Decorator is an Infrastructure that stands before another one and has a say in
// how the other one's abilities are used: it limits them, say, or refuses what
// changes something. One that is no Decorator is passed by.
type Decorator interface {
	Infrastructure

	// Ability finds, inside of the decorator, the ability whose interface target
	// points to, and stores it there as it is to be used. It reports false where
	// there is none to be had. It never stores what leads past the decorator:
	// nothing that can be asserted to another interface.
	Ability(target any) bool
}

// As finds the first T in a chain of decorated providers. A Decorator that has no
// Unwrap ends the chain: what it does not hand out is not to be had.
func As[T any](p Infrastructure) (T, bool) {
	for p != nil {
		if t, ok := p.(T); ok {
			return t, true
		}
		if d, ok := p.(Decorator); ok {
			var t T
			if d.Ability(&t) {
				return t, true
			}
		}
		w, ok := p.(interface{ Unwrap() Infrastructure })
		if !ok {
			break
		}
		p = w.Unwrap()
	}
	var zero T
	return zero, false
}

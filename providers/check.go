package providers

import (
	"context"

	"fairlead.dev/fleet"
)

// A Checker is an Infrastructure that checks before the creation of anything whether what Git
// names exists, and whether quota and capacity suffice. Only commands of people call it.
type Checker interface {
	// Check looks up what the machines of clusters need and Observe does not return. The
	// findings are in the order of clusters. It returns an error if nothing could be checked.
	Check(ctx context.Context, clusters []*fleet.Cluster) ([]Finding, error)
}

// A Finding is one thing that clusters need, and whether it exists.
type Finding struct {
	Clusters []fleet.Key
	What     string // its kind, such as "flavor" or "quota"
	Text     string // what was found; empty with Err
	// Err says why clusters cannot be created, and what to do. If its kind is Unknown,
	// Unavailable or Unanswered, it says why this could not be checked.
	Err error
}

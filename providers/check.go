package providers

import (
	"context"

	"fairlead.dev/fleet"
)

// A Checker is an Infrastructure that can say, before anything is made, whether what Git
// names is there and whether there is room for it. It is for people who ask: no pass does.
type Checker interface {
	// Check looks for what the machines of clusters need beyond what Observe sees. The
	// findings come in the order of clusters. An error says that nobody could look at all.
	Check(ctx context.Context, clusters []*fleet.Cluster) ([]Finding, error)
}

// A Finding is one thing that clusters need.
type Finding struct {
	Clusters []fleet.Key
	What     string // in a word or two, as "flavor" or "quota"
	Text     string // what was found; empty with Err
	// Err says why clusters cannot be made, and what to do. Of kind Unknown, Unavailable or
	// Unanswered it says why that is not known.
	Err error
}

// checker stands before the calls of a Checker.
type checker struct {
	in     Checker
	around Around
}

// Check implements Checker.
func (c checker) Check(ctx context.Context, clusters []*fleet.Cluster) (out []Finding, err error) {
	err = c.around(ctx, Use{Method: "Check", Op: "check what clusters need"}, func() error {
		out, err = c.in.Check(ctx, clusters)
		return err
	})
	return out, err
}

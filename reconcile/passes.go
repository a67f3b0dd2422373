package reconcile

import (
	"context"
	"errors"

	"fairlead.dev/fleet"
)

// Passes make passes over clusters. They are safe for concurrent use.
type Passes interface {
	// Pass makes a pass. A result whose Err is ErrPostponed is none: nothing was
	// seen or done, and the pass is to be made later.
	Pass(ctx context.Context, c *fleet.Cluster, known fleet.Memory) Result

	// Forget ends what is kept for a cluster.
	Forget(k fleet.Key)

	// Close ends what passes left under way. It is called after the last one.
	Close()
}

// ErrPostponed is the error of a pass that cannot be made at the moment: enough passes wait
// for an answer of the place that the cluster is in.
var ErrPostponed = errors.New("no pass over the cluster is possible at the moment")

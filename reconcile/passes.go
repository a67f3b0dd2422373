package reconcile

import (
	"context"
	"errors"

	"fairlead.dev/fleet"
)

// Passes make passes over clusters, here or in other processes. They are safe for
// concurrent use.
type Passes interface {
	// Pass makes a pass. A result whose Err is ErrPostponed is none: nothing was
	// seen or done, and the pass is to be made later.
	Pass(ctx context.Context, c *fleet.Cluster, known fleet.Memory) Result

	// Forget ends what is kept for a cluster.
	Forget(k fleet.Key)

	// Attend runs as long as passes are made, until ctx ends. An error ends all passes.
	Attend(ctx context.Context) error

	// Close ends what passes left under way. It is called after the last one.
	Close()
}

// ErrPostponed is the error of a pass that nobody can make at the moment: who works on the
// cluster is changing, or enough passes wait for an answer of the place it is in.
var ErrPostponed = errors.New("no replica works on the cluster at the moment")

// Unattended is for Passes that need no Attend and no Close.
type Unattended struct{}

// Attend implements Passes.
func (Unattended) Attend(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

// Close implements Passes.
func (Unattended) Close() {}

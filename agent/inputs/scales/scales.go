package scales

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/rollout"
)

// A Branch has the numbers of machines. See sources/status.Scales.
type Branch interface {
	// List returns all. Where single files cannot be read the error is of kind Invalid,
	// and the list has all the others.
	List(ctx context.Context) ([]fleet.Scale, error)
	// Decide writes list, and drops gone, as the owner of the fleet.
	Decide(ctx context.Context, of fleet.Owner, list, gone []fleet.Scale) error
}

// A Fleet is what the numbers are about.
type Fleet interface {
	// Now returns what was decided so far.
	Now() rollout.State
	// Decide decides on in, after what was decided so far, and updates the targets of the fleet.
	Decide(in rollout.Input) rollout.Decision
	// Report returns the newest report of a cluster, and whether this agent has looked
	// at it.
	Report(k fleet.Key) (r fleet.Report, passed bool)
}

// Parts are what Scales are put together from. All but Signed are required.
type Parts struct {
	Branch Branch
	Fleet  Fleet
	Signed bool // only what is signed counts
	// Notify is called when Problem changes.
	Notify func()
	Log    *slog.Logger
}

// Scales are the numbers of machines. They are safe for concurrent use.
type Scales struct {
	p    Parts
	turn chan struct{} // holds one while somebody decides, which may take long

	mu     sync.Mutex
	broken string // numbers that cannot be used, and why
}

// New returns the numbers of parts.
func New(p Parts) *Scales { return &Scales{p: p, turn: make(chan struct{}, 1)} }

// begin waits for a turn to decide, and reports whether it came before ctx ended.
func (s *Scales) begin(ctx context.Context) bool {
	select {
	case s.turn <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

func (s *Scales) end() { <-s.turn }

// Read returns the numbers before the first pass. The first Poll tells what
// does not count.
func (s *Scales) Read(ctx context.Context) (rollout.Sizes, error) {
	list, err := s.p.Branch.List(ctx)
	if fleet.KindOf(err) == fleet.Invalid {
		err = nil
	}
	return rollout.Sizes{List: list, Signed: s.p.Signed}, err
}

// Poll takes in what the branch says now: people may have a say there, and what
// concerns no pool any more goes.
func (s *Scales) Poll(ctx context.Context, owner fleet.Owner) {
	if !s.begin(ctx) {
		return
	}
	defer s.end()
	list, err := s.p.Branch.List(ctx)
	if ctx.Err() != nil {
		return
	}
	if err != nil && fleet.KindOf(err) != fleet.Invalid {
		s.complain(err)
		return
	}
	d := s.p.Fleet.Decide(rollout.Input{Sizes: &rollout.Sizes{List: list, Signed: s.p.Signed}})
	for _, doubt := range d.Ignored {
		err = errors.Join(err, errors.New(doubt))
	}
	s.complain(err)
	if len(d.Sign)+len(d.Drop) > 0 {
		if err := s.write(ctx, owner, d.Sign, d.Drop); err != nil && ctx.Err() == nil {
			s.p.Log.Warn("cannot store scales, retrying", "error", err)
		}
	}
}

// First writes down the numbers of machines that a pass found of c's pools of which none
// was decided yet.
func (s *Scales) First(ctx context.Context, owner fleet.Owner, c *fleet.Cluster, report fleet.Report) {
	scaled := slices.ContainsFunc(c.Workers, func(p fleet.Pool) bool { return p.Scaling != nil })
	if report.Phase == "" || c.Delete || !scaled || !s.begin(ctx) {
		return
	}
	defer s.end()
	found := s.p.Fleet.Now().InitialSizes(c, report)
	if len(found) == 0 {
		return
	}
	if err := s.write(ctx, owner, found, nil); err != nil && ctx.Err() == nil {
		s.p.Log.Warn("cannot store scales, retrying with the next reconciliation", "cluster", c.Key, "error", err)
	}
}

// Scalable returns cluster k as the last pass saw it. The error is of kind NotFound
// where the fleet has no such cluster, and Unavailable where nothing is known of it yet.
func Scalable(f Fleet, k fleet.Key) (fleet.Scalable, error) {
	report, passed := f.Report(k)
	return f.Now().Scalable(k, report, passed)
}

// Scale has change decide on a pool, given the present cluster, and records the number.
// If change returns the number that is recorded already, nothing is written.
func (s *Scales) Scale(ctx context.Context, owner fleet.Owner, k fleet.Key, change func(fleet.Scalable) (fleet.Scale, error)) error {
	if !s.begin(ctx) {
		return fleet.Errorf(fleet.Unavailable, "scale cluster "+k.String(), "another decision is being written: %w", ctx.Err())
	}
	defer s.end()
	now, err := Scalable(s.p.Fleet, k)
	if err != nil {
		return err
	}
	n, err := change(now)
	if err != nil {
		return err
	}
	return s.write(ctx, owner, []fleet.Scale{n}, nil)
}

// write writes list to the branch, drops gone from it, and updates the targets of the fleet. It
// is the caller's turn.
func (s *Scales) write(ctx context.Context, owner fleet.Owner, list, gone []fleet.Scale) error {
	if s.p.Signed {
		list = s.p.Fleet.Now().Dated(list, time.Now())
	}
	if err := s.p.Branch.Decide(ctx, owner, list, gone); err != nil {
		return err
	}
	s.p.Fleet.Decide(rollout.Input{Written: &rollout.Written{Sizes: list, Dropped: gone}})
	for _, n := range list {
		s.p.Log.Info("scale stored", "cluster", n.Cluster, "pool", n.Pool, "replicas", n.Replicas, "reason", n.Reason)
	}
	return nil
}

// Problem reports numbers that cannot be used; false: there are none.
func (s *Scales) Problem() (fleet.Problem, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return fleet.Problem{
		Message: "numbers of machines on the status branch: " + s.broken, Hint: "decide again with fairlead scale, with --signing-key where agents have --request-keys, or repair the file",
	}, s.broken != ""
}

// complain notes numbers that cannot be read, or that no trusted key signed.
func (s *Scales) complain(err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	s.mu.Lock()
	changed := s.broken != text
	s.broken = text
	s.mu.Unlock()
	if !changed {
		return
	}
	if err != nil {
		s.p.Log.Warn("cannot use scales of the status branch", "error", err)
	}
	s.p.Notify()
}

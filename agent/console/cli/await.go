package cli

import (
	"context"
	"fmt"
	"time"

	"fairlead.dev/agent/console/statusview"
	"fairlead.dev/sources"
	"fairlead.dev/sources/status"
)

// awaitTick is the time between two reads of the status.
const awaitTick = 500 * time.Millisecond

// outcomeError returns the error for a wait that ended with outcome v.
func outcomeError(v statusview.Outcome, wait time.Duration) error {
	switch {
	case v.Refused != "":
		return &waitError{exitRefused, v.Refused}
	case v.Lacks != "":
		return &waitError{exitLate, fmt.Sprintf("not everything is as Git says after %s: %s", wait, v.Lacks)}
	}
	return nil
}

// A waitError says why a wait failed.
type waitError struct {
	code int
	why  string
}

// Error implements error.
func (e *waitError) Error() string { return e.why }

// await reads the status until every cluster is as the source says, until that cannot
// happen any more, or until wait is over. With a zero wait it reads the status once. The
// source and the branch stay open throughout.
func (p selection) await(ctx context.Context, branch string, wait time.Duration) (s status.Status, v statusview.Outcome, err error) {
	b, err := p.settings.OpenBranch(branch)
	if err != nil {
		return s, v, err
	}
	if wait == 0 {
		s, err = p.statusOn(ctx, b)
		return s, v, err
	}
	source, err := p.settings.OpenSource()
	if err != nil {
		return s, v, err
	}
	deadline := time.NewTimer(wait)
	defer deadline.Stop()
	tick := time.NewTicker(awaitTick)
	defer tick.Stop()
	for {
		rev, err := source.Resolve(ctx) // read before the status: a push between the two reads is then waited for
		if err != nil {
			return s, v, err
		}
		if s, err = p.statusOn(ctx, b); err != nil {
			return s, v, err
		}
		v = statusview.Judge(rev, s, p.scope)
		if v.Lacks == "" || v.Refused != "" {
			return s, v, nil
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			return s, v, nil
		case <-ctx.Done():
			return s, v, ctx.Err()
		}
	}
}

// statusOn returns what the status branch b says of the selection.
func (p selection) statusOn(ctx context.Context, b sources.Branch) (status.Status, error) {
	verify, err := p.settings.Verifier()
	if err != nil {
		return status.Status{}, err
	}
	_, tree, err := b.Read(ctx)
	if err != nil {
		return status.Status{}, err
	}
	reading := status.Reading{Verify: verify, Of: p.clusters}
	s, err := reading.Read(tree)
	return p.of(s), err
}

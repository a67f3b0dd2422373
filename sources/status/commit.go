package status

import (
	"context"
	"io/fs"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
)

// repeat calls try, with a growing wait between two calls, as long as it returns again. It calls
// try most times, if most is not 0, and ends with ctx. It returns the last error of try.
func repeat(ctx context.Context, random func(time.Duration) time.Duration, most int, try func() (again bool, err error)) error {
	wait := backoff{random: random}
	for n := 1; ; n++ {
		again, err := try()
		if !again || n == most || wait.sleep(ctx) != nil {
			return err
		}
	}
}

// isRaced reports whether err says of a push that another writer came first, or that no answer
// came. The next read shows what is there.
func isRaced(err error) bool {
	k := fleet.KindOf(err)
	return k == fleet.Conflict || k == fleet.Unanswered
}

// commitHere is commit that changes nothing on a branch whose status was moved to another one: no agent
// would read it there.
func commitHere(ctx context.Context, branch sources.Branch, op string, decide func(t fs.FS, mayHave bool) (sources.Commit, error)) error {
	return commit(ctx, branch, op, func(t fs.FS, mayHave bool) (sources.Commit, error) {
		if err := refuseMoved(t, op); err != nil {
			return sources.Commit{}, err
		}
		return decide(t, mayHave)
	})
}

// commit is commitWithin without a bound.
func commit(ctx context.Context, branch sources.Branch, op string, decide func(t fs.FS, mayHave bool) (sources.Commit, error)) error {
	return commitWithin(ctx, branch, op, 0, decide)
}

// commitWithin reads the branch, has decide say what to commit, and commits that, until there is
// an answer, and most times, if most is not 0. decide learns whether an earlier push of the same may have landed; a commit
// without edits is none.
func commitWithin(ctx context.Context, branch sources.Branch, op string, most int, decide func(t fs.FS, mayHave bool) (sources.Commit, error)) error {
	mayHave, raced := false, false
	err := repeat(ctx, nil, most, func() (again bool, err error) {
		raced = false
		head, t, err := branch.Read(ctx)
		if err != nil {
			return false, err
		}
		c, err := decide(t, mayHave)
		if err != nil || len(c.Edits) == 0 {
			return false, err
		}
		_, err = branch.Commit(ctx, head, c)
		raced, mayHave = isRaced(err), mayHave || fleet.KindOf(err) == fleet.Unanswered
		return raced, err
	})
	if raced { // there was no answer in time
		return fleet.Errorf(fleet.KindOf(err), op, "%w", err)
	}
	return err
}

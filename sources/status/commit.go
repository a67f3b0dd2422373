package status

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
)

// repeatFor is how long after the first push another one is begun. A poll, a pass, a hand-over or a person waits for
// the answer, and each of them tries again.
const repeatFor = 30 * time.Second

// repeat calls try, with a growing wait between two calls, as long as it returns again, repeatFor has not passed and
// ctx goes on. It returns the last error of try.
func repeat(ctx context.Context, random func(time.Duration) time.Duration, try func() (again bool, err error)) error {
	wait, began := backoff{random: random}, time.Now()
	for {
		again, err := try()
		if !again || time.Since(began) >= repeatFor || wait.sleep(ctx) != nil {
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

// A PushError is the error of a push of what was decided by the branch as it was read.
type PushError struct{ err error }

func (e *PushError) Error() string { return e.err.Error() }

func (e *PushError) Unwrap() error { return e.err }

// isPush reports whether err is of a push, which may succeed another time, or may have succeeded. An error of
// rights is another matter.
func isPush(err error) bool {
	_, ok := errors.AsType[*PushError](err)
	return ok && fleet.KindOf(err) != fleet.Unauthorized
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

// commit reads the branch, has decide say what to commit, and commits that, until there is
// an answer: see repeat. decide learns whether an earlier push of the same may have landed; a commit
// without edits is none. The error of a push is a [*PushError].
func commit(ctx context.Context, branch sources.Branch, op string, decide func(t fs.FS, mayHave bool) (sources.Commit, error)) error {
	mayHave, raced := false, false
	err := repeat(ctx, nil, func() (again bool, err error) {
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
		if err == nil {
			return false, nil
		}
		raced, mayHave = isRaced(err), mayHave || fleet.KindOf(err) == fleet.Unanswered
		return raced, &PushError{err}
	})
	if raced && mayHave { // the last push may have landed
		if _, t, unread := branch.Read(ctx); unread == nil {
			if c, refused := decide(t, mayHave); refused == nil && has(t, c.Edits) {
				return nil
			}
		}
	}
	if raced { // there was no answer in time
		return fleet.Errorf(fleet.KindOf(err), op, "%w", err)
	}
	return err
}

// has reports whether t is as edits make it.
func has(t fs.FS, edits map[string][]byte) bool {
	for p, content := range edits {
		old, err := fs.ReadFile(t, p)
		if (err == nil) != (content != nil) || string(old) != string(content) {
			return false
		}
	}
	return true
}

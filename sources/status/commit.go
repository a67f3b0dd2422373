package status

import (
	"context"
	"io/fs"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
)

// commit reads the branch, has decide say what to commit, and commits that, until there is
// an answer. decide learns whether an earlier push of the same may have landed; a commit
// without edits is none.
func commit(ctx context.Context, branch sources.Branch, op string, decide func(t fs.FS, mayHave bool) (sources.Commit, error)) error {
	mayHave := false
	for wait := (backoff{}); ; {
		head, t, err := branch.Read(ctx)
		if err != nil {
			return err
		}
		c, err := decide(t, mayHave)
		if err != nil || len(c.Edits) == 0 {
			return err
		}
		_, err = branch.Commit(ctx, head, c)
		switch fleet.KindOf(err) {
		case fleet.Conflict:
		case fleet.Unanswered:
			mayHave = true
		default:
			return err
		}
		if wait.sleep(ctx) != nil {
			return fleet.Errorf(fleet.KindOf(err), op, "%w", err)
		}
	}
}

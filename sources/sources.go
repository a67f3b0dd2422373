// Package sources is where fleet definitions come from and where status goes.
// It holds the contracts; the folders below it keep them.
package sources

import (
	"context"
	"errors"
	"io/fs"

	"fairlead.dev/fleet"
)

// A Source follows one fleet repository. It is safe for concurrent use.
type Source interface {
	// Resolve returns the newest revision without fetching its content. It is
	// cheap: it is called on every poll.
	Resolve(ctx context.Context) (fleet.Revision, error)

	// Fetch returns the content of rev, read-only. An error of kind Invalid says
	// that its content is refused (a budget, a signature), whoever asks and however
	// often. Any other may be gone with the next try, NotFound too: a server may not
	// have rev yet that another one has.
	Fetch(ctx context.Context, rev fleet.Revision) (Tree, error)
}

// ErrUntrusted is in the error of a Fetch, and of what a Lineage says, where no
// trusted key vouches for a revision. Another key may.
var ErrUntrusted = errors.New("no trusted key vouches for it")

// A Lineage is a Source that knows whose signatures count, and what came after what.
// Where no signatures are asked for all answers are nil. Errors are as Fetch's.
type Lineage interface {
	// Signed reports whether signatures are asked for.
	Signed() bool

	// Continues says why to must not be followed after from: it does not continue it,
	// or a commit between them is not signed.
	Continues(ctx context.Context, from, to fleet.Revision) error

	// Includes says why rev is no part of what led to head, which is followed.
	Includes(ctx context.Context, head, rev fleet.Revision) error
}

// A Notifier is a Source that knows when its content may have changed.
type Notifier interface {
	// Notify calls changed, debounced, until ctx ends.
	Notify(ctx context.Context, changed func()) error
}

// A Tree is the content of one revision. Paths are those of io/fs. It is
// read-only and safe for concurrent use; symbolic links never leave it.
type Tree interface {
	fs.FS

	// Digest returns an identity of the content of the file or folder at path:
	// equal digests mean equal content. It reads no content. Errors are those
	// of fs.Stat.
	Digest(path string) (string, error)
}

// Judged is a Tree that keeps back what cannot be had of a folder, rather than being
// refused as a whole.
type Judged interface {
	// Bad returns some of what is kept back of the folder dir itself, sorted; nothing
	// where all is given out, and where dir is no folder.
	Bad(dir string) []BadEntry
}

// A BadEntry is a file or folder that a Tree does not give out.
type BadEntry struct {
	Folder string // that it is in
	Name   string // as it is, whatever is in it
	Dir    bool   // it is a folder
	Err    error
}

// A Branch is a branch that Fairlead writes to. Its commits are its only state,
// and a commit lands only on the head it was made from: Git is the lock.
type Branch interface {
	// Read returns the head of the branch and its content. A branch that does
	// not exist yet is a zero revision and an empty tree, not an error.
	Read(ctx context.Context) (fleet.Revision, Tree, error)

	// Commit lands c on base and returns the new head. If the branch is not at
	// base any more the error is of kind Conflict and nothing happened. An edit
	// that changes nothing makes no commit and returns base. An error of kind
	// Unanswered may have landed: Read tells.
	Commit(ctx context.Context, base fleet.Revision, c Commit) (fleet.Revision, error)
}

// A Commit is a change of a branch.
type Commit struct {
	Edits   map[string][]byte // path to new content; nil deletes the file
	Message string
	// Trailers are "Key: value" lines at the end of the message, in order.
	Trailers []string
}

// A StatusWriter publishes reports. It coalesces: many reports become one commit.
type StatusWriter interface {
	// Put takes the newest report of a cluster. It does not block on the network.
	Put(r fleet.Report)

	// Forget drops the status of a cluster that is deleted and gone from Git.
	Forget(k fleet.Key)

	// PutFleet takes the newest state of the fleet as a whole.
	PutFleet(s FleetStatus)

	// Flush writes what is waiting and returns the head of the status branch.
	Flush(ctx context.Context) (fleet.Revision, error)

	// Run writes until ctx ends, then flushes once more.
	Run(ctx context.Context) error
}

// FleetStatus is what is told of the fleet as a whole.
type FleetStatus struct {
	Fleet    fleet.ID
	Revision fleet.Revision // newest revision seen
	// Applied is the newest revision that clusters are held to: another one than
	// Revision where that was refused as a whole, which Broken tells, or cannot be
	// got yet. Zero: an agent wrote it that does not say.
	Applied  fleet.Revision
	Broken   bool        // Problems are of Revision itself: not all of it is applied
	Behind   []fleet.Key // not yet as Applied says, sorted
	Problems []fleet.Problem
	Orphans  []fleet.Key // have status or infrastructure, vanished from Git, not deleted
	Home     HomeStatus
	Sources  []fleet.PinnedSource // that Applied pins, sorted by name
}

// HomeStatus says where the agent of a fleet is to live, and how far it is on
// its way there.
type HomeStatus struct {
	Cluster fleet.Key // that fleet.yaml names; zero: none
	Step    string    // of the move there that is not done; empty: the agent is there, or does not move
	Message string    // what that step waits for, or why there is no move
	// Left is the agent that the fleet comes from, in a cluster whose secrets and
	// agent are to be removed; empty: none.
	Left string
}

// An Arbiter decides which agent may act on a fleet.
type Arbiter interface {
	// Owner returns the owner, or the zero Owner where there is none yet.
	Owner(ctx context.Context) (fleet.Owner, error)

	// Claim makes self, which is in place, the owner of a fleet that has none, and
	// notes the place where an owner called self has not said it yet. It returns
	// the owner then: of two that race, both get the same answer. Self owns the
	// fleet where that is its name and its place.
	Claim(ctx context.Context, self, place string) (fleet.Owner, error)

	// HandOver replaces from by to, which is in place, with the next epoch, or
	// fails with kind Conflict where from is not the owner any more. It asks
	// nobody: it is for an owner that is gone. An empty place is left to be noted
	// by Claim.
	HandOver(ctx context.Context, from fleet.Owner, to, place string) (fleet.Owner, error)

	// Succession returns the owner, and to whom the fleet is on its way.
	Succession(ctx context.Context) (fleet.Owner, fleet.Succession, error)

	// Succeed replaces the succession from by to, the zero Succession for none,
	// or fails with kind Conflict where of is not the owner or from not the
	// succession any more.
	Succeed(ctx context.Context, of fleet.Owner, from, to fleet.Succession) error

	// Yield makes s.To the owner with the next epoch, for the owner of, or fails
	// with kind Conflict where s, at StepReady, is not the succession any more. It
	// is the one atomic step of a pivot.
	Yield(ctx context.Context, of fleet.Owner, s fleet.Succession) (fleet.Owner, error)
}

// Package sources has the contracts of what fleet definitions come from and status goes to.
// The folders below implement them.
package sources

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"fairlead.dev/fleet"
)

// A Source follows one fleet repository. It is safe for concurrent use.
type Source interface {
	// Resolve returns the newest revision without its content. It is cheap, since every
	// poll calls it.
	Resolve(ctx context.Context) (fleet.Revision, error)

	// Fetch returns the content of rev, read-only. An error of kind Invalid refuses the
	// content permanently, because of a budget or a signature. Any other error may pass,
	// NotFound too: one server may lack a revision that another one has.
	Fetch(ctx context.Context, rev fleet.Revision) (Tree, error)
}

// ErrUntrusted is in the error of a Fetch or a Lineage where no trusted key vouches for a
// revision. Another key may.
var ErrUntrusted = errors.New("no trusted key vouches for it")

// A Lineage is a Source that verifies signatures, and knows which revision continues which.
// Where no signatures are required all errors are nil. Errors are as Fetch's.
type Lineage interface {
	// Signed reports whether signatures are required.
	Signed() bool

	// Continues returns why to must not be followed after from: it does not continue from,
	// or a commit between them is not signed.
	Continues(ctx context.Context, from, to fleet.Revision) error

	// Includes returns why rev is not in the history of head, which is followed.
	Includes(ctx context.Context, head, rev fleet.Revision) error
}

// A Starter is a Lineage that refuses some revisions as the first one that is followed.
type Starter interface {
	// Starts returns why rev must not be followed before any other one.
	Starts(ctx context.Context, rev fleet.Revision) error
}

// A Voucher is a Lineage that remembers how the revisions were signed that it fetched.
type Voucher interface {
	// Vouched returns until when a trusted key vouches for rev; zero: permanently, as far as the
	// key says. The error wraps ErrUntrusted if no trusted key does so now, as after one was
	// withdrawn. It asks no server, and knows nothing against a revision that it does not
	// remember.
	Vouched(rev fleet.Revision) (until time.Time, err error)
}

// A Dated is a Lineage that orders revisions by the times at which they were made. Its server may
// drop a revision that was followed, and with it its time.
type Dated interface {
	// Made returns when rev was made, if rev was fetched or remembered; zero: not known. It
	// asks no server.
	Made(rev fleet.Revision) time.Time

	// Remember takes in when rev was made, which counts once the server does not have rev any
	// more. A zero at says nothing.
	Remember(rev fleet.Revision, at time.Time)
}

// A Chooser is a Source that follows one branch or tag of several.
type Chooser interface {
	// Follows reports whether the source may follow ref, which is the Ref of a revision. It asks no
	// server.
	Follows(ref string) bool
}

// An Authored is a Source that knows who wrote a revision.
type Authored interface {
	// Authors returns who wrote what to has and from does not, each as fleet.Person has it,
	// sorted: authors, co-authors, committers, and the people whose trusted keys signed. Who
	// made a merge wrote a part of it if it has more than it joins. Errors are as Fetch's.
	Authors(ctx context.Context, from, to fleet.Revision) ([]string, error)
}

// A Notifier is a Source that notices when its content may have changed.
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

// Judged is a Tree that keeps back bad entries of a folder, instead of being refused as a
// whole.
type Judged interface {
	// Bad returns some of the bad entries in the folder dir itself, sorted. It returns none
	// where all entries are good, or dir is no folder.
	Bad(dir string) []BadEntry
}

// A BadEntry is a file or folder that a Tree keeps back.
type BadEntry struct {
	Folder string // the folder that has it
	Name   string // as in the repository, unchecked
	Dir    bool   // it is a folder
	Err    error
}

// A Branch is a branch that Fairlead writes to. Its commits are its only state. A commit
// succeeds only on the head that it was made from: Git is the lock.
type Branch interface {
	// Read returns the head of the branch and its content. A branch that does
	// not exist yet is a zero revision and an empty tree, not an error.
	Read(ctx context.Context) (fleet.Revision, Tree, error)

	// Commit adds c to base and returns the new head. If the branch is not at base any
	// more, the error is of kind Conflict and nothing happened. Edits that change nothing
	// make no commit, and base is returned. After an error of kind Unanswered, Read shows
	// whether the commit succeeded.
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
	// Put accepts the newest report of a cluster. It does not block on the network.
	Put(r fleet.Report)

	// Forget removes the status of a cluster that is deleted and not in Git.
	Forget(k fleet.Key)

	// PutFleet accepts the newest state of the fleet as a whole.
	PutFleet(s FleetStatus)

	// Flush writes what waits and returns the head of the status branch.
	Flush(ctx context.Context) (fleet.Revision, error)

	// Run writes until ctx ends, then flushes once more.
	Run(ctx context.Context) error
}

// FleetStatus is the state of the fleet as a whole.
type FleetStatus struct {
	Fleet    fleet.ID
	Revision fleet.Revision // newest revision seen
	// Applied is the newest revision that clusters work towards. It differs from Revision
	// where that was refused as a whole, which Broken says, or cannot be fetched yet. Zero:
	// the agent that wrote the status does not know the field.
	Applied fleet.Revision
	// AppliedMade is when Applied was made, if its source is a Dated; zero: not known.
	AppliedMade time.Time

	Broken   bool        // Problems belong to Revision, which is not applied completely
	Behind   []fleet.Key // clusters that are not yet as in Applied, sorted
	Problems []fleet.Problem
	Orphans  []fleet.Key // clusters with status or infrastructure that were removed from Git and are not deleted, sorted
	Home     HomeStatus
	Rollout  fleet.RolloutStatus  // progress of changes through its clusters
	Sources  []fleet.PinnedSource // sources that Applied pins, sorted by name
}

// HomeStatus says where the agent of a fleet is to live, and how far it is on its way.
type HomeStatus struct {
	Cluster fleet.Key // the home in fleet.yaml; zero: none
	Step    string    // the current step of the move; empty: the agent is there, or does not move
	Message string    // what the step waits for, or why there is no move
	// Left is the agent, in a cluster, that the fleet comes from, and whose secrets and
	// agent are to be removed; empty: none.
	Left string
	// Undo lists the homes of moves that have to be taken back, separated by spaces:
	// "namespace/name", followed by "@namespace/release" if the agent is not where it is by
	// default.
	Undo string
}

// An Arbiter decides which agent may act on a fleet.
type Arbiter interface {
	// Owner returns the owner, or the zero Owner where there is none yet.
	Owner(ctx context.Context) (fleet.Owner, error)

	// Claim makes self, at place, the owner of a fleet without one. It adds place to an
	// owner called self that has none. It returns the owner afterwards: two agents that
	// race get the same answer. Self owns the fleet where both name and place are its own.
	Claim(ctx context.Context, self, place string) (fleet.Owner, error)

	// HandOver replaces the owner from by to, at place, with the next epoch. It fails with
	// kind Conflict where from is not the owner any more. It asks no agent, for an owner that
	// is gone. An empty place is added later, by Claim.
	HandOver(ctx context.Context, from fleet.Owner, to, place string) (fleet.Owner, error)

	// Succession returns the owner, and the succession under way.
	Succession(ctx context.Context) (fleet.Owner, fleet.Succession, error)

	// Succeed replaces the succession from by to; the zero Succession stands for none. It
	// fails with kind Conflict where of is not the owner, or from not the succession any
	// more.
	Succeed(ctx context.Context, of fleet.Owner, from, to fleet.Succession) error

	// Yield makes s.To the owner with the next epoch, for the owner of. It fails with kind
	// Conflict where s, at StepReady, is not the succession any more. It is the one atomic
	// step of a pivot.
	Yield(ctx context.Context, of fleet.Owner, s fleet.Succession) (fleet.Owner, error)
}

// Package forge speaks to what a Git server has beside Git: pull requests, their comments
// and the statuses of commits.
//
//	f, err := forge.New(forge.Options{Kind: "gitea", Repository: "https://git.example.com/team/fleet.git", API: open})
//	open, err := f.Open(ctx)
//
// What it guarantees:
//
//   - A credential is shown to the API of the forge alone, and no redirect is followed.
//   - Answers are bounded, and lists are read to their end or are an error.
//   - Errors have a kind, and the forge's own words. An error that is a *Limited names the time
//     until which the forge wants no requests.
//   - What somebody else wrote is only passed on: no comment is an order.
//
// The kinds differ in what they call things: a pull request is GitLab's merge request.
package forge

import "context"

// A Forge is one repository on a forge. It is safe for concurrent use. An error of kind
// Unanswered says that something may have been written.
type Forge interface {
	// Self returns who the credential belongs to, as Comment.Author names it.
	Self(ctx context.Context) (string, error)
	// Open returns all open pull requests, sorted by number.
	Open(ctx context.Context) ([]PullRequest, error)
	// PullRequest returns one, open or not. One that does not exist is of kind NotFound.
	PullRequest(ctx context.Context, number int) (PullRequest, error)
	// SetStatus sets the status of a commit, named in hex. The newest of one name counts, so it
	// may be repeated.
	SetStatus(ctx context.Context, commit string, s Status) error
	// Comments returns all comments of a pull request, the oldest first.
	Comments(ctx context.Context, number int) ([]Comment, error)
	// Comment returns one comment of a pull request. One that does not exist is of kind NotFound.
	Comment(ctx context.Context, number int, id string) (Comment, error)
	// Write adds a comment, and returns its id.
	Write(ctx context.Context, number int, text string) (id string, err error)
	// Edit replaces the text of a comment.
	Edit(ctx context.Context, number int, id, text string) error
	// Reviews returns the last word of each who reviewed p, sorted by author. Somebody who only
	// commented, took it back, or whose review was dismissed, has none.
	Reviews(ctx context.Context, p PullRequest) ([]Review, error)
	// Authors returns the accounts that wrote commits of p, as Comment.Author has them, sorted. A
	// commit whose account the forge does not know has none.
	Authors(ctx context.Context, p PullRequest) ([]string, error)
	// MayWrite reports whether the credential may write comments and statuses. If the forge does
	// not tell beforehand, the error is of kind Unknown.
	MayWrite(ctx context.Context) (bool, error)
}

// A State is how far a pull request is.
type State string

// The states of a pull request.
const (
	Open   State = "open"
	Merged State = "merged"
	Closed State = "closed" // without a merge
)

// A PullRequest is an open pull request. Everything except Number is untrusted: its author wrote
// it.
type PullRequest struct {
	Number int
	State  State
	Author string // who opened it, as Comment.Author has it; empty: it is not known
	Head   string // the commit that is proposed, in hex
	Base   string // the branch that it is to be merged into, short
	Fork   bool   // the head is not a branch of this repository: anyone with read access may have proposed it
	Result string // of a merged one: the commit that the base was at then, in hex; empty: not told
}

// A Verdict is what a status says.
type Verdict string

// The verdicts.
const (
	Pending Verdict = "pending"
	Success Verdict = "success"
	Failure Verdict = "failure"
	Error   Verdict = "error" // not known: what was asked could not be found out
)

// A Status is the word of one program on a commit.
type Status struct {
	Name    string // "fairlead/plan"
	Verdict Verdict
	Text    string // not more than MaxText characters
}

// MaxText is how many characters of a status all forges show.
const MaxText = 140

// A Comment is one on a pull request.
type Comment struct {
	ID     string
	Author string // who wrote it, as Self names it
	Text   string
}

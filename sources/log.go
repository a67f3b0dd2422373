package sources

import (
	"context"
	"time"

	"fairlead.dev/fleet"
)

// A Logged is a Branch whose past can be asked for.
type Logged interface {
	// Log returns the newest commits up to head, the newest first, at most n. It ends
	// earlier at a commit with several parents, or with none.
	Log(ctx context.Context, head fleet.Revision, n int) ([]Entry, error)

	// WriterOf returns the commit that gave the file at path the content that it has in head.
	// The error is of kind NotFound where none of the newest commits did.
	WriterOf(ctx context.Context, head fleet.Revision, path string) (Entry, error)
}

// An Entry is one commit of a Log.
type Entry struct {
	Commit  string // its hash, in hex
	Message string // subject, body and trailers
	By      string // the author, "Name <mail>"
	At      time.Time
}

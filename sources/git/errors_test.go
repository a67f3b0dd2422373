package git

import (
	"io"
	"syscall"
	"testing"

	"fairlead.dev/fleet"
)

// Answers of servers to a push, in their own words.
func TestRejections(t *testing.T) {
	for status, want := range map[string]fleet.ErrorKind{
		"non-fast-forward":             fleet.Conflict,
		"fetch first":                  fleet.Conflict,
		"reference already exists":     fleet.Conflict,
		"incorrect old value provided": fleet.Conflict,
		"failed to update ref":         fleet.Conflict,
		"cannot lock ref 'refs/heads/x': is at 1 but expected 2": fleet.Conflict,
		"remote ref refs/heads/x required to be 1 but is 2":      fleet.Conflict,
		"stale info":                                  fleet.Conflict,
		"pre-receive hook declined":                   fleet.Unauthorized,
		"protected branch hook declined":              fleet.Unauthorized,
		"prohibited by Gerrit: not permitted: update": fleet.Unauthorized,
		"deny updating a hidden ref":                  fleet.Unauthorized,
		"unpack failed: No space left on device":      fleet.Exhausted,
		"branch is currently checked out":             fleet.Unknown,
	} {
		err := classifyPush("commit", &rejection{status: status})
		if got := fleet.KindOf(err); got != want {
			t.Errorf("%q is %s, want %s", status, got, want)
		}
	}
}

// A server that says why and closes the connection is believed, however the closed
// connection was noticed.
func TestLastWords(t *testing.T) {
	for name, tc := range map[string]struct {
		said string
		err  error
		want fleet.ErrorKind
	}{
		"ToldWhileWriting": {said: "fatal: not our ref 1", err: syscall.EPIPE, want: fleet.NotFound},
		"ToldWhileReading": {said: "fatal: not our ref 1", err: io.ErrUnexpectedEOF, want: fleet.NotFound},
		"ToldAtTheEnd":     {said: "fatal: not our ref 1", err: io.EOF, want: fleet.NotFound},
		"Mumbled":          {said: "fatal: hmm", err: syscall.EPIPE, want: fleet.Unavailable},
	} {
		t.Run(name, func(t *testing.T) {
			err := classify(t.Context(), "fetch", &spokenError{said: tc.said, err: tc.err})
			if got := fleet.KindOf(err); got != tc.want {
				t.Errorf("%v is %s, want %s", err, got, tc.want)
			}
		})
	}
}

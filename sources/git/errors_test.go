package git

import (
	"io"
	"syscall"
	"testing"

	"fairlead.dev/fleet"
)

// What a forge does not allow is told from what may pass: it is tried again in minutes, not
// seconds, and a history that must not be replaced is left alone for a day.
func TestRejections(t *testing.T) {
	for _, tc := range []struct {
		status, said string
		want         fleet.ErrorKind
	}{
		{"pre-receive hook declined", "", fleet.Unauthorized},
		{"protected branch hook declined", "", fleet.Unauthorized},
		{"non-fast-forward", "", fleet.Unauthorized},
		{"prohibited by Gerrit: not permitted: update", "", fleet.Unauthorized},
		{"deny updating a hidden ref", "", fleet.Unauthorized},
		{"branch is currently checked out", "", fleet.Unauthorized},
		{"push declined due to repository rule violations", "error: GH013: Repository rule violations found for refs/heads/fairlead/status.; - Cannot force-push to this branch", fleet.Unauthorized},
		{"push declined due to repository rule violations", "error: GH013: Repository rule violations found for refs/heads/fairlead/status.; - Changes must be made through a pull request.", fleet.Unauthorized},
		{"TF402455: Pushes to this branch are not permitted; you must use a pull request to update this branch.", "", fleet.Unauthorized},
		{"TF401027: You need the Git 'GenericContribute' permission to perform this action.", "", fleet.Unauthorized},
		{"commit 5b3c7e0: missing Change-Id in message footer", "", fleet.Unauthorized},
		{"invalid committer", "error: fairlead@fairlead.dev is not one of your registered addresses", fleet.Unauthorized},
		{"pre-receive hook declined", "remote: quota exceeded", fleet.Exhausted},
		{"unpack failed: No space left on device", "", fleet.Exhausted},
		{"temporarily unavailable", "", fleet.Unavailable},
	} {
		if got := kindOfRejection(&rejection{status: tc.status, said: tc.said}); got != tc.want {
			t.Errorf("%q (%s) is %s, want %s", tc.status, tc.said, got, tc.want)
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

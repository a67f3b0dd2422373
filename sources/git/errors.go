package git

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/plumbing/format/pktline"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/transport"
	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"fairlead.dev/fleet"
)

// This file alone interprets errors of go-git, of servers and of libraries.

// classify gives an error of anything but a push its kind.
func classify(ctx context.Context, op string, err error) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*fleet.Error](err); ok && e == err { //nolint:errorlint // only the outermost counts
		return &fleet.Error{Kind: e.Kind, Op: e.Op, Err: plain(e.Err)}
	}
	if c := context.Cause(ctx); c != nil {
		kind := fleet.Unavailable
		if errors.Is(c, context.Canceled) {
			kind = fleet.Unknown
		}
		return &fleet.Error{Kind: kind, Op: op, Err: c}
	}
	err = unwrap(err)
	return &fleet.Error{Kind: kindOr(err, kindOfText(err.Error())), Op: op, Err: plain(err)}
}

// plain returns err on one line without control characters.
func plain(err error) error {
	said := err.Error()
	if text := fleet.PlainText(said); text != said {
		return &spokenError{said: text, err: err}
	}
	return err
}

// unwrap removes go-git's wrappers, which hide their cause, and puts a server's message
// before a status code.
func unwrap(err error) error {
	if e, ok := errors.AsType[*plumbing.UnexpectedError](err); ok {
		return unwrap(e.Err)
	}
	if e, ok := errors.AsType[*plumbing.PermanentError](err); ok {
		return unwrap(e.Err)
	}
	if e, ok := errors.AsType[*githttp.Err](err); ok {
		status := fmt.Sprintf("HTTP %d %s", e.StatusCode(), http.StatusText(e.StatusCode()))
		if words := strings.TrimSpace(e.Reason); words != "" {
			status = words + " (" + status + ")"
		}
		return &spokenError{said: status, err: err}
	}
	return err
}

// unexpected removes go-git's wrapper around the status of an answer.
func unexpected(err error) error {
	if e, ok := errors.AsType[*plumbing.UnexpectedError](err); ok {
		return e.Err
	}
	return err
}

// kindOr returns the kind that follows from the types in err, or other.
func kindOr(err error, other fleet.ErrorKind) fleet.ErrorKind {
	if e, ok := errors.AsType[*fleet.Error](err); ok {
		return e.Kind
	}
	for kind, list := range map[fleet.ErrorKind][]error{
		fleet.Invalid:      {errBudget, errMalformed, object.ErrMalformedTree, errSHA256},
		fleet.Exhausted:    {errLong},
		fleet.Unavailable:  {packfile.ErrInvalidDelta, packfile.ErrInflatedSizeMismatch}, // damaged in transit: Git checks pushed objects by their hash
		fleet.Unauthorized: {transport.ErrAuthenticationRequired, transport.ErrAuthorizationFailed, errRedirect},
		fleet.NotFound:     {transport.ErrRepositoryNotFound, transport.ErrEmptyRemoteRepository},
	} {
		for _, e := range list {
			if errors.Is(err, e) {
				return kind
			}
		}
	}
	if is[*pageError](err) {
		return fleet.Unavailable
	}
	if is[*knownhosts.KeyError](err) || is[*knownhosts.RevokedError](err) ||
		is[*tls.CertificateVerificationError](err) || is[x509.UnknownAuthorityError](err) {
		return fleet.Unauthorized
	}
	if e, ok := errors.AsType[*githttp.Err](err); ok {
		return kindOfStatus(e.StatusCode())
	}
	if is[*spokenError](err) && other != fleet.Unknown {
		return other // the server said why it closed the connection
	}
	if is[net.Error](err) || is[*ssh.ExitMissingError](err) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) && !is[*spokenError](err) {
		return fleet.Unavailable
	}
	return other
}

func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

func kindOfStatus(code int) fleet.ErrorKind {
	switch {
	case code == http.StatusTooManyRequests || code == http.StatusRequestTimeout || code >= 500:
		return fleet.Unavailable
	case code == http.StatusConflict:
		return fleet.Conflict
	}
	return fleet.Unknown
}

// Messages of servers, in lower case, and their kinds. Earlier rows win.
var said = []struct { //nolint:gochecknoglobals // a constant that Go cannot write as one
	kind  fleet.ErrorKind
	words []string
}{
	{fleet.NotFound, []string{
		"not our ref", "unadvertised object", "bad object", "does not appear to be a git repository",
		"repository not found", "repository does not exist", "project you were looking for", "no such repository",
	}},
	{fleet.Exhausted, []string{"quota", "no space left"}},
	{fleet.Unauthorized, []string{
		"unable to authenticate", "permission denied", "access denied", "dubious ownership", "host key", "key is unknown",
		"key mismatch", "protected branch", "hook declined", "not allowed", "read-only", "read only", "prohibited",
		"deny updating", "denied", "insufficient", "forbidden",
	}},
	{fleet.Unavailable, []string{
		"connection refused", "connection reset", "connection closed", "broken pipe", "timed out", "temporarily", "early eof",
	}},
}

// locked has the messages for a ref that somebody else is about to move, of git, go-git,
// Gerrit and JGit. A lock file that was left behind has the same ones.
var locked = []string{ //nolint:gochecknoglobals // a constant that Go cannot write as one
	"failed to update ref", "failed to lock", "cannot lock ref", "lock_failure", "fails to lock",
}

func kindOfText(text string) fleet.ErrorKind {
	text = strings.ToLower(text)
	for _, row := range said {
		for _, w := range row.words {
			if strings.Contains(text, w) {
				return row.kind
			}
		}
	}
	return fleet.Unknown
}

// A rejection is a server's answer that it did not move a ref.
type rejection struct {
	status string
	said   string // messages beside the answer
	unpack bool   // the server could not read the pack
	hint   string // what people can do
}

func (r *rejection) Error() string {
	text := r.status
	if r.said != "" {
		text += ": " + r.said
	}
	if r.hint != "" {
		text += " (" + r.hint + ")"
	}
	return text
}

// classifyPush gives the error of a push its kind. Only an answer of the server proves that
// nothing happened; after any other error the push may have succeeded.
func classifyPush(op string, err error) error {
	if err == nil {
		return nil
	}
	err = unwrap(err)
	kind := fleet.Unanswered
	if k := kindOr(err, fleet.Unknown); k == fleet.Unauthorized || k == fleet.NotFound || k == fleet.Conflict {
		kind = k // the request was refused before the push
	} else if s, ok := errors.AsType[*spokenError](err); ok && kindOfText(s.said) == fleet.Unauthorized {
		kind = fleet.Unauthorized
	} else if e, ok := errors.AsType[*pktline.ErrorLine](err); ok {
		kind = kindOfText(e.Text)
	}
	return &fleet.Error{Kind: kind, Op: op, Err: plain(err)}
}

// kindOfRejection returns the kind of the rejection of a push whose ref is where it was: the
// server does not allow the push, unless it says that it cannot do it now. If the ref moved,
// another push came first, whatever the server says.
func kindOfRejection(r *rejection) fleet.ErrorKind {
	switch kind := kindOfText(r.Error()); {
	case kind == fleet.Exhausted, kind == fleet.Unavailable, r.unpack:
		return kind
	}
	return fleet.Unauthorized
}

// isLocked reports whether the server says that the ref is locked.
func isLocked(r *rejection) bool {
	text := strings.ToLower(r.Error())
	return slices.ContainsFunc(locked, func(words string) bool { return strings.Contains(text, words) })
}

// cause returns the cause of a *fleet.Error, so that wrapping it again does not repeat
// "cannot".
func cause(err error) error {
	if e, ok := err.(*fleet.Error); ok { //nolint:errorlint // only the outermost one: inner ones keep their text
		return e.Err
	}
	return err
}

// IsEmpty reports whether err says that nothing was ever pushed to a repository.
func IsEmpty(err error) bool { return isEmpty(err) }

// isEmpty reports whether err says that the repository is empty.
func isEmpty(err error) bool { return errors.Is(err, transport.ErrEmptyRemoteRepository) }

// sha256Error returns errSHA256 where go-git failed on the refs of such a repository: its
// error has the line that it cannot read.
func sha256Error(err error) error {
	for e := err; e != nil; e = errors.Unwrap(e) { // the error of the process may hide the line
		if strings.Contains(e.Error(), "object-format=sha256") {
			return errSHA256
		}
	}
	return err
}

package transport

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"regexp"
	"strings"

	"fairlead.dev/fleet"
)

// An UnsentError is the error of a request that was not sent.
type UnsentError struct{ Err error }

func (e *UnsentError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *UnsentError) Unwrap() error { return e.Err }

// KindOf returns the kind of an error of a request without an answer: Unavailable if it was not
// sent or changes nothing, and Unanswered if it may have been carried out. It reports false for
// other errors.
func KindOf(err error) (fleet.ErrorKind, bool) {
	if _, ok := errors.AsType[*UnsentError](err); ok {
		return fleet.Unavailable, true
	}
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return fleet.Unavailable, true
	}
	if e, ok := errors.AsType[*net.OpError](err); ok && e.Op == "dial" {
		return fleet.Unavailable, true
	}
	if e, ok := errors.AsType[*url.Error](err); ok {
		if e.Op == "Get" || e.Op == "Head" {
			return fleet.Unavailable, true
		}
		return fleet.Unanswered, true
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return fleet.Unanswered, true
	}
	return fleet.Unknown, false
}

// Look is the kind of an error of a call that changes nothing: one without an answer may
// be repeated at once.
func Look(k fleet.ErrorKind) fleet.ErrorKind {
	if k == fleet.Unanswered {
		return fleet.Unavailable
	}
	return k
}

// Plain returns err with the query taken out of the URL that it names, if any: secrets
// may be in there.
func Plain(err error) error {
	e, ok := errors.AsType[*url.Error](err)
	if !ok {
		return err
	}
	u, parse := url.Parse(e.URL)
	if parse != nil {
		return fmt.Errorf("%s: %w", strings.ToUpper(e.Op), e.Err)
	}
	return fmt.Errorf("%s %s: %w", strings.ToUpper(e.Op), u.Scheme+"://"+u.Host+u.Path, e.Err)
}

// longestText is the largest number of bytes of a response in an error.
const longestText = 600

var (
	tag    = regexp.MustCompile(`(?s)<(head|style|script).*?</(head|style|script)>|<[a-zA-Z/!][^>]*>`)
	spaces = regexp.MustCompile(`\s+`)
)

// Text returns the text of the body of an error, for people: on one line, bounded, and without the
// HTML of proxies. If the body is a JSON object and message finds a text in it, that is the text.
func Text(body []byte, message func(object map[string]json.RawMessage) string) string {
	text := string(body)
	var object map[string]json.RawMessage
	if json.Unmarshal(body, &object) == nil {
		if m := message(object); m != "" {
			text = m
		}
	}
	text = strings.TrimSpace(spaces.ReplaceAllString(tag.ReplaceAllString(text, " "), " "))
	if len(text) > longestText {
		text = strings.ToValidUTF8(text[:longestText], "") + "…"
	}
	return text
}

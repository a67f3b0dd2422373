package fleet

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// An ErrorKind says what can be done about an error; the kind alone decides
// recovery. docs/reference/errors.md has the table.
type ErrorKind string

// The kinds of error.
const (
	Unknown      ErrorKind = "Unknown"      // unclassified: retry with back-off
	Invalid      ErrorKind = "Invalid"      // the request can never work: wait until Git changes
	Unauthorized ErrorKind = "Unauthorized" // credentials: wait until they change, try slowly
	NotFound     ErrorKind = "NotFound"     // the thing is not there: success for a delete
	Conflict     ErrorKind = "Conflict"     // somebody else changed it, or it exists and differs: look again
	Exhausted    ErrorKind = "Exhausted"    // quota or capacity: retry slowly, say so
	Unavailable  ErrorKind = "Unavailable"  // the other side is down, busy or unreachable: retry with back-off
	Unanswered   ErrorKind = "Unanswered"   // asked, no answer: it may have happened; nothing is repeated before a settle window
)

// Error is the error type that crosses package boundaries on purpose. Its text
// is the other side's own words: they reach the user unchanged.
type Error struct {
	Kind ErrorKind
	Op   string // what could not be done, lower case: "create machine prod/eu-1-md-0-x7k"
	Err  error
}

// Errorf returns an *Error of kind with op and a formatted cause.
func Errorf(kind ErrorKind, op, format string, args ...any) error {
	return &Error{Kind: kind, Op: op, Err: fmt.Errorf(format, args...)}
}

// Error implements error.
func (e *Error) Error() string {
	if e.Op == "" {
		return e.Err.Error()
	}
	return "cannot " + e.Op + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// KindOf returns the kind of the first *Error in err's tree, or of what JoinErrors made,
// whichever comes first; else Unknown.
func KindOf(err error) ErrorKind {
	if e, ok := errors.AsType[interface {
		error
		kind() ErrorKind
	}](err); ok {
		return e.kind()
	}
	return Unknown
}

func (e *Error) kind() ErrorKind { return e.Kind }

// joined is several errors as one.
type joined []error

// JoinErrors returns errs, without those that are nil, as one error; nil where all are. Its
// text has theirs in order. It is of the first one's kind, but for Unanswered, which
// counts most, and Invalid, which counts least: the others may go by themselves.
func JoinErrors(errs ...error) error {
	errs = slices.DeleteFunc(slices.Clone(errs), func(err error) bool { return err == nil })
	switch len(errs) {
	case 0:
		return nil
	case 1:
		return errs[0]
	}
	return joined(errs)
}

func (j joined) Error() string {
	var out []string
	for _, err := range j {
		out = append(out, err.Error())
	}
	return strings.Join(out, "; ")
}

func (j joined) Unwrap() []error { return j }

func (j joined) kind() ErrorKind {
	out := Invalid
	for _, err := range j {
		switch k := KindOf(err); {
		case k == Unanswered:
			return k
		case out == Invalid:
			out = k
		}
	}
	return out
}

// Refused reports whether err proves that the other side did nothing, so that
// the request may be repeated at once. A timeout is not a no.
func Refused(err error) bool {
	switch KindOf(err) {
	case Invalid, Unauthorized, NotFound, Conflict, Exhausted:
		return true
	}
	return false
}

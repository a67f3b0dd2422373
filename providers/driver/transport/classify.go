package transport

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"

	"fairlead.dev/fleet"
)

// An Answer is one with which a service refused a request, or failed at it.
type Answer struct {
	Method string
	Status int
	Code   string // of the error, where the service has codes
	Words  string // see Text
}

// A Rule says what an answer means that has one of Statuses and of Codes, and Words. What is not
// set is not asked for. A status below ten is that of a class: 3 is 300 to 399.
type Rule struct {
	Statuses []int
	Codes    []string
	Words    *regexp.Regexp
	Kind     fleet.ErrorKind // empty: other rules say it
	Next     string          // what to do about it; empty: other rules say it
}

// usual are the rules for what no other is for.
//
//nolint:gochecknoglobals // a constant that Go cannot write as one
var usual = []Rule{
	{Statuses: []int{http.StatusForbidden}, Kind: fleet.Unauthorized},
	{Statuses: []int{http.StatusConflict}, Kind: fleet.Conflict},
	{Statuses: []int{http.StatusTooManyRequests, http.StatusServiceUnavailable}, Kind: fleet.Unavailable},
	{Statuses: []int{http.StatusBadGateway, http.StatusGatewayTimeout, http.StatusRequestTimeout}, Kind: fleet.Unanswered},
	{Statuses: []int{4}, Kind: fleet.Invalid},
}

// Classify returns the kind of the first of rules that is for a and says one; where there is none,
// that of the usual ones. What to do is that of the first rule up to there that says it.
func Classify(rules []Rule, a Answer) (fleet.ErrorKind, string) {
	next := ""
	for _, r := range slices.Concat(rules, usual) {
		if !r.isFor(a) {
			continue
		}
		next = cmp.Or(next, r.Next)
		switch {
		case r.Kind == "":
		case a.Method == http.MethodGet:
			return Look(r.Kind), next
		default:
			return r.Kind, next
		}
	}
	return fleet.Unknown, next
}

func (r Rule) isFor(a Answer) bool {
	return (r.Statuses == nil || slices.Contains(r.Statuses, a.Status) || slices.Contains(r.Statuses, a.Status/100)) &&
		(r.Codes == nil || slices.Contains(r.Codes, a.Code)) &&
		(r.Words == nil || r.Words.MatchString(a.Words))
}

// String returns the words of a, or its status.
func (a Answer) String() string {
	return cmp.Or(a.Words, fmt.Sprintf("%d %s", a.Status, http.StatusText(a.Status)))
}

// Wrap returns err as a *fleet.Error that says that op could not be done. An error with a kind keeps
// it, and says what else could not be done; read tells what any other means. No error stays none.
func Wrap(op string, err error, read func(error) (fleet.ErrorKind, error)) error {
	if err == nil {
		return nil
	}
	if e, ok := err.(*fleet.Error); ok && (e.Op == op || e.Op == "") { //nolint:errorlint // only the outermost may say the same twice
		return &fleet.Error{Kind: e.Kind, Op: op, Err: e.Err}
	}
	if _, ok := errors.AsType[*fleet.Error](err); ok {
		return &fleet.Error{Kind: fleet.KindOf(err), Op: op, Err: err}
	}
	kind, cause := read(err)
	return &fleet.Error{Kind: kind, Op: op, Err: cause}
}

// Looked returns err, which no other package classifies, as that of a request that only looked: see Look.
func Looked(err error) error {
	if e, ok := errors.AsType[*fleet.Error](err); ok {
		e.Kind = Look(e.Kind)
	}
	return err
}

package engine

import (
	"encoding/json"
	"errors"
	"net/http"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/transport"
)

var errAnswer = errors.New("the answer is none of Docker's API (correct DOCKER_HOST)")

// A refusalError is an answer with which the daemon refused a request, or failed at it.
type refusalError struct{ transport.Answer }

func (e *refusalError) Error() string { return e.String() }

func refusal(method string, status int, body []byte) error {
	return &refusalError{transport.Answer{Method: method, Status: status, Words: transport.Text(body, func(o map[string]json.RawMessage) string {
		var text string
		_ = json.Unmarshal(o["message"], &text) // what is no text says nothing
		return text
	})}}
}

// rules say what answers of the daemon mean. A 500 of a change does not say that nothing was done.
//
//nolint:gochecknoglobals // a constant that Go cannot write as one
var rules = []transport.Rule{
	{Statuses: []int{http.StatusNotFound}, Kind: fleet.NotFound},
	{Statuses: []int{http.StatusConflict}, Kind: fleet.Conflict},
	{Statuses: []int{5}, Kind: fleet.Unanswered},
}

// Wrap returns err of a request as a *fleet.Error that says that op could not be done. No error stays none.
func Wrap(op string, err error) error { return transport.Wrap(op, err, read) }

// WrapLook is Wrap for requests that change nothing.
func WrapLook(op string, err error) error { return transport.Looked(Wrap(op, err)) }

func read(err error) (fleet.ErrorKind, error) {
	if e, ok := errors.AsType[*refusalError](err); ok {
		kind, _ := transport.Classify(rules, e.Answer)
		return kind, e
	}
	if errors.Is(err, errAnswer) {
		return fleet.Unavailable, err
	}
	kind, _ := transport.KindOf(err)
	return kind, transport.Plain(err)
}

func kindOf(err error) fleet.ErrorKind { return fleet.KindOf(Wrap("", err)) }

// IsMissing reports whether err says that the thing is not there.
func IsMissing(err error) bool { return err != nil && kindOf(err) == fleet.NotFound }

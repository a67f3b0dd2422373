package engine

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/transport"
)

// rules say what answers of the daemon mean. A 500 of a change does not say that nothing was done.
//
//nolint:gochecknoglobals // a constant that Go cannot write as one
var rules = []transport.Rule{
	{Statuses: []int{http.StatusNotFound}, Kind: fleet.NotFound},
	{Statuses: []int{http.StatusConflict}, Kind: fleet.Conflict},
	{Statuses: []int{5}, Kind: fleet.Unanswered},
}

// refusal is the error of an answer with which the daemon refused a request, or failed at it.
func refusal(rules []transport.Rule, method string, status int, body []byte) error {
	a := transport.Answer{Method: method, Status: status, Words: transport.Text(body, func(o map[string]json.RawMessage) string {
		var text string
		_ = json.Unmarshal(o["message"], &text) // what is no text says nothing
		return text
	})}
	kind, _ := transport.Classify(rules, a)
	return &fleet.Error{Kind: kind, Err: errors.New(a.String())}
}

// unanswered is the error of a request without a whole answer.
func unanswered(q *http.Request, err error) error {
	err = &url.Error{Op: q.Method[:1] + strings.ToLower(q.Method[1:]), URL: "http://docker" + q.URL.Path, Err: err}
	kind, _ := transport.KindOf(err)
	return &fleet.Error{Kind: kind, Err: transport.Plain(err)}
}

func wrongAnswer() error {
	return fleet.Errorf(fleet.Unavailable, "", "the answer is none of Docker's API (correct DOCKER_HOST or the Docker context)")
}

// Wrap returns err of a request as a *fleet.Error that says that op could not be done. No error stays none.
func Wrap(op string, err error) error {
	return transport.Wrap(op, err, func(err error) (fleet.ErrorKind, error) { return fleet.Unknown, err })
}

// WrapLook is Wrap for requests that change nothing.
func WrapLook(op string, err error) error { return transport.Looked(Wrap(op, err)) }

// IsMissing reports whether err says that the thing is not there.
func IsMissing(err error) bool { return fleet.KindOf(err) == fleet.NotFound }

func unlessMissing(err error) error {
	if IsMissing(err) {
		return nil
	}
	return err
}

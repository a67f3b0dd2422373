package engine

import (
	"bytes"
	"context"
	"io"
	"net/http"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/transport"
)

// An outcome is how the last request of a context ended. It is noted below the client of Moby, whose errors do not say
// whether a request was sent.
type outcome struct {
	stream   bool             // the caller reads the body of a good answer
	rules    []transport.Rule // say what refusals mean
	answered bool
	err      error // with its kind
}

type outcomeKey struct{}

// A recorder notes the outcomes of requests.
type recorder struct{ *transport.Transport }

// longest is how much of an answer is read.
const longest = 64 << 20

// RoundTrip implements http.RoundTripper.
func (t recorder) RoundTrip(q *http.Request) (*http.Response, error) {
	o := q.Context().Value(outcomeKey{}).(*outcome) //nolint:forcetypeassert // send sets it
	res, err := t.Transport.RoundTrip(q)
	o.answered, o.err = err == nil, nil
	if err != nil {
		o.err = unanswered(q, err)
		return nil, err
	}
	good := res.StatusCode/100 == 2 || res.StatusCode == http.StatusNotModified // it is started already
	if good && o.stream {
		return res, nil
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, longest))
	switch {
	case err != nil:
		o.err = unanswered(q, err)
		return nil, err
	case !good:
		o.err = refusal(o.rules, q.Method, res.StatusCode, text)
	}
	res.Body = io.NopCloser(bytes.NewReader(text))
	return res, nil
}

// send makes a request of the client of Moby, and returns its error with its kind.
func send[R any](ctx context.Context, o *outcome, request func(context.Context) (R, error)) (R, error) {
	got, err := request(context.WithValue(ctx, outcomeKey{}, o))
	switch {
	case o.err != nil:
		return got, o.err
	case err != nil && o.answered:
		return got, wrongAnswer()
	case err != nil: // it was not sent
		return got, &fleet.Error{Kind: fleet.Invalid, Err: err}
	}
	return got, nil
}

// ask is send for a request whose answer is read at once.
func ask[O, R any](ctx context.Context, request func(context.Context, O) (R, error), o O) (R, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return send(ctx, &outcome{rules: rules}, func(ctx context.Context) (R, error) { return request(ctx, o) })
}

// askOf is ask for a request that is about the thing id.
func askOf[O, R any](ctx context.Context, request func(context.Context, string, O) (R, error), id string, o O) (R, error) {
	return ask(ctx, func(ctx context.Context, o O) (R, error) { return request(ctx, id, o) }, o)
}

// do is askOf without an answer.
func do[O, R any](ctx context.Context, request func(context.Context, string, O) (R, error), id string, o O) error {
	_, err := askOf(ctx, request, id, o)
	return err
}

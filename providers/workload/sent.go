package workload

import (
	"context"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"fairlead.dev/fleet"
)

// A sent notes whether a call sent a request that changes something. If such a call gets no
// answer, the change may have happened: the error is of kind Unanswered. That holds for all
// requests of a call, since a later one may fail after a change was carried out.
type sent struct{ change atomic.Bool }

type sentKey struct{}

// noteSent returns ctx for the requests of one call, and what is noted of them.
func noteSent(ctx context.Context) (context.Context, *sent) {
	s := new(sent)
	return context.WithValue(ctx, sentKey{}, s), s
}

// Changing returns ctx for a request of a Conn's call that changes something and goes
// through a client other than the Conn's, such as one to etcd.
func Changing(ctx context.Context) context.Context {
	s, ok := ctx.Value(sentKey{}).(*sent)
	if !ok {
		return ctx
	}
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() { s.change.Store(true) }})
}

// changes reports whether requests with method change something.
func changes(method string) bool { return method != http.MethodGet && method != http.MethodHead }

// kind returns the kind of err, which is of kind k by itself. An API server that has too
// many requests carries out none of those that it answers so.
func (s *sent) kind(k fleet.ErrorKind, err error) fleet.ErrorKind {
	if k == fleet.Unavailable && s.change.Load() && !apierrors.IsTooManyRequests(err) {
		return fleet.Unanswered
	}
	return k
}

// untraced is a context without values: what is noted of a request is not about the
// tunnel that it goes through.
type untraced struct{ context.Context } //nolint:containedctx // it is a context

// Value implements context.Context.
func (untraced) Value(any) any { return nil }

package agent

import (
	"context"
	"time"
)

// A Tracer tells what an agent does, how long it takes and within what. See
// package tracing.
type Tracer interface {
	// Span begins something with that name within what ctx is part of; the
	// function that it returns ends it. Attributes are names and values in turn.
	Span(ctx context.Context, name string, attributes ...string) (context.Context, func(error))
	// Done tells of what has ended just now.
	Done(ctx context.Context, name string, took time.Duration, err error, attributes ...string)
}

// untraced is a Tracer that tells nobody.
type untraced struct{}

// Span implements Tracer.
func (untraced) Span(ctx context.Context, _ string, _ ...string) (context.Context, func(error)) {
	return ctx, func(error) {}
}

// Done implements Tracer.
func (untraced) Done(context.Context, string, time.Duration, error, ...string) {}

package tracing

import (
	"context"
	"log/slog"
)

// logHandler adds the trace to what is logged within one.
type logHandler struct{ slog.Handler }

// LogHandler returns h with trace_id added to each record whose context is part
// of a trace.
func LogHandler(h slog.Handler) slog.Handler { return logHandler{h} }

// Handle implements slog.Handler.
func (h logHandler) Handle(ctx context.Context, r slog.Record) error {
	if id := TraceID(ctx); id != "" {
		r = r.Clone()
		r.AddAttrs(slog.String("trace_id", id))
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return logHandler{h.Handler.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (h logHandler) WithGroup(name string) slog.Handler { return logHandler{h.Handler.WithGroup(name)} }

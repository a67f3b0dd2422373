// Package tracing sends traces of what an agent does to a collector, with
// OpenTelemetry's protocol over HTTP. It is off where no collector is named, and
// costs nothing then. It is the only importer of OpenTelemetry.
//
//	t, err := tracing.Open(ctx, tracing.Options{Endpoint: "http://127.0.0.1:4318", …})
//	ctx, end := t.Span(ctx, "pass", "cluster", "prod/eu-1")
//	…
//	end(err)
//
// Headers, time limits and certificates of the connection are taken from the
// environment variables that OpenTelemetry has for them.
// Source: OpenTelemetry Protocol Exporter, specification, OTEL_EXPORTER_OTLP_*.
package tracing

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"fairlead.dev/fleet"
)

// Options say where traces go.
type Options struct {
	// Endpoint is the URL of a collector that speaks OTLP over HTTP, such as
	// http://127.0.0.1:4318. Empty: no traces.
	Endpoint string
	Ratio    float64 // of polls and passes that are traced, more than 0, at most 1
	Name     string  // of the agent
	Version  string  // of the program
	Log      *slog.Logger
}

// A Tracer makes spans. A nil one makes none. It is safe for concurrent use.
type Tracer struct {
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
}

// Open returns a tracer, or nil without an endpoint. Nothing is sent before the
// first span has ended, and a collector that is not there is no error but of the
// log.
func Open(ctx context.Context, o Options) (*Tracer, error) {
	if o.Endpoint == "" {
		return nil, nil //nolint:nilnil // a nil Tracer is one that makes no spans
	}
	u, err := url.Parse(o.Endpoint)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return nil, fleet.Errorf(fleet.Invalid, "send traces", "the endpoint %q is no URL such as http://127.0.0.1:4318", o.Endpoint)
	}
	if o.Ratio <= 0 || o.Ratio > 1 {
		return nil, fleet.Errorf(fleet.Invalid, "send traces", "the ratio %v is not above 0 and at most 1", o.Ratio)
	}
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(u.JoinPath("v1/traces").String()))
	if err != nil {
		return nil, fmt.Errorf("cannot send traces to %s: %w", u.Redacted(), err)
	}
	// There is one such handler in a process; no other package has OpenTelemetry.
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		o.Log.Warn("traces lost", "error", err)
	}))
	provider := sdktrace.NewTracerProvider(
		sdktrace.WithBatcher(exporter),
		sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(o.Ratio))),
		sdktrace.WithResource(resource.NewSchemaless(
			attribute.String("service.name", "fairlead"), attribute.String("service.instance.id", o.Name), attribute.String("service.version", o.Version),
		)),
	)
	return &Tracer{provider, provider.Tracer("fairlead.dev/agent")}, nil
}

// Span begins a span within the one that ctx is part of. Attributes are names
// and values in turn. The function that it returns ends it, with the error that
// came of it or nil.
func (t *Tracer) Span(ctx context.Context, name string, attributes ...string) (context.Context, func(error)) {
	if t == nil {
		return ctx, func(error) {}
	}
	ctx, span := t.tracer.Start(ctx, name, trace.WithAttributes(pairs(attributes)...))
	return ctx, func(err error) { end(span, err) }
}

// Done makes a span that took that time and has ended just now.
func (t *Tracer) Done(ctx context.Context, name string, took time.Duration, err error, attributes ...string) {
	if t == nil {
		return
	}
	now := time.Now()
	_, span := t.tracer.Start(ctx, name, trace.WithTimestamp(now.Add(-took)), trace.WithAttributes(pairs(attributes)...))
	end(span, err, trace.WithTimestamp(now))
}

// Close sends what waits, for as long as ctx lets it.
func (t *Tracer) Close(ctx context.Context) error {
	if t == nil {
		return nil
	}
	return t.provider.Shutdown(ctx)
}

// TraceID returns the trace that ctx is part of, in hexadecimal, or nothing
// where it is part of none that is sent.
func TraceID(ctx context.Context) string {
	if s := trace.SpanContextFromContext(ctx); s.IsSampled() {
		return s.TraceID().String()
	}
	return ""
}

func end(span trace.Span, err error, o ...trace.SpanEndOption) {
	if err != nil && !errors.Is(err, context.Canceled) {
		span.SetAttributes(attribute.String("error.type", string(fleet.KindOf(err))))
		span.SetStatus(codes.Error, err.Error())
	}
	span.End(o...)
}

func pairs(list []string) []attribute.KeyValue {
	out := make([]attribute.KeyValue, 0, len(list)/2)
	for i := 0; i+1 < len(list); i += 2 {
		out = append(out, attribute.String(list[i], list[i+1]))
	}
	return out
}

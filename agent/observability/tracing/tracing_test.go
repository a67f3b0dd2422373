package tracing_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"fairlead.dev/agent/observability/tracing"
	"fairlead.dev/fleet"
)

// A sink is a collector that keeps the spans it is sent.
type sink struct {
	*httptest.Server
	mu    sync.Mutex
	spans map[string]*tracev1.Span // by name
	about string                   // the resource
}

func newSink(t *testing.T) *sink {
	t.Helper()
	s := &sink{spans: make(map[string]*tracev1.Span)}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := io.Reader(r.Body)
		if r.Header.Get("Content-Encoding") == "gzip" {
			z, err := gzip.NewReader(r.Body)
			if err != nil {
				t.Error(err)
				return
			}
			body = z
		}
		b, err := io.ReadAll(body)
		var req collector.ExportTraceServiceRequest
		if err == nil {
			err = proto.Unmarshal(b, &req)
		}
		if err != nil || r.URL.Path != "/v1/traces" {
			t.Errorf("%s: %v", r.URL, err)
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, rs := range req.GetResourceSpans() {
			s.about = rs.GetResource().String()
			for _, ss := range rs.GetScopeSpans() {
				for _, span := range ss.GetSpans() {
					s.spans[span.GetName()] = span
				}
			}
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func open(t *testing.T, endpoint string, log *slog.Logger) *tracing.Tracer {
	t.Helper()
	tr, err := tracing.Open(t.Context(), tracing.Options{Endpoint: endpoint, Ratio: 1, Name: "me", Version: "v1", Log: log})
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

func TestSpans(t *testing.T) {
	s := newSink(t)
	var text bytes.Buffer
	log := slog.New(tracing.LogHandler(slog.NewTextHandler(&text, nil)))
	tr := open(t, s.URL, log)

	ctx, end := tr.Span(t.Context(), "pass", "cluster", "prod/eu-1")
	inner, done := tr.Span(ctx, "look")
	tr.Done(inner, "call", time.Minute, nil)
	done(nil)
	log.With("a", 1).WarnContext(ctx, "the pass failed")
	log.Warn("elsewhere")
	id := tracing.TraceID(ctx)
	end(fleet.Errorf(fleet.Exhausted, "create machine", "no quota"))
	_, stopped := tr.Span(t.Context(), "stopped")
	stopped(context.Canceled)
	if err := tr.Close(t.Context()); err != nil {
		t.Fatal(err)
	}

	pass, look, call := s.spans["pass"], s.spans["look"], s.spans["call"]
	if pass == nil || look == nil || call == nil {
		t.Fatalf("spans sent: %v", s.spans)
	}
	if !bytes.Equal(look.GetParentSpanId(), pass.GetSpanId()) || !bytes.Equal(call.GetParentSpanId(), look.GetSpanId()) {
		t.Error("the spans are not within each other")
	}
	if took := call.GetEndTimeUnixNano() - call.GetStartTimeUnixNano(); took != uint64(time.Minute) {
		t.Errorf("the call took %d ns", took)
	}
	if st := pass.GetStatus(); st.GetCode() != tracev1.Status_STATUS_CODE_ERROR || st.GetMessage() != "cannot create machine: no quota" {
		t.Errorf("the pass ended with %v", st)
	}
	if look.GetStatus().GetCode() != tracev1.Status_STATUS_CODE_UNSET || s.spans["stopped"].GetStatus().GetCode() != tracev1.Status_STATUS_CODE_UNSET {
		t.Error("what did not fail has an error")
	}
	attributes := make(map[string]string)
	for _, a := range pass.GetAttributes() {
		attributes[a.GetKey()] = a.GetValue().GetStringValue()
	}
	if attributes["cluster"] != "prod/eu-1" || attributes["error.type"] != "Exhausted" {
		t.Errorf("attributes of the pass: %v", attributes)
	}
	for _, want := range []string{`"fairlead"`, `"me"`, `"v1"`} {
		if !strings.Contains(s.about, want) {
			t.Errorf("the resource lacks %s: %s", want, s.about)
		}
	}
	lines := slices.Collect(strings.Lines(text.String()))
	if len(id) != 32 || len(lines) != 2 || !strings.Contains(lines[0], "a=1 trace_id="+id) || strings.Contains(lines[1], "trace_id") {
		t.Errorf("trace %q is in the log as:\n%s", id, text.String())
	}
}

func TestOff(t *testing.T) {
	tr := open(t, "", nil)
	ctx, end := tr.Span(t.Context(), "pass")
	end(errors.New("no"))
	tr.Done(ctx, "call", time.Second, nil)
	if id := tracing.TraceID(ctx); id != "" || tr != nil || tr.Close(t.Context()) != nil {
		t.Errorf("there is a trace %q where none is asked for", id)
	}
}

func TestRefused(t *testing.T) {
	for reason, o := range map[string]tracing.Options{
		"no scheme":       {Endpoint: "127.0.0.1:4318", Ratio: 1},
		"the other port":  {Endpoint: "grpc://127.0.0.1:4317", Ratio: 1},
		"nothing to send": {Endpoint: "http://127.0.0.1:4318"},
		"more than all":   {Endpoint: "http://127.0.0.1:4318", Ratio: 2},
	} {
		if _, err := tracing.Open(t.Context(), o); fleet.KindOf(err) != fleet.Invalid {
			t.Errorf("%s: %v", reason, err)
		}
	}
}

// TestCollectorGone tries that a collector that is not there is told of in the
// log and hinders nothing.
func TestCollectorGone(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "200")
	var text bytes.Buffer
	tr := open(t, "http://127.0.0.1:1", slog.New(slog.NewTextHandler(&text, nil)))
	_, end := tr.Span(t.Context(), "pass")
	end(nil)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	err := tr.Close(ctx)
	if err == nil && !strings.Contains(text.String(), "traces lost") {
		t.Error("nobody is told that traces are lost")
	}
}

package alerts

import (
	"compress/gzip"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"sync"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"
)

// A sink is a collector that records the names of the spans of each trace.
type sink struct {
	*httptest.Server
	mu     sync.Mutex
	traces map[string]map[string]bool
}

func newSink(t *testing.T) *sink {
	t.Helper()
	s := &sink{traces: make(map[string]map[string]bool)}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := io.Reader(r.Body)
		if r.Header.Get("Content-Encoding") == "gzip" {
			z, err := gzip.NewReader(r.Body)
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			body = z
		}
		b, err := io.ReadAll(body)
		var req collector.ExportTraceServiceRequest
		if err == nil {
			err = proto.Unmarshal(b, &req)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, resource := range req.GetResourceSpans() {
			for _, scope := range resource.GetScopeSpans() {
				for _, span := range scope.GetSpans() {
					id := hex.EncodeToString(span.GetTraceId())
					if s.traces[id] == nil {
						s.traces[id] = make(map[string]bool)
					}
					s.traces[id][span.GetName()] = true
				}
			}
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// TestExemplarsOnPrometheus follows histograms to traces: a real Prometheus stores the
// exemplars of an agent, and the traces that they name reached a collector, with the span
// that was counted.
func TestExemplarsOnPrometheus(t *testing.T) {
	if os.Getenv("FAIRLEAD_TEST_ALERTS") == "" {
		t.Skip("it takes minutes: run `make test-alerts`")
	}
	s := newSink(t)
	watch := newWatch(t, "--enable-feature=exemplar-storage")
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "100")
	w := newWorld(t, "traced")
	w.args = []string{"--otlp-endpoint", s.URL}
	w.push()
	p := w.start("one")
	watch.scrape(w.name, "one", p)
	w.settled(p, 1)
	begin := time.Now().Add(-time.Hour)
	for histogram, span := range map[string]string{
		"fairlead_git_fetch_seconds_bucket": "resolve", "fairlead_render_seconds_bucket": "render",
		"fairlead_reconcile_seconds_bucket": "pass", "fairlead_provider_call_seconds_bucket": "provider Observe",
	} {
		eventually(t, "an exemplar of "+histogram+" names a trace with "+span, func() error {
			var found []struct {
				Exemplars []struct {
					Labels map[string]string
				}
			}
			q := url.Values{"query": {histogram}, "start": {begin.Format(time.RFC3339)}, "end": {time.Now().Add(time.Minute).Format(time.RFC3339)}}
			if err := watch.get("query_exemplars", q, &found); err != nil {
				return err
			}
			n := 0
			for _, series := range found {
				for _, e := range series.Exemplars {
					s.mu.Lock()
					has := s.traces[e.Labels["trace_id"]][span]
					s.mu.Unlock()
					if n++; has {
						return nil
					}
				}
			}
			return fmt.Errorf("there are %d exemplars", n)
		})
	}
}

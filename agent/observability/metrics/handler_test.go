package metrics

import (
	"compress/gzip"
	"context"
	"io"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// TestHandlerFormats: whoever asks for it gets gzip, and OpenMetrics where there are exemplars;
// what is in it can be read, and is the same.
func TestHandlerFormats(t *testing.T) {
	get := func(m *Metrics, header map[string]string) (*httptest.ResponseRecorder, string) {
		r := httptest.NewRequest("GET", "/metrics", nil)
		for k, v := range header {
			r.Header.Set(k, v)
		}
		w := httptest.NewRecorder()
		m.Handler(slog.New(slog.DiscardHandler)).ServeHTTP(w, r)
		var body io.Reader = w.Body
		if w.Header().Get("Content-Encoding") == "gzip" {
			z, err := gzip.NewReader(w.Body)
			if err != nil {
				t.Fatal(err)
			}
			body = z
		}
		text, err := io.ReadAll(body)
		if err != nil {
			t.Fatal(err)
		}
		return w, string(text)
	}
	const open = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5"
	traced := used()
	traced.SetExemplars(func(context.Context) string { return "0af7651916cd43dd8448eb211c80319c" })
	traced.Rendered(t.Context(), nil, time.Second)
	for name, c := range map[string]struct {
		m        *Metrics
		header   map[string]string
		encoding string
		begins   string
	}{
		"nothing asked for":           {used(), nil, "", "text/plain; version=0.0.4"},
		"gzip":                        {used(), map[string]string{"Accept-Encoding": "deflate, gzip;q=0.9"}, "gzip", "text/plain; version=0.0.4"},
		"no gzip":                     {used(), map[string]string{"Accept-Encoding": "gzip;q=0, br"}, "", "text/plain; version=0.0.4"},
		"OpenMetrics for nothing":     {used(), map[string]string{"Accept": open}, "", "text/plain; version=0.0.4"},
		"OpenMetrics, with exemplars": {traced, map[string]string{"Accept": open}, "", "application/openmetrics-text; version=1.0.0"},
		"text, with exemplars":        {traced, map[string]string{"Accept": "text/plain"}, "", "text/plain; version=0.0.4"},
	} {
		t.Run(name, func(t *testing.T) {
			w, text := get(c.m, c.header)
			if got := w.Header().Get("Content-Encoding"); got != c.encoding {
				t.Errorf("encoding %q, want %q", got, c.encoding)
			}
			if got := w.Header().Get("Content-Type"); !strings.HasPrefix(got, c.begins) {
				t.Errorf("content type %q, want %q", got, c.begins)
			}
			if isOpen := strings.HasPrefix(c.begins, "application/openmetrics"); isOpen != strings.HasSuffix(text, "\n# EOF\n") {
				t.Errorf("ends with %q", text[max(0, len(text)-40):])
			}
			if !strings.Contains(text, `capi_cluster_spec_paused{name="a",namespace="prod"} 1`+"\n") {
				t.Error("the cluster is not in it")
			}
		})
	}
}

// TestLabelsAreEscaped: what a cluster is called cannot end a series, and is read as it was.
func TestLabelsAreEscaped(t *testing.T) {
	var b strings.Builder
	const odd = "a\\b\"c\nd"
	f := family{"fairlead_odd", "Odd.", []string{"z", "a"}, func(show emit) { show(0.5, odd, "1") }}
	if err := writeFamilies(&b, []family{f, {"fairlead_none", "None.", nil, func(emit) {}}}); err != nil {
		t.Fatal(err)
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	got, err := parser.TextToMetricFamilies(strings.NewReader(b.String()))
	if err != nil {
		t.Fatalf("%v in\n%s", err, b.String())
	}
	if len(got) != 1 {
		t.Errorf("got %d families, want that with series alone", len(got))
	}
	labels := make(map[string]string)
	for _, l := range got["fairlead_odd"].GetMetric()[0].GetLabel() {
		labels[l.GetName()] = l.GetValue()
	}
	if diff := cmp.Diff(map[string]string{"a": "1", "z": "a\\b\"c d"}, labels); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

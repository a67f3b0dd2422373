package metrics

import (
	"compress/gzip"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/expfmt"
)

// ShowAll has all clusters have series of their own, and their pools and machines, in place of
// those alone that are unhealthy.
func (m *Metrics) ShowAll(all bool) { m.everything.Store(all) }

// ResyncEvery sets the interval between reconciliations of a cluster without changes.
func (m *Metrics) ResyncEvery(interval time.Duration) { m.resync.Store(int64(interval)) }

// Handler serves the metrics: those of the process, totals of the fleet, and series of clusters,
// which are written while they are generated, since there may be a million.
func (m *Metrics) Handler(log *slog.Logger) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		format := expfmt.NewFormat(expfmt.TypeTextPlain)
		if m.traceID.Load() != nil { // no other format has exemplars
			format = expfmt.NegotiateAccept(r.Header, append(expfmt.DefaultOpenMetricsAcceptedFormats(), format)...)
		}
		w.Header().Set("Content-Type", string(format))
		var to io.Writer = w
		if acceptsGzip(r.Header.Get("Accept-Encoding")) {
			w.Header().Set("Content-Encoding", "gzip")
			z, _ := gzip.NewWriterLevel(w, gzip.BestSpeed) // the level is a good one
			defer func() { _ = z.Close() }()               // the client is gone then
			to = z
		}
		if err := m.write(to, format); err != nil {
			log.ErrorContext(r.Context(), "Cannot serve the metrics", "error", err)
		}
	})
}

// write writes all metrics. A collector that fails costs its own.
func (m *Metrics) write(to io.Writer, format expfmt.Format) error {
	families, failed := m.registry.Gather()
	enc := expfmt.NewEncoder(to, format)
	for _, f := range families {
		if err := enc.Encode(f); err != nil {
			return err
		}
	}
	if err := writeFamilies(to, m.families()); err != nil {
		return err
	}
	if end, ok := enc.(expfmt.Closer); ok {
		if err := end.Close(); err != nil {
			return err
		}
	}
	return failed
}

// families are the series of clusters, and the totals of all.
func (m *Metrics) families() []family {
	all := m.clusters.all()
	now := m.now()
	unhealthy, shown := unhealthyOf(all, now, successIsOld(time.Duration(m.resync.Load()))), all
	if !m.everything.Load() {
		shown = mostUrgent(unhealthy, now)
	}
	out := totalsOf(all, len(unhealthy), len(shown)).families()
	for _, f := range clusterFamilies() {
		out = append(out, f.over(shown))
	}
	return out
}

// acceptsGzip reports whether a header Accept-Encoding takes gzip.
func acceptsGzip(header string) bool {
	return slices.ContainsFunc(strings.Split(header, ","), func(part string) bool {
		name, weight, _ := strings.Cut(strings.TrimSpace(part), ";")
		return strings.TrimSpace(name) == "gzip" && !slices.Contains([]string{"q=0", "q=0.0"}, strings.ReplaceAll(weight, " ", ""))
	})
}

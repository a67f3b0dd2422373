package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"fairlead.dev/agent/observability/tracing"
	"fairlead.dev/agent/wiring"
)

// tracingFlags say where traces go.
type tracingFlags struct {
	endpoint string
	ratio    float64
}

func (f *tracingFlags) add(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&f.endpoint, "otlp-endpoint", "", "URL of an OTLP/HTTP collector for traces, such as http://127.0.0.1:4318; empty disables tracing")
	fs.Float64Var(&f.ratio, "otlp-ratio", 1, "fraction of polls and reconciliations to trace: more than 0, at most 1")
	needs(cmd, "otlp-endpoint", "otlp-ratio")
}

// open adds a tracer to s, if traces are asked for. The returned function sends the traces
// that are left.
func (f tracingFlags) open(ctx context.Context, version, name string, s *wiring.Settings) (func(), error) {
	t, err := tracing.Open(ctx, tracing.Options{Endpoint: f.endpoint, Ratio: f.ratio, Name: name, Version: version, Log: s.Log})
	if err != nil {
		return nil, &usageError{err}
	}
	if t == nil {
		return func() {}, nil
	}
	s.Tracer = t
	return func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		if err := t.Close(ctx); err != nil {
			s.Log.Warn("last traces lost", "error", err)
		}
	}, nil
}

package tracing_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fairlead.dev/agent/console/cli"
	"fairlead.dev/agent/wiring"
	example "fairlead.dev/fleet-examples/inmemory"
	"fairlead.dev/providers"
	"fairlead.dev/providers/distribution/kubeadm"
	"fairlead.dev/providers/infrastructure/inmemory"
	"fairlead.dev/providers/workload"
	"fairlead.dev/test/run/waits"
)

// TestAgent tries that what a real agent does comes as spans within each other.
func TestAgent(t *testing.T) {
	s := newSink(t)
	dir := t.TempDir()
	folder := filepath.Join(dir, "fleet")
	if err := os.CopyFS(folder, example.Files()); err != nil {
		t.Fatal(err)
	}
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "100")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var log bytes.Buffer
	cmd := cli.New(cli.Program{Version: "test", Built: wiring.Built{
		Providers: []providers.Factory{inmemory.Factory()},
		Distributions: func(c *workload.Client) providers.Distributions {
			return providers.Distributions{"KubeadmControlPlane": kubeadm.New(c)}
		},
	}}, cli.Streams{In: strings.NewReader(""), Out: io.Discard, Err: &log})
	cmd.SetArgs([]string{
		"agent", "--source", folder, "--name", "me", "--listen", "", "--secrets", filepath.Join(dir, "secrets"),
		"--interval", "200ms", "--status-interval", "100ms", "--otlp-endpoint", s.URL,
	})
	ended := make(chan error, 1)
	go func() { ended <- cmd.ExecuteContext(ctx) }()

	// Each span with the one that it is to be within.
	want := map[string]string{
		"poll": "", "resolve": "poll", "fetch": "poll", "render": "poll", "push": "",
		"pass": "", "look": "pass", "plan": "pass", "do": "pass", "provider Observe": "look", "provider EnsureInfrastructure": "do",
	}
	missing := func() []string {
		s.mu.Lock()
		defer s.mu.Unlock()
		var out []string
		for name, within := range want {
			span := s.spans[name]
			switch {
			case span == nil:
				out = append(out, name)
			case (within == "") != (len(span.GetParentSpanId()) == 0):
				out = append(out, name+" within "+within)
			}
		}
		return out
	}
	for deadline := time.Now().Add(waits.Limit); len(missing()) > 0; time.Sleep(50 * time.Millisecond) {
		select {
		case err := <-ended:
			t.Fatalf("the agent ended: %v\n%s", err, log.String())
		default:
		}
		if time.Now().After(deadline) {
			t.Fatalf("no spans of %v", missing())
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

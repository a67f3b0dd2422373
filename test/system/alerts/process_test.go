package alerts

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"fairlead.dev/agent/console/cli"
	"fairlead.dev/agent/wiring"
	"fairlead.dev/providers/all"
	"fairlead.dev/test/run/ports"
	"fairlead.dev/test/run/waits"
)

// A process is an agent that runs, as the command does.
type process struct {
	address string
	log     *buffer
	stop    func()
	ended   chan struct{}
}

// start starts an agent of that name, with more arguments.
func (w *world) start(name string, args ...string) *process {
	w.t.Helper()
	p := &process{address: freeAddress(w.t), log: &buffer{}, ended: make(chan struct{})}
	ctx, cancel := context.WithCancel(context.Background())
	p.stop = cancel
	cmd := cli.New(cli.Program{Version: "test", Built: wiring.Built{Providers: all.Factories(), Distributions: all.Distributions, Kinds: all.Kinds(), ControlPlanes: all.ControlPlanes, Helm: all.Helm}}, cli.Streams{In: strings.NewReader(""), Out: p.log, Err: p.log})
	cmd.SetArgs(append(append([]string{
		"agent", "--source", w.git.URL + "/fleet.git", "--name", name, "--listen", p.address,
		"--interval", "500ms", "--resync", "1s", "--status-interval", "200ms", "--log-level", "debug",
		"--secrets", filepath.Join(w.dir, "secrets-"+name), "--inmemory-url", w.api.URL,
	}, w.args...), args...))
	go func() {
		defer close(p.ended)
		if err := cmd.ExecuteContext(ctx); err != nil {
			fmt.Fprintln(p.log, err)
		}
	}()
	w.agents[name] = p
	return p
}

func (w *world) stop(name string) {
	p := w.agents[name]
	p.stop()
	<-p.ended
	delete(w.agents, name)
	if w.t.Failed() {
		w.t.Logf("the end of the log of agent %s:\n%s", name, p.log.tail())
	}
}

// A buffer is a log that is written and read at once.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write implements io.Writer.
func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) tail() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	text := b.b.Bytes()
	return string(text[max(0, len(text)-6000):])
}

func freeAddress(t *testing.T) string {
	t.Helper()
	address, err := ports.Free()
	if err != nil {
		t.Fatal(err)
	}
	return address
}

// eventually waits for a condition, which is to say what it still lacks.
func eventually(t *testing.T, what string, condition func() error) {
	t.Helper()
	deadline := time.Now().Add(waits.Limit)
	for {
		err := condition()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain until %s: %v", what, err)
		}
		time.Sleep(200 * time.Millisecond)
	}
}

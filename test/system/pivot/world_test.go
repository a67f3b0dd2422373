package pivot_test

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"fairlead.dev/agent"
	"fairlead.dev/agent/observability/metrics"
	"fairlead.dev/agent/ownership"
	"fairlead.dev/agent/ownership/pivot"
	"fairlead.dev/agent/ownership/pivot/install"
	"fairlead.dev/agent/wiring"
	"fairlead.dev/charts"
	"fairlead.dev/fleet"
	example "fairlead.dev/fleet-examples/inmemory"
	"fairlead.dev/providers/all"
	"fairlead.dev/providers/infrastructure/inmemory"
	"fairlead.dev/providers/workload/helm"
	"fairlead.dev/providers/workload/helm/sdk"
	"fairlead.dev/sources"
	"fairlead.dev/sources/git"
	"fairlead.dev/sources/git/gitserver"
	"fairlead.dev/sources/status"
	"fairlead.dev/test/lab/kube"
)

const (
	laptop    = "laptop"
	namespace = "fairlead-system"
)

// away is the cluster of the example that the fleet moves into.
func away() fleet.Key { return fleet.Key{Namespace: "staging", Name: "eu-2"} }

// clusters are all clusters of the example.
func clusters() []fleet.Key { return []fleet.Key{{Namespace: "prod", Name: "eu-1"}, away()} }

// world is a repository, a cloud that knows who changes it, and a home.
type world struct {
	t       *testing.T
	url     string
	branch  sources.Branch
	cloud   *inmemory.Cloud
	clouds  map[string]string // URL of the cloud, by agent
	k       *kube.Server
	dir     string // of the laptop's secrets
	program string

	mu      sync.Mutex
	foreign []string // changes by an agent that did not own the fleet
	kubelet *kubelet
}

func newWorld(t *testing.T) *world {
	t.Helper()
	return newWorldOf(t, nil)
}

// newWorldOf returns a world whose fleet has these files in the place of the example's.
func newWorldOf(t *testing.T, files map[string]string) *world {
	t.Helper()
	w := &world{t: t, k: kube.Start(t, kube.Own()), dir: filepath.Join(t.TempDir(), "secrets"), clouds: map[string]string{}}
	w.build()
	server, err := gitserver.New(t.TempDir(), gitserver.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := server.Init("fleet.git"); err != nil {
		t.Fatal(err)
	}
	repository := httptest.NewServer(server)
	t.Cleanup(repository.Close)
	w.url = repository.URL + "/fleet.git"
	w.push(files)
	w.branch = w.open("fairlead/status")
	w.cloud = inmemory.NewCloud(inmemory.CloudOptions{})
	t.Cleanup(w.cloud.Close)
	for _, name := range []string{laptop, ownership.AgentOf(away())} {
		s := httptest.NewServer(w.watched(name, inmemory.Handler(w.cloud)))
		t.Cleanup(s.Close)
		w.clouds[name] = s.URL
	}
	w.kubelet = &kubelet{w: w}
	t.Cleanup(w.kubelet.stop)
	return w
}

// build builds the program.
func (w *world) build() {
	w.t.Helper()
	w.program = filepath.Join(w.t.TempDir(), "fairlead")
	cmd := exec.CommandContext(w.t.Context(), "go", "build", "-o", w.program, "fairlead.dev/agent/cmd/fairlead")
	if out, err := cmd.CombinedOutput(); err != nil {
		w.t.Fatalf("cannot build: %v\n%s", err, out)
	}
}

func (w *world) open(name string) sources.Branch {
	w.t.Helper()
	r, err := git.New(git.Options{URL: w.url, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		w.t.Fatal(err)
	}
	b, err := r.Branch(name, git.BranchOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	return b
}

// push pushes the example, with others in the place of its files.
func (w *world) push(others map[string]string) {
	w.t.Helper()
	edits := map[string][]byte{}
	files := example.Files()
	err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		edits[name], err = files.ReadFile(name)
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	for name, text := range others {
		edits[name] = []byte(text)
	}
	if _, err := w.open("main").Commit(w.t.Context(), fleet.Revision{}, sources.Commit{Edits: edits, Message: "a fleet"}); err != nil {
		w.t.Fatal(err)
	}
}

// watched notes each change that comes from an agent that does not own the fleet.
func (w *world) watched(name string, next http.Handler) http.Handler {
	arbiter := status.NewArbiter(w.open("fairlead/status"))
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && !strings.HasSuffix(r.URL.Path, "/list") && !strings.HasSuffix(r.URL.Path, "/get") && !strings.Contains(r.URL.Path, "watch") {
			owner, err := arbiter.Owner(r.Context())
			if err == nil && owner.Agent != name {
				w.mu.Lock()
				w.foreign = append(w.foreign, fmt.Sprintf("%s %s by %s, the owner is %s", r.Method, r.URL.Path, name, owner.Agent))
				w.mu.Unlock()
			}
		}
		next.ServeHTTP(rw, r)
	})
}

func (w *world) settings() wiring.Settings {
	return wiring.Settings{
		Built:  wiring.Built{Providers: all.Factories(), Distributions: all.Distributions, Kinds: all.Kinds(), ControlPlanes: all.ControlPlanes, Helm: all.Helm},
		Source: w.url, Secrets: w.dir, StatusInterval: 200 * time.Millisecond, Log: slog.New(slog.DiscardHandler),
		Providers: map[string]map[string]string{"inmemory": {"url": w.clouds[laptop]}},
	}
}

// local runs an agent as a laptop does, until the function that it returns.
func (w *world) local(o agent.Options) (stop func()) {
	w.t.Helper()
	s := w.settings()
	o.Name, o.Interval, o.Resync, o.Workers = laptop, 100*time.Millisecond, 10*time.Second, 4
	m := metrics.New("v0")
	ctx, cancel := context.WithCancel(context.Background())
	place, err := wiring.OpenRuntime(ctx, s, wiring.ReadWrite, m)
	if err != nil {
		w.t.Fatal(err)
	}
	a, err := wiring.NewAgent(s, o, place, m)
	if err != nil {
		w.t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = a.Run(ctx)
	}()
	return func() {
		cancel()
		<-done
		_ = place.Close()
	}
}

// home opens the home, as the command line does.
func (w *world) home(context.Context) (pivot.Home, error) {
	config, err := os.ReadFile(w.k.Kubeconfig)
	if err != nil {
		return nil, err
	}
	id, err := w.settings().Identity()
	if err != nil {
		return nil, err
	}
	files, err := charts.Files("v0.0.1")
	if err != nil {
		return nil, err
	}
	r := helm.Release{Namespace: namespace, Name: "fairlead", Values: map[string]any{
		"image":     map[string]any{"repository": "fairlead"},
		"agent":     map[string]any{"name": ownership.AgentOf(away()), "interval": "200ms", "resync": "10s", "logFormat": "text"},
		"source":    map[string]any{"url": w.url, "fleetID": id},
		"rbac":      map[string]any{"allNamespaces": true}, // as homes are given them
		"extraArgs": []any{"--inmemory-url=" + w.clouds[ownership.AgentOf(away())], "--status-interval=200ms"},
	}}
	for _, f := range files {
		r.Chart = append(r.Chart, helm.File{Name: f.Name, Data: f.Data})
	}
	return install.Open(install.Options{Kubeconfig: fleet.NewSecret(config), Helm: sdk.New(), Release: r, Log: slog.New(slog.DiscardHandler)})
}

// output is what a program says, while it does.
type output struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

// String implements fmt.Stringer.
func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

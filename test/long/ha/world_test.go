package ha

import (
	"context"
	"fmt"
	"log"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"fairlead.dev/agent/ownership/replicas"
	cloud "fairlead.dev/providers/infrastructure/inmemory"
	"fairlead.dev/sources/git/gitserver"
	"fairlead.dev/test/lab/kube"
	"fairlead.dev/test/run/waits"
)

const lease = "ha"

// A world is a fleet with several replicas of its agent.
type world struct {
	t         *testing.T
	dir       string
	binary    string
	namespace string
	kube      *kube.Server
	api       *replicas.Connection
	git       *gitserver.Server
	url, bare string
	cloudURL  string
	cloud     *cloud.Client
	args      []string
	replicas  map[string]*exec.Cmd
	ending    map[string]chan struct{} // closed when the replica of that name has ended
	workers   int
	hooks     hooks
	actors    *actors

	mu    sync.Mutex
	twice map[string]bool // machines that existed twice at any time
}

func newWorld(t *testing.T, args ...string) *world {
	t.Helper()
	if testing.Short() {
		t.Skip("it takes a minute")
	}
	return newWorldIn(t, kube.Start(t), args...)
}

func newWorldIn(t *testing.T, k *kube.Server, args ...string) *world {
	t.Helper()
	w := &world{t: t, dir: t.TempDir(), namespace: k.Namespace(), kube: k, args: args, replicas: make(map[string]*exec.Cmd), ending: make(map[string]chan struct{}), twice: make(map[string]bool), actors: newActors()}
	var err error
	w.api, err = replicas.Connect(k.Kubeconfig, replicas.Timing{})
	w.must(err)
	w.binary, err = built()
	w.must(err)
	w.serveGit()
	w.startCloud()
	w.openHooks()
	go w.watch()
	t.Cleanup(func() {
		w.mu.Lock()
		for _, c := range w.replicas {
			_ = c.Process.Kill()
			_ = c.Wait()
		}
		w.mu.Unlock()
		if t.Failed() {
			logs, _ := filepath.Glob(filepath.Join(w.dir, "*.log"))
			for _, l := range logs {
				b, _ := os.ReadFile(l)
				t.Logf("%s:\n%s", filepath.Base(l), b[max(0, len(b)-6000):])
			}
		}
	})
	return w
}

// long skips a test that takes minutes, unless `make test-ha` runs it.
func long(t *testing.T) {
	t.Helper()
	if os.Getenv("FAIRLEAD_TEST_HA") == "" {
		t.Skip("make test-ha runs it")
	}
}

// built builds the program, once for all tests.
var built = sync.OnceValues(func() (string, error) {
	program := filepath.Join(folder, "fairlead")
	return program, run("../../..", "go", "build", "-o", program, "./agent/cmd/fairlead")
})

var folder string // of the program

func TestMain(m *testing.M) {
	var err error
	if folder, err = os.MkdirTemp("", "fairlead-ha-"); err != nil {
		log.Fatal(err)
	}
	code := m.Run()
	_ = os.RemoveAll(folder)
	os.Exit(code)
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func run(dir, program string, args ...string) error {
	cmd := exec.Command(program, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull,
		"GIT_AUTHOR_NAME=You", "GIT_AUTHOR_EMAIL=you@example.com", "GIT_COMMITTER_NAME=You", "GIT_COMMITTER_EMAIL=you@example.com")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w: %s", program, strings.Join(args, " "), err, out)
	}
	return nil
}

// log returns what the replica called name said so far.
func (w *world) log(name string) string {
	w.t.Helper()
	b, err := os.ReadFile(filepath.Join(w.dir, name+".log"))
	w.must(err)
	return string(b)
}

// start starts the program, which ends with the test.
func (w *world) start(log string, args ...string) *exec.Cmd {
	w.t.Helper()
	file, err := os.OpenFile(filepath.Join(w.dir, log+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	w.must(err)
	defer file.Close()
	cmd := w.command(args...)
	cmd.Stdout, cmd.Stderr = file, file
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	w.must(cmd.Start())
	return cmd
}

func (w *world) command(args ...string) *exec.Cmd {
	cmd := exec.Command(w.binary, args...)
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + w.dir, "FAIRLEAD_SECRETS=kubernetes:" + w.kube.Kubeconfig, "FAIRLEAD_INMEMORY_URL=" + w.cloudURL,
	}
	return cmd
}

func (w *world) startCloud() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	w.must(err)
	address := l.Addr().String()
	l.Close()
	w.cloudURL = "http://" + address
	c := w.start("cloud", "inmemory", "--listen", address)
	w.t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	})
	w.cloud, err = cloud.Dial(w.cloudURL)
	w.must(err)
	w.eventually("the cloud answers", func() string {
		_, err := w.cloud.VMs(w.t.Context(), nil)
		return text(err)
	})
}

// machines returns the ids of machines by cluster and name.
func (w *world) machines(ctx context.Context) (map[string]string, error) {
	vms, err := w.cloud.VMs(ctx, map[string]string{"fairlead.dev/fleet": "harbour"})
	out := make(map[string]string, len(vms))
	for _, v := range vms {
		k := v.Tags["fairlead.dev/cluster"] + " " + v.Name
		if _, there := out[k]; there {
			w.mu.Lock()
			w.twice[k] = true
			w.mu.Unlock()
		}
		out[k] = v.ID
	}
	return out, err
}

// watch looks all the time for machines that exist twice.
func (w *world) watch() {
	for w.t.Context().Err() == nil {
		_, _ = w.machines(w.t.Context())
		time.Sleep(100 * time.Millisecond)
	}
}

// converged waits until the cloud, the status and the plan are as in Git, and fails if two
// replicas acted at once.
func (w *world) converged(what string) {
	w.t.Helper()
	w.asInGit(what)
	w.oneActs(what)
}

// asInGit waits until the cloud, the status and the plan are as in Git.
func (w *world) asInGit(what string) {
	w.t.Helper()
	w.eventually(what, func() string {
		m, err := w.machines(w.t.Context())
		if err != nil || len(m) != clusters*(1+w.workers) {
			return fmt.Sprintf("%d machines, not %d (%s)", len(m), clusters*(1+w.workers), text(err))
		}
		out, _ := w.command("status", w.url).CombinedOutput()
		if n := strings.Count(string(out), "Provisioned"); n != clusters {
			return string(out)
		}
		if out, err := w.command("plan", w.url).CombinedOutput(); err != nil {
			return string(out)
		}
		return ""
	})
	w.mu.Lock()
	if len(w.twice) > 0 {
		w.t.Errorf("%s: machines were there twice: %v", what, w.twice)
	}
	w.mu.Unlock()
}

// eventually waits until missing returns an empty text.
func (w *world) eventually(what string, missing func() string) {
	w.t.Helper()
	end := time.Now().Add(waits.Limit)
	for {
		m := missing()
		if m == "" {
			return
		}
		if time.Now().After(end) {
			w.t.Fatalf("not seen: %s: %s", what, m)
		}
		time.Sleep(300 * time.Millisecond)
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

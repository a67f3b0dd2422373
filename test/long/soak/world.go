package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"fairlead.dev/providers/infrastructure/inmemory"
	"fairlead.dev/sources/git/gitserver"
)

// A world is what a fleet lives in: a Git server, a cloud and an agent.
type world struct {
	binary string
	dir    string
	bare   string // the fleet repository
	url    string // the same, over the server that fails
	git    *httptest.Server
	bad    atomic.Bool // the server fails
	empty  atomic.Bool // the server answers as if the repository were empty
	lags   atomic.Bool // the server answers reads as of some time ago, and takes pushes
	branch string      // with the status

	cloud    *exec.Cmd
	cloudURL string
	client   *inmemory.Client
	agent    *exec.Cmd

	judge *judge
	gate  *httptest.Server // the cloud as processes of the agent have it
	keys  *keyring         // nil: nothing is signed

	starts, kills, weathers, troubles int
}

func newWorld(ctx context.Context, binary, dir string) (*world, error) {
	w := &world{binary: binary, dir: dir, branch: "fairlead/status"}
	root := filepath.Join(dir, "git")
	if err := os.Mkdir(root, 0o700); err != nil {
		return nil, err
	}
	good, err := gitserver.New(root, gitserver.Options{})
	if err != nil {
		return nil, err
	}
	lossy, err := gitserver.New(root, gitserver.Options{After: func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "the answer to the push is lost", http.StatusBadGateway)
	}})
	if err != nil {
		return nil, err
	}
	if w.bare, err = good.Init("fleet.git"); err != nil {
		return nil, err
	}
	if _, err := good.Init("empty.git"); err != nil {
		return nil, err
	}
	w.git = httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		if w.empty.Load() {
			r.URL.Path = strings.Replace(r.URL.Path, "/fleet.git", "/empty.git", 1)
			good.ServeHTTP(out, r)
			return
		}
		if w.lags.Load() && !strings.Contains(r.URL.Path+r.URL.RawQuery, "git-receive-pack") {
			r.URL.Path = strings.Replace(r.URL.Path, "/fleet.git", "/"+behind, 1)
			good.ServeHTTP(out, r)
			return
		}
		switch n := rand.IntN(20); {
		case !w.bad.Load() || n > 3:
			good.ServeHTTP(out, r)
		case n > 1:
			lossy.ServeHTTP(out, r)
		default:
			http.Error(out, "the server has a bad day", http.StatusServiceUnavailable)
		}
	}))
	w.bad.Store(true)
	w.url = w.git.URL + "/fleet.git"
	if err := w.startCloud(ctx); err != nil {
		return w, err
	}
	if w.judge, err = newJudge(w.cloudURL); err != nil {
		return w, err
	}
	w.gate = httptest.NewServer(w.judge)
	return w, nil
}

func (w *world) startCloud(ctx context.Context) error {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	address := l.Addr().String()
	l.Close()
	w.cloudURL = "http://" + address
	if w.cloud, err = w.start("cloud.log", "inmemory", "--listen", address); err != nil {
		return err
	}
	if w.client, err = inmemory.Dial(w.cloudURL); err != nil {
		return err
	}
	for range 100 {
		if _, err = w.client.VMs(ctx, nil); err == nil {
			return nil
		}
		if err := wait(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
	return fmt.Errorf("the cloud does not answer: %w", err)
}

// command returns the program with args, in an environment of its own.
func (w *world) command(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(context.Background(), w.binary, args...) // close ends it
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + w.home(),
		"FAIRLEAD_SECRETS=" + filepath.Join(w.dir, "secrets"), "FAIRLEAD_INMEMORY_URL=" + w.cloudURL,
	}
	return cmd
}

// home is the agent's disk, but for the secrets.
func (w *world) home() string { return filepath.Join(w.dir, "home") }

// start runs the program with args, and appends what it says to a log.
func (w *world) start(log string, args ...string) (*exec.Cmd, error) {
	return w.startIn(nil, log, args...)
}

// startIn is start with further variables.
func (w *world) startIn(env []string, log string, args ...string) (*exec.Cmd, error) {
	file, err := os.OpenFile(filepath.Join(w.dir, log), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	cmd := w.command(args...)
	cmd.Env = append(cmd.Env, env...)
	cmd.Stdout, cmd.Stderr = file, file
	return cmd, cmd.Start()
}

// startAgent starts the agent with nothing but its secrets.
func (w *world) startAgent() error {
	if err := os.RemoveAll(w.home()); err != nil {
		return err
	}
	if err := os.Mkdir(w.home(), 0o700); err != nil {
		return err
	}
	w.starts++
	var err error
	w.agent, err = w.startIn([]string{fmt.Sprintf("FAIRLEAD_INMEMORY_URL=%s/%d", w.gate.URL, w.starts)}, "agent.log",
		append([]string{"agent", "--source", w.url, "--name", "soak", "--listen", "", "--interval", "500ms", "--status-interval", "500ms", "--resync", "2s"}, w.keys.flags()...)...)
	return err
}

// kill ends the agent as a power cut does. An agent that ended by itself is an
// error.
func (w *world) kill() error {
	w.kills++
	if err := w.agent.Process.Kill(); err != nil {
		return fmt.Errorf("the agent had ended: %w", err)
	}
	var exit *exec.ExitError
	if err := w.agent.Wait(); !errors.As(err, &exit) || exit.Exited() {
		return fmt.Errorf("the agent had ended by itself (%w): see agent.log", err)
	}
	return nil
}

// weather changes how the cloud misbehaves.
func (w *world) weather(ctx context.Context, r *rand.Rand) error {
	w.weathers++
	f := inmemory.Faults{
		Lag:         time.Duration(r.IntN(700)) * time.Millisecond,
		SlowDelete:  time.Duration(r.IntN(500)) * time.Millisecond,
		LoseAnswers: r.IntN(4), LoseRequests: r.IntN(4), FailListings: r.IntN(6),
	}
	switch r.IntN(6) {
	case 0:
		f.OutageUntil = time.Now().Add(time.Duration(r.IntN(3000)) * time.Millisecond)
	case 1:
		f.Quota = 10
	case 2:
		f.RateLimit = 20
	}
	return w.client.SetFaults(ctx, f)
}

// calm ends all misbehaviour.
func (w *world) calm(ctx context.Context) error {
	w.bad.Store(false)
	return w.client.SetFaults(ctx, inmemory.Faults{})
}

// close ends what runs.
func (w *world) close() error {
	var errs []error
	for _, cmd := range []*exec.Cmd{w.agent, w.cloud} {
		if cmd != nil && cmd.ProcessState == nil {
			errs = append(errs, cmd.Process.Kill())
			_ = cmd.Wait() // it was killed
		}
	}
	w.git.Close()
	if w.gate != nil {
		w.gate.Close()
	}
	return errors.Join(errs...)
}

// foreign makes what others have in the same cloud, some of it with names and
// tags much like ours, and returns it.
func (w *world) foreign(ctx context.Context) ([]string, error) {
	for i, tags := range []map[string]string{
		nil,
		{"fairlead.dev/cluster": "soak/c0"},
		{"fairlead.dev/fleet": "theirs", "fairlead.dev/cluster": "soak/c0"},
	} {
		n, err := w.client.CreateNetwork(ctx, inmemory.NetworkSpec{Name: "c0", Tags: tags})
		if err != nil {
			return nil, err
		}
		_, err = w.client.CreateVM(ctx, inmemory.VMSpec{
			Name: fmt.Sprintf("c0-cp-%d", i), Network: n.ID, Tags: tags, Version: older, UserData: []byte("#cloud-config\n{}\n"),
		})
		if err != nil {
			return nil, err
		}
	}
	return w.list(ctx, func(tags map[string]string) bool { return tags["fairlead.dev/fleet"] != "harbour" })
}

// untouched reports what of theirs was changed, and what has no owner.
func (w *world) untouched(ctx context.Context, theirs []string) error {
	now, err := w.list(ctx, func(map[string]string) bool { return true })
	if err != nil {
		return err
	}
	if !slices.Equal(now, theirs) {
		return fmt.Errorf("what is left in the cloud is\n%s\nand must be what others have:\n%s",
			strings.Join(now, "\n"), strings.Join(theirs, "\n"))
	}
	return nil
}

// list returns the machines and networks whose tags are wanted, sorted.
func (w *world) list(ctx context.Context, wanted func(map[string]string) bool) ([]string, error) {
	vms, err := w.client.VMs(ctx, nil)
	if err != nil {
		return nil, err
	}
	networks, err := w.client.Networks(ctx, nil)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, v := range vms {
		if wanted(v.Tags) {
			out = append(out, fmt.Sprintf("machine %s %s %v", v.ID, v.Name, v.Tags))
		}
	}
	for _, n := range networks {
		if wanted(n.Tags) {
			out = append(out, fmt.Sprintf("network %s %s %v", n.ID, n.Name, n.Tags))
		}
	}
	slices.Sort(out)
	return out, nil
}

// run runs the program and returns what it said and its exit code.
func (w *world) run(args ...string) (string, int, error) {
	cmd := w.command(args...)
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = io.Writer(&out), &out
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return out.String(), exit.ExitCode(), nil
	}
	return out.String(), 0, err
}

package e2e

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/sources/git"
	"fairlead.dev/sources/git/gitserver"
	"fairlead.dev/sources/status"
	"fairlead.dev/test/lab/kubernetes/lab"
)

const (
	// patience bounds how long anything may take on a slow machine.
	patience = 15 * time.Minute
	// balancer is what the role of a host for a load balancer ends with.
	balancer = "balancer"
)

// labName is of the lab that is these tests' own: two that run beside each other need two.
func labName() string { return cmp.Or(os.Getenv("FAIRLEAD_TEST_E2E_LAB"), "e2e") }

func TestMain(m *testing.M) {
	lab.Hook()
	if os.Getenv("FAIRLEAD_TEST_E2E") != "" {
		if err := lab.Enter(context.Background(), labName()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

// A world is a lab, a Git server in its network, and an agent that is a process.
type world struct {
	t       *testing.T
	ctx     context.Context
	binary  string // of Fairlead
	lab     *lab.Lab
	hosts   []host
	repo    *repository
	source  string // URL of the repository
	secrets string // folder, or what else --secrets takes
	agent   *os.Process
	logs    string   // folder
	flags   []string // of the agent, besides those of all
	env     []string // the same
	// resolver, if not empty, is a file like /etc/resolv.conf for processes that reach API servers.
	resolver string
	was      string // digest of the cluster's definition before the last push
	pushed   time.Time

	agentEnded chan struct{}
	mishap     func() // may happen whenever a test waits
	killed     int    // how often it did
}

// newWorld makes a world with machines of the roles of hosts, in their order.
func newWorld(t *testing.T, version string, roles ...string) *world {
	t.Helper()
	if os.Getenv("FAIRLEAD_TEST_E2E") == "" {
		t.Skip("it needs root, images of the lab and minutes: `make e2e` runs it")
	}
	w := &world{t: t, ctx: t.Context(), secrets: filepath.Join(t.TempDir(), "secrets"), logs: logDir(t)}
	var err error
	if w.binary, err = filepath.Abs(os.Getenv("FAIRLEAD_TEST_E2E")); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(w.binary); err != nil {
		t.Fatalf("FAIRLEAD_TEST_E2E is the path of the program to test: %v", err)
	}
	if short, err := lab.Shortage(len(roles)); err != nil || short != "" {
		t.Fatal(short, err)
	}
	start := time.Now()
	if w.lab, err = lab.Up(w.ctx, lab.Options{Name: labName(), Machines: len(roles), Version: version}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.end)
	w.measure("%d machines answer on SSH %s after they were switched on", len(roles), since(start))
	for i, m := range w.lab.Machines() {
		key, err := m.HostKey()
		if err != nil {
			t.Fatal(err)
		}
		w.hosts = append(w.hosts, host{Name: m.Name, Address: m.Address, HostKey: strings.TrimSpace(key), Role: roles[i]})
	}
	root := t.TempDir()
	server, err := gitserver.New(root, gitserver.Options{})
	if err != nil {
		t.Fatal(err)
	}
	http := httptest.NewUnstartedServer(server) // pods in machines of the lab reach it, too
	http.Listener.Close()
	if http.Listener, err = (&net.ListenConfig{}).Listen(w.ctx, "tcp", lab.Gateway+":0"); err != nil {
		t.Fatal(err)
	}
	http.Start()
	t.Cleanup(http.Close)
	w.repo, w.source = newRepository(t, root), http.URL+"/fleet.git"
	return w
}

// end keeps what a failed test is understood with, and removes the lab.
func (w *world) end() {
	w.stopAgent()
	if w.t.Failed() {
		ctx := context.WithoutCancel(w.ctx)
		for _, m := range w.lab.Machines() {
			out, err := m.Exec(ctx, "sh", "-c", "cat /var/lib/fairlead/host/machines/*/log /var/log/cloud-init-output.log; journalctl --no-pager -n 100 -u kubelet -u containerd")
			if err != nil {
				out += err.Error()
			}
			if err := os.WriteFile(filepath.Join(w.logs, m.Name+".log"), []byte(out), 0o600); err != nil {
				w.t.Error(err)
			}
		}
	}
	if os.Getenv("FAIRLEAD_TEST_KEEP") != "" {
		w.t.Logf("the lab stays: look into it with lab -name %s", labName())
		if err := w.lab.Release(); err != nil {
			w.t.Error(err)
		}
		return
	}
	if err := w.lab.Down(); err != nil {
		w.t.Error(err)
	}
}

// put pushes c.
func (w *world) put(what string, c cluster) {
	w.t.Helper()
	w.was = ""
	if r, ok := w.report(c); ok {
		w.was = r.Digest
	}
	w.repo.put(c)
	w.pushed = time.Now()
	w.repo.push(what)
}

func (w *world) report(c cluster) (fleet.Report, bool) {
	s, err := w.status()
	if err != nil {
		return fleet.Report{}, false
	}
	r, ok := s.Cluster(fleet.Key{Namespace: "prod", Name: c.Name})
	return r.Report, ok
}

// status reads the status branch, as everybody can.
func (w *world) status() (status.Status, error) {
	r, err := git.New(git.Options{URL: w.source, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return status.Status{}, err
	}
	b, err := r.Branch("fairlead/status", git.BranchOptions{})
	if err != nil {
		return status.Status{}, err
	}
	_, tree, err := b.Read(w.ctx)
	if err != nil {
		return status.Status{}, err
	}
	return status.Read(tree)
}

// wait polls until done says so, and fails the test when it does not come about.
func (w *world) wait(what string, done func() (bool, string)) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.ctx, patience)
	defer cancel()
	for {
		if w.mishap != nil {
			w.mishap()
		}
		ok, seen := done()
		if ok {
			return
		}
		select {
		case <-ctx.Done():
			w.t.Fatalf("%s did not come about within %s; at last: %s", what, patience, seen)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// waitComplete waits until c is as the last push says: all machines and nodes
// ready, of the version, and nothing else.
func (w *world) waitComplete(c cluster) fleet.Report {
	w.t.Helper()
	var out fleet.Report
	w.wait(c.Name+" complete", func() (bool, string) {
		s, err := w.status()
		if err != nil {
			return false, err.Error()
		}
		r, ok := s.Cluster(fleet.Key{Namespace: "prod", Name: c.Name})
		if !ok {
			return false, fmt.Sprintf("no report; problems of the fleet: %v", s.Fleet.Problems)
		}
		out = r.Report
		return out.Digest != w.was && complete(c, out), describe(out) + fmt.Sprintf("\n  problems of the fleet: %v", s.Fleet.Problems)
	})
	return out
}

func complete(c cluster, r fleet.Report) bool {
	for _, p := range r.Pools {
		n := c.ControlPlanes
		if p.Role == fleet.RoleWorker {
			n = c.workers(string(p.Name))
		}
		if p.Desired != n || p.Current != n || p.Ready != n || p.UpToDate != n || p.Version != c.Version {
			return false
		}
	}
	for _, m := range r.Machines {
		if m.Phase != fleet.MachinePhaseRunning || m.Version != c.Version {
			return false
		}
	}
	return r.Phase == fleet.PhaseProvisioned && len(r.Machines) == c.machines() && r.Failure == "" && len(r.Problems) == 0
}

// describe says how a cluster is.
func describe(r fleet.Report) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s at %s", r.Phase, r.Endpoint.Host)
	for _, p := range r.Pools {
		fmt.Fprintf(&b, ", %s %d/%d ready, %d up to date", p.Name, p.Ready, p.Desired, p.UpToDate)
	}
	for _, c := range r.Conditions {
		if c.Status != "True" && c.Message != "" {
			fmt.Fprintf(&b, "\n  %s %s %s: %s", c.Type, c.Status, c.Reason, c.Message)
		}
	}
	for _, m := range r.Machines {
		fmt.Fprintf(&b, "\n  %s %s %s %s", m.Machine.Name, m.Phase, m.Machine.State, m.Machine.Message)
	}
	fmt.Fprintf(&b, "\n  waiting: %v, failure: %s, problems: %v", r.Waiting, r.Failure, r.Problems)
	return b.String()
}

// measure prints what was measured.
func (w *world) measure(format string, args ...any) {
	fmt.Printf("    measured: "+format+"\n", args...)
}

func since(t time.Time) string { return time.Since(t).Round(100 * time.Millisecond).String() }

// key returns the private key that hosts accept.
func (w *world) key() string {
	w.t.Helper()
	b, err := os.ReadFile(w.lab.Key)
	if err != nil {
		w.t.Fatal(err)
	}
	return string(b)
}

// plan runs `fairlead plan` and returns what it prints, and an error unless there
// is nothing to do.
func (w *world) plan() (string, error) {
	c := w.resolving(exec.CommandContext(w.ctx, w.binary, "plan", w.source, "--secrets", w.secrets))
	c.Env = append(os.Environ(), w.env...)
	out, err := c.CombinedOutput()
	return string(out), err
}

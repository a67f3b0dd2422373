package openstack_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/keypairs"

	"fairlead.dev/agent"
	"fairlead.dev/agent/observability/metrics"
	"fairlead.dev/agent/wiring"
	"fairlead.dev/fleet"
	"fairlead.dev/providers/all"
	"fairlead.dev/providers/workload"
	"fairlead.dev/sources/git/gitserver"
	"fairlead.dev/sources/status"
	"fairlead.dev/test/lab/openstack/lab"
)

// patience bounds how long anything may take on a slow machine.
const patience = 10 * time.Minute

// A world is a project of the lab with a Git server and what is in its servers.
type world struct {
	t       *testing.T
	log     *slog.Logger
	project *lab.Project
	proxy   *proxy
	boots   *booter
	root    string // of the Git server
	git     *httptest.Server
}

func newWorld(t *testing.T) *world {
	t.Helper()
	if os.Getenv("FAIRLEAD_TEST_OPENSTACK") == "" {
		t.Skip("it takes minutes: `make test-openstack` runs it")
	}
	t.Parallel()
	w := &world{t: t, project: lab.NewProject(t), root: t.TempDir()}
	if _, err := keypairs.Create(t.Context(), w.project.Clients(t).Compute, keypairs.CreateOpts{Name: "ops"}).Extract(); err != nil {
		t.Fatal(err)
	}
	file, err := os.Create(filepath.Join(logDir(t), strings.ReplaceAll(t.Name(), "/", "_")+".log"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	w.log = slog.New(slog.NewTextHandler(file, &slog.HandlerOptions{Level: slog.LevelDebug}))
	w.proxy = newProxy(t, w.project)
	w.boots = newBooter(t, w.project, w.log.With("part", "booter"))
	server, err := gitserver.New(w.root, gitserver.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w.git = httptest.NewServer(server)
	t.Cleanup(w.git.Close)
	return w
}

// logDir is where the logs of agents go: FAIRLEAD_TEST_LOGS, or a folder that
// goes with the test.
func logDir(t *testing.T) string {
	t.Helper()
	if d := os.Getenv("FAIRLEAD_TEST_LOGS"); d != "" {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
		return d
	}
	return t.TempDir()
}

// cloudsYAML is the credential of the project's user, through the proxy.
func (w *world) cloudsYAML() []byte {
	return []byte(strings.Replace(string(w.project.CloudsYAML()), w.project.AuthURL, w.proxy.AuthURL, 1))
}

// A ship is one fleet with its agent.
type ship struct {
	w    *world
	t    *testing.T
	repo *repository
	s    wiring.Settings
	stop func() // ends the agent

	resync time.Duration        // of the agent
	was    map[fleet.Key]string // digests of the definitions before the last put
}

// newShip makes a fleet called name, with an agent that runs.
func (w *world) newShip(name string) *ship {
	w.t.Helper()
	h := w.newFleet(name)
	h.start()
	w.t.Cleanup(func() { h.stop() })
	return h
}

// newFleet makes a fleet called name, which no agent follows yet.
func (w *world) newFleet(name string) *ship {
	w.t.Helper()
	h := &ship{w: w, t: w.t, repo: newRepository(w.t, w.root, name), resync: 5 * time.Second, was: make(map[fleet.Key]string)}
	h.s = wiring.Settings{
		Built:  wiring.Built{Providers: all.Factories(), Distributions: all.Distributions, Kinds: all.Kinds(), ControlPlanes: all.ControlPlanes, Helm: all.Helm},
		Source: w.git.URL + "/" + name + ".git", StatusInterval: time.Second,
		Secrets: filepath.Join(w.t.TempDir(), "secrets"), Log: w.log.With("fleet", name),
		Providers: map[string]map[string]string{"openstack": {"tick": "3s", "settle": "4s", "rate": "200"}},
	}
	h.repo.push("an empty fleet")
	return h
}

// start starts the agent with nothing but what is on its disk: its secrets.
func (h *ship) start() {
	h.t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(h.t.Context()))
	m := metrics.New("test")
	world, err := wiring.OpenRuntime(ctx, h.s, wiring.ReadWrite, m)
	if err != nil {
		h.t.Fatal(err)
	}
	world.Workload.Close()
	world.Workload = workload.New(workload.Options{Dial: h.w.boots.Dial, Log: h.s.Log})
	a, err := wiring.NewAgent(h.s, agent.Options{Name: "test", Interval: time.Second, Resync: h.resync, Workers: 16}, world, m)
	if err != nil {
		h.t.Fatal(err)
	}
	var done sync.WaitGroup
	done.Go(func() {
		if err := a.Run(ctx); err != nil {
			h.t.Errorf("the agent ended: %v", err)
		}
	})
	h.stop = sync.OnceFunc(func() {
		cancel()
		done.Wait()
		if err := world.Close(); err != nil {
			h.t.Errorf("closing the agent: %v", err)
		}
	})
}

// put pushes the clusters cs as they are to be, which differs from how they were.
func (h *ship) put(what string, cs ...cluster) {
	h.t.Helper()
	before, _ := h.status() // there is none at first
	for _, c := range cs {
		if r, ok := before.Cluster(c.key()); ok {
			h.was[c.key()] = r.Report.Digest
		}
		h.repo.put(c, h.w.cloudsYAML())
	}
	h.repo.push(what)
}

func (h *ship) status() (status.Status, error) {
	return h.s.ReadStatus(h.t.Context(), "fairlead/status")
}

// wait polls until done says so.
func (h *ship) wait(what string, done func() (bool, string)) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), patience)
	defer cancel()
	last := ""
	for {
		ok, seen := done()
		if ok {
			return
		}
		last = seen
		select {
		case <-ctx.Done():
			h.t.Fatalf("%s did not come about within %s; at last: %s", what, patience, last)
		case <-time.After(500 * time.Millisecond):
		}
	}
}

// waitFor polls the status branch until the cluster is as done wants it.
func (h *ship) waitFor(what string, k fleet.Key, done func(fleet.Report) bool) fleet.Report {
	h.t.Helper()
	var out fleet.Report
	h.wait(k.String()+": "+what, func() (bool, string) {
		s, err := h.status()
		if err != nil {
			return false, err.Error()
		}
		c, ok := s.Cluster(k)
		if !ok {
			return false, fmt.Sprintf("no report; problems of the fleet: %v", s.Fleet.Problems)
		}
		out = c.Report
		return done(out), describe(out) + fmt.Sprintf("; problems of the fleet: %v; cannot boot: %v", s.Fleet.Problems, h.w.boots.cannot())
	})
	return out
}

func (b *booter) cannot() map[string]string {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := make(map[string]string, len(b.refused))
	for k, v := range b.refused {
		out[k] = v
	}
	return out
}

// waitComplete waits until all of cs are as Git says since the last put.
func (h *ship) waitComplete(cs ...cluster) {
	h.t.Helper()
	for _, c := range cs {
		h.waitFor("complete", c.key(), func(r fleet.Report) bool { return r.Digest != h.was[c.key()] && complete(c)(r) })
	}
}

// delete asks for the deletion of all of cs in Git, and waits until they are gone.
func (h *ship) delete(cs ...cluster) {
	h.t.Helper()
	for i := range cs {
		cs[i].Delete = true
	}
	h.put("delete", cs...)
	for _, c := range cs {
		h.waitDeleted(c)
	}
}

func (h *ship) waitDeleted(c cluster) {
	h.t.Helper()
	h.waitFor("deleted", c.key(), func(r fleet.Report) bool { return r.Phase == fleet.PhaseDeleted })
}

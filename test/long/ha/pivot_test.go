package ha

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"fairlead.dev/agent/ownership/pivot"
	"fairlead.dev/agent/secrets"
	"fairlead.dev/fleet"
	"fairlead.dev/sources"
	"fairlead.dev/sources/git"
	"fairlead.dev/sources/status"
	"fairlead.dev/test/run/waits"
)

// laptop is an agent beside the replicas, whose name is that of their Lease.
const laptop = "laptop"

// TestPivotOfReplicas moves a fleet away from replicas, to
// an agent with a folder of secrets, and back, while machines are being made; the
// leader is killed on the way. Whoever changes the cloud owns the fleet, and no
// machine that was there goes.
func TestPivotOfReplicas(t *testing.T) {
	long(t)
	w := newWorld(t, "--wait-for-ownership")
	m := w.move()
	for _, r := range []string{"r0", "r1", "r2"} {
		w.startReplica(r)
	}
	w.push(1)
	m.settled(lease, "kubernetes:"+w.kube.Kubeconfig)
	before, err := w.machines(t.Context())
	w.must(err)

	m.startLaptop()
	w.push(2)
	m.run(laptop, m.there, m.here)
	m.settled(laptop, m.dir)

	// Whoever handed the fleet over ended: a kubelet begins it again.
	for _, r := range []string{"r0", "r1", "r2"} {
		w.signal(r, syscall.SIGKILL)
		w.startReplica(r)
	}
	leader := w.newLeader("")
	killed := make(chan struct{})
	go func() {
		defer close(killed)
		m.await("the fleet is asked for", func() bool { return m.status().Next.To == lease })
		w.signal(leader, syscall.SIGKILL)
		w.startReplica(leader)
	}()
	w.push(3)
	m.run(lease, m.here, m.there)
	<-killed
	m.settled(lease, "kubernetes:"+w.kube.Kubeconfig)

	after, err := w.machines(t.Context())
	w.must(err)
	for k, id := range before {
		if after[k] != id {
			t.Errorf("machine %s was %s and is %s", k, id, after[k])
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, wrong := range m.foreign {
		t.Error(wrong)
	}
	if m.changes[lease] == 0 || m.changes[laptop] == 0 {
		t.Errorf("both were to change the cloud, and did %v times", m.changes)
	}
}

// A move is a world whose fleet moves between the replicas and a laptop.
type move struct {
	*world
	dir         string // of the laptop's secrets
	branch      sources.Branch
	here, there secrets.Store

	mu      sync.Mutex
	foreign []string       // changes by an agent that did not own the fleet
	changes map[string]int // of the cloud, by agent
}

func (w *world) move() *move {
	w.t.Helper()
	m := &move{world: w, dir: filepath.Join(w.dir, "secrets"), changes: map[string]int{}}
	r, err := git.New(git.Options{URL: w.url, Log: slog.New(slog.DiscardHandler)})
	w.must(err)
	m.branch, err = r.Branch("fairlead/status", git.BranchOptions{})
	w.must(err)
	m.here, err = secrets.OpenFile(w.t.Context(), m.dir, secrets.Options{})
	w.must(err)
	there, err := secrets.OpenKubernetes(w.kube.Kubeconfig)
	w.must(err)
	m.there = secrets.OfFleet(there, "harbour")
	w.actors.check = m.mustOwn
	return m
}

// mustOwn notes a change of the cloud by an agent that does not own the fleet.
func (m *move) mustOwn(who, on string) {
	if on != theCloud {
		return
	}
	agent := lease
	if who == laptop {
		agent = laptop
	}
	owner, err := status.NewArbiter(m.branch).Owner(context.Background())
	m.mu.Lock()
	defer m.mu.Unlock()
	m.changes[agent]++
	if err != nil || owner.Agent != agent {
		m.foreign = append(m.foreign, fmt.Sprintf("%s changed the cloud, and the owner was %+v, %v", who, owner, err))
	}
}

func (m *move) status() status.Status {
	_, tree, err := m.branch.Read(context.Background())
	if err != nil {
		return status.Status{}
	}
	s, _ := status.Read(tree) // what cannot be read is looked at again
	return s
}

func (m *move) await(what string, so func() bool) {
	for end := time.Now().Add(waits.Limit); !so(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			m.t.Errorf("not seen: %s", what)
			return
		}
	}
}

// startLaptop starts the agent of the laptop, which waits for the fleet.
func (m *move) startLaptop() {
	c := m.start(laptop, "agent", "--source", m.gitFor(laptop), "--name", laptop, "--listen", "", "--interval", "500ms", "--status-interval", "500ms",
		"--inmemory-url", m.cloudFor(laptop), "--secrets", m.dir, "--wait-for-ownership")
	m.mu.Lock()
	defer m.mu.Unlock()
	m.world.mu.Lock()
	m.replicas[laptop] = c
	m.world.mu.Unlock()
}

// run moves the fleet.
func (m *move) run(to string, from, into secrets.Store) {
	m.t.Helper()
	ctx, cancel := context.WithTimeout(m.t.Context(), 3*time.Minute)
	defer cancel()
	err := pivot.New(pivot.Destination{To: to}, pivot.Parts{
		Arbiter: status.NewArbiter(m.branch), From: from, To: into, ID: rand.Text, PollInterval: 200 * time.Millisecond,
		Status: func(context.Context) (status.Status, error) { return m.status(), nil },
		Clusters: func(context.Context) (keys []fleet.Key, err error) {
			for i := range clusters {
				keys = append(keys, fleet.Key{Namespace: m.namespace, Name: fmt.Sprintf("c%d", i)})
			}
			return keys, nil
		},
	}).Run(ctx)
	m.must(err)
}

// settled waits until the cloud, the status and the plan are as Git says.
func (m *move) settled(owner, store string) {
	m.t.Helper()
	m.eventually("a calm fleet of "+owner, func() string {
		machines, err := m.machines(m.t.Context())
		if want := clusters * (1 + m.workers); err != nil || len(machines) != want {
			return fmt.Sprintf("%d machines, not %d (%s)", len(machines), want, text(err))
		}
		out, _ := m.command("status", m.url).CombinedOutput()
		if strings.Count(string(out), "Provisioned") != clusters || !strings.Contains(string(out), "owned by "+owner+" ") || m.status().Next.To != "" {
			return string(out)
		}
		if out, err := m.command("plan", m.url, "--secrets", store).CombinedOutput(); err != nil {
			return string(out)
		}
		return ""
	})
}

package status_test

import (
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
	"fairlead.dev/sources/git/gitserver"
	"fairlead.dev/sources/status"
	"fairlead.dev/test/run/short"
)

// A cost is what commits to a status branch take, in bytes for each of them.
type cost struct {
	pushed   float64 // bodies of the pushes, as they are on the wire
	received float64 // on the server's disk, before it tidies up
	tidied   float64 // on the server's disk, after git gc
}

// churn writes a fleet of so many clusters of 13 machines in one namespace, and then
// commits in each of which one to five clusters change, to a server that runs git
// http-backend.
func churn(tb testing.TB, clusters, commits int) cost {
	tb.Helper()
	var pushed atomic.Int64
	bare, url := served(tb, gitserver.Options{Before: func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/git-receive-pack") {
			r.Body = counted{r.Body, &pushed}
		}
		return false
	}})
	run(tb, "-C", bare, "config", "receive.autogc", "false")
	b := gitBranch(tb, url)
	if _, err := status.NewArbiter(b).Claim(tb.Context(), "agent-a", ""); err != nil {
		tb.Fatal(err)
	}
	w := writer(b, status.Options{Now: time.Now})
	random := rand.New(rand.NewPCG(1, 2))
	reports := make([]fleet.Report, clusters)
	for i := range reports {
		reports[i] = fleetMember(random, i)
		w.Put(reports[i])
	}
	w.PutFleet(sources.FleetStatus{Fleet: "demo", Revision: reports[0].Revision, Applied: reports[0].Revision})
	flushed := func() {
		if _, err := w.Flush(tb.Context()); err != nil {
			tb.Fatal(err)
		}
	}
	flushed()
	tidy := func() { run(tb, "-C", bare, "repack", "-adfq") } // as git gc does where it reuses nothing, so that both sizes are of one kind
	tidy()
	before := cost{float64(pushed.Load()), float64(size(tb, bare)), float64(size(tb, bare))}
	for range commits {
		for range 1 + random.IntN(5) {
			i := random.IntN(clusters)
			happens(random, &reports[i])
			w.Put(reports[i])
		}
		flushed()
	}
	c := cost{pushed: float64(pushed.Load()) - before.pushed, received: float64(size(tb, bare)) - before.received}
	tidy()
	c.tidied = float64(size(tb, bare)) - before.tidied
	run(tb, "-C", bare, "fsck", "--strict")
	n := float64(commits)
	return cost{c.pushed / n, c.received / n, c.tidied / n}
}

type counted struct {
	io.ReadCloser
	n *atomic.Int64
}

func (c counted) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.n.Add(int64(n))
	return n, err
}

// size returns the bytes of the objects of a repository.
func size(tb testing.TB, bare string) (n int64) {
	tb.Helper()
	err := filepath.WalkDir(filepath.Join(bare, "objects"), func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			n += info.Size()
		}
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return n
}

func letters(random *rand.Rand, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = "bcdfghjklmnpqrstvwxz2456789"[random.IntN(27)]
	}
	return string(b)
}

// fleetMember returns a cluster of three control-plane machines and ten workers.
func fleetMember(random *rand.Rand, i int) fleet.Report {
	r := report(fleet.PhaseProvisioned)
	r.Cluster.Name = fmt.Sprintf("eu-%04d", i)
	r.Overlay = "clusters/prod/" + r.Cluster.Name
	r.Digest = "sha256:" + letters(random, 64)
	r.Endpoint = fleet.Endpoint{Host: fmt.Sprintf("10.1.%d.%d", i/250, i%250), Port: 6443}
	r.Waiting, r.ObservedConditions, r.Actions, r.Clock = nil, nil, nil, fleet.Clock{}
	r.Conditions = nil
	for _, c := range []string{"Available", "InfrastructureReady", "ControlPlaneInitialized", "ControlPlaneAvailable", "WorkersAvailable", "RollingOut", "Remediating"} {
		r.Conditions = append(r.Conditions, fleet.Condition{Type: c, Status: fleet.True, Reason: c})
	}
	r.Pools = []fleet.PoolReport{
		{Name: fleet.PoolName(r.Cluster.Name + "-cp"), Role: fleet.RoleControlPlane, Version: "v1.35.4", Desired: 3, Current: 3, UpToDate: 3, Ready: 3, Available: 3},
		{Name: fleet.PoolName(r.Cluster.Name + "-md-0"), Role: fleet.RoleWorker, Version: "v1.35.4", Desired: 10, Current: 10, UpToDate: 10, Ready: 10, Available: 10},
	}
	r.Machines = nil
	for j := range 13 {
		pool := r.Pools[min(j/3, 1)]
		r.Machines = append(r.Machines, member(random, pool))
	}
	return r
}

func member(random *rand.Rand, pool fleet.PoolReport) fleet.MachineReport {
	name := string(pool.Name) + "-" + letters(random, 5)
	m := report("").Machines[0]
	m.Machine.Name, m.Machine.Pool, m.Machine.Role = fleet.MachineName(name), pool.Name, pool.Role
	m.Machine.ProviderID = fleet.ProviderID("openstack:///" + letters(random, 36))
	m.Machine.Operation = fleet.OperationID(letters(random, 16))
	m.Machine.Template = fleet.TemplateHash("1-" + letters(random, 8))
	m.Machine.Created = clock().Add(time.Duration(random.IntN(1e6)) * time.Second)
	m.Joined = m.Machine.Created.Add(time.Minute)
	m.Machine.Addresses = []string{fmt.Sprintf("10.%d.%d.%d", random.IntN(200), random.IntN(250), random.IntN(250))}
	m.Node = name
	m.Conditions = nil
	for _, c := range []string{"Ready", "Available", "InfrastructureReady", "BootstrapConfigReady", "NodeHealthy", "NodeReady", "UpToDate"} {
		m.Conditions = append(m.Conditions, fleet.Condition{Type: c, Status: fleet.True, Reason: c})
	}
	return m
}

// happens changes r as the life of a cluster does.
func happens(random *rand.Rand, r *fleet.Report) {
	r.Machines = append([]fleet.MachineReport(nil), r.Machines...)
	i := random.IntN(len(r.Machines))
	name := string(r.Machines[i].Machine.Name)
	r.Waiting, r.Actions = nil, nil
	switch random.IntN(4) {
	case 0: // a machine is replaced
		r.Machines[i] = member(random, fleet.PoolReport{Name: r.Machines[i].Machine.Pool, Role: r.Machines[i].Machine.Role})
		r.Actions = []string{"DeleteMachine " + name + ": it is not up to date", "CreateMachine " + string(r.Machines[i].Machine.Name) + ": pool has 9 of 10 machines"}
		r.Waiting = []string{"machine " + string(r.Machines[i].Machine.Name) + " to become a node"}
	case 1: // a node is not ready, or ready again
		m := &r.Machines[i]
		m.Conditions = append([]fleet.Condition(nil), m.Conditions...)
		s, message := fleet.False, "* NodeReady: kubelet stopped posting node status"
		if m.Conditions[0].Status == fleet.False {
			s, message = fleet.True, ""
		}
		for j := range 2 {
			m.Conditions[j].Status, m.Conditions[j].Message = s, message
		}
	case 2: // a pass fails, or does not any more
		if r.Failure != "" {
			r.Failure = ""
			return
		}
		r.Failure = "list servers of project " + letters(random, 8) + ": the cloud does not answer (HTTP 503 Service Unavailable)"
	case 3: // a new definition
		r.Revision.Digest = "sha1:" + strings.Repeat(letters(random, 4), 10)
		r.Digest = "sha256:" + letters(random, 64)
		if r.Phase = fleet.PhaseWorkers; random.IntN(2) == 0 {
			r.Phase = fleet.PhaseProvisioned
		}
	}
}

// At 1,000 clusters a commit costs at most 4 KB on average: on the wire, and for good on a
// server that tidies up as all do.
func TestBytesOfACommit(t *testing.T) {
	c := churn(t, 1000, short.Number(t, 4, 15))
	t.Logf("bytes for each commit: %.0f pushed, %.0f received, %.0f after gc", c.pushed, c.received, c.tidied)
	if c.pushed > 4096 {
		t.Errorf("a commit takes %.0f bytes to push", c.pushed)
	}
	if c.tidied > 4096 {
		t.Errorf("a commit takes %.0f bytes on the server", c.tidied)
	}
}

// BenchmarkChurn tells what a commit costs in a fleet of 1,000 clusters.
func BenchmarkChurn(b *testing.B) {
	var c cost
	for b.Loop() {
		c = churn(b, 1000, 300)
	}
	b.ReportMetric(c.pushed, "pushed-B/commit")
	b.ReportMetric(c.received, "received-B/commit")
	b.ReportMetric(c.tidied, "tidied-B/commit")
}

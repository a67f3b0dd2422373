package reconcile_test

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"fairlead.dev/agent/secrets"
	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/distribution/kubeadm"
	"fairlead.dev/providers/infrastructure/inmemory"
	"fairlead.dev/providers/workload"
	"fairlead.dev/reconcile"
)

// A world is a cloud, a secret store and one agent at a time. The agent ends
// with a crash whenever a call is made whose number is in crashAt.
type world struct {
	t       testing.TB
	net     *inmemory.PipeNetwork
	cloud   *inmemory.Cloud
	secrets reconcile.SecretStore
	shared  reconcile.SecretStore // if set, how the agent sees secrets
	foreign []string              // ids of machines that are not ours

	// upset, if set, is called before each pass and may break the cloud.
	upset      func(pass int, f *inmemory.Faults)
	slow       func(call string) // if set, is called before each call to the cloud, and may take its time
	edit       *strings.Replacer // changes what Git asks for
	pass       int
	reported   func(fleet.Report)        // if set, gets each report
	conditions []fleet.ObservedCondition // that the last report told of
	syncs      int                       // calls of SyncNode
	cut        bool                      // no API server can be reached

	mu      sync.Mutex
	calls   int
	crashAt map[int]bool
	crashes int
	crash   context.CancelFunc // ends the agent that lives now
}

const (
	lag    = 2 * time.Second
	settle = 5 * time.Second
)

func newWorld(t testing.TB, crashAt ...int) *world {
	w := &world{t: t, net: inmemory.NewPipeNetwork(), secrets: secrets.NewMemory(), crashAt: map[int]bool{}, edit: strings.NewReplacer()}
	w.cloud = inmemory.NewCloud(inmemory.CloudOptions{
		ID: "sweep", Listen: w.net.Listen, Hook: func(call string, at inmemory.Moment) {
			if w.slow != nil && at == inmemory.Before {
				w.slow(call)
			}
			w.called()
		},
		Faults: inmemory.Faults{Lag: lag, SlowDelete: time.Second},
	})
	w.plantForeign()
	for _, n := range crashAt {
		w.crashAt[n] = true
	}
	w.calls = 0
	return w
}

// called counts a call, and crashes the agent where it is its turn.
func (w *world) called() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls++
	if w.crashAt[w.calls] && w.crash != nil {
		delete(w.crashAt, w.calls)
		w.crashes++
		w.crash()
	}
}

// plantForeign makes what is not ours: no tags, another fleet's, another
// cluster's, all with names that look like ours.
func (w *world) plantForeign() {
	for i, tags := range []map[string]string{
		nil,
		{fleet.TagFleet: "other", fleet.TagCluster: "prod/eu-1"},
		{fleet.TagFleet: "test", fleet.TagCluster: "prod/eu-2"},
	} {
		ctx := context.Background()
		n, err := w.cloud.CreateNetwork(ctx, inmemory.NetworkSpec{Name: "prod/eu-1", Tags: tags})
		if err != nil {
			w.t.Fatal(err)
		}
		vm, err := w.cloud.CreateVM(ctx, inmemory.VMSpec{Name: fmt.Sprintf("eu-1-md-0-%d", i), Network: n.ID, Tags: tags, Version: "v1.33.5"})
		if err != nil {
			w.t.Fatal(err)
		}
		w.foreign = append(w.foreign, vm.ID)
	}
}

// An agent is one life of a reconciler.
type agent struct {
	r        *reconcile.Reconciler
	workload *workload.Client
	ctx      context.Context
}

func (w *world) start() *agent {
	return w.startWith(workload.New(workload.Options{Log: logger(), Dial: w.dial}))
}

// logger is that of agents.
func logger() *slog.Logger {
	if os.Getenv("SWEEP_LOG") != "" {
		return slog.New(slog.NewTextHandler(os.Stderr, nil))
	}
	return slog.New(slog.DiscardHandler)
}

// startWith begins the life of an agent that sees clusters through client.
func (w *world) startWith(client *workload.Client) *agent {
	ctx, crash := context.WithCancel(context.Background())
	w.mu.Lock()
	w.crash = crash
	w.mu.Unlock()
	infra := inmemory.NewProvider(w.cloud, settle)
	store := w.secrets
	if w.shared != nil {
		store = w.shared
	}
	return &agent{ctx: ctx, workload: client, r: reconcile.New(reconcile.Options{
		Infrastructure: func(string) (providers.Infrastructure, error) { return infra, nil },
		Workload:       crashing{client, w},
		Distributions:  w.distributions(client),
		Secrets:        store,
		Limits:         providers.Limits{inmemory.ProviderName: {VirtualIP: inmemory.Factory().VirtualIP}},
		Log:            logger(),
	})}
}

// dial reaches API servers, unless they are out of reach.
func (w *world) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if w.cut {
		return nil, &net.OpError{Op: "dial", Net: network, Err: syscall.ECONNREFUSED}
	}
	return w.net.DialContext(ctx, network, address)
}

// distributions are those that reach clusters through client.
func (w *world) distributions(client *workload.Client) providers.Distributions {
	return providers.Distributions{"KubeadmControlPlane": crashingKubeadm{kubeadm.New(client), w}}
}

// reach makes passes until phase is reached and nothing is to be done. Crashed
// agents are replaced by new ones that know nothing.
func (w *world) reach(clusterSpec clusterSpec, phase fleet.Phase) {
	w.t.Helper()
	c := decoded(w.t, w.edit.Replace(clusterSpec.manifests()))
	a := w.start()
	var last reconcile.Result
	deadline := time.Now().Add(2 * time.Hour)
	for time.Now().Before(deadline) {
		w.disturb()
		last = w.passWithMemory(a, c)
		if last.Report.Phase != "" {
			c = c.WithResidence(last.Report.Residence)
		}
		if w.reported != nil {
			w.reported(last.Report)
		}
		w.check()
		if a.ctx.Err() != nil {
			a.workload.Close()
			a = w.start()
			continue
		}
		if last.Plan.Phase == phase && len(last.Plan.Actions) == 0 && last.Err == nil {
			a.workload.Close()
			return
		}
		time.Sleep(min(max(last.After, 500*time.Millisecond), 10*time.Second))
	}
	for _, vm := range w.ours() {
		w.t.Logf("machine %s is %s: %s", vm.Name, vm.State, vm.Message)
	}
	w.t.Fatalf("not %s after two hours: phase %s, waiting for %q, failure %v", phase, last.Plan.Phase, last.Plan.Waiting, last.Err)
}

// passWithMemory makes a pass with what the last one recorded.
func (w *world) passWithMemory(a *agent, c *fleet.Cluster) reconcile.Result {
	known := fleet.Memory{Residence: c.Residence, ObservedConditions: w.conditions}
	res := a.r.Pass(a.ctx, c, known)
	w.conditions = res.Report.ObservedConditions
	return res
}

// disturb lets upset have its way.
func (w *world) disturb() {
	if w.pass++; w.upset == nil {
		return
	}
	f, _ := w.cloud.Faults(context.Background())
	w.upset(w.pass, &f)
	if err := w.cloud.SetFaults(context.Background(), f); err != nil {
		w.t.Fatal(err)
	}
}

// check holds what must be true at every moment.
func (w *world) check() {
	w.t.Helper()
	seen := map[string]int{}
	for _, vm := range w.ours() {
		if vm.State != fleet.MachineDeleting {
			seen[vm.Name]++
		}
	}
	for name, n := range seen {
		if n > 1 {
			w.t.Fatalf("%d machines are called %s", n, name)
		}
	}
}

func (w *world) ours() []inmemory.VM {
	return w.everything(map[string]string{fleet.TagFleet: "test", fleet.TagCluster: "prod/eu-1"})
}

// everything lists machines as the cloud itself knows them: not late, and not
// counted as a call.
func (w *world) everything(tags map[string]string) []inmemory.VM {
	w.mu.Lock()
	calls, crash := w.calls, w.crash
	w.crash = nil
	w.mu.Unlock()
	f, _ := w.cloud.Faults(context.Background())
	quiet := inmemory.Faults{}
	if err := w.cloud.SetFaults(context.Background(), quiet); err != nil {
		w.t.Fatal(err)
	}
	vms, err := w.cloud.VMs(context.Background(), tags)
	if err != nil {
		w.t.Fatal(err)
	}
	if err := w.cloud.SetFaults(context.Background(), f); err != nil {
		w.t.Fatal(err)
	}
	w.mu.Lock()
	w.calls, w.crash = calls, crash
	w.mu.Unlock()
	return vms
}

// nothingLeft checks the end: all of ours is gone, all that is not ours is there.
func (w *world) nothingLeft() {
	w.t.Helper()
	time.Sleep(time.Hour) // whatever was asked for has surfaced by now
	if left := w.ours(); len(left) > 0 {
		w.t.Fatalf("left over: %v", left)
	}
	var ids []string
	for _, vm := range w.everything(nil) {
		ids = append(ids, vm.ID)
	}
	for _, id := range w.foreign {
		if !slices.Contains(ids, id) {
			w.t.Fatalf("machine %s is gone and was not ours", id)
		}
	}
}

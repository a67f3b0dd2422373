package reconcile_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/agent/secrets"
	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/distribution/kubeadm"
	"fairlead.dev/reconcile"
)

// hostedKind is of the control planes that the double makes.
const hostedKind = "TestControlPlane"

// A yard is a cloud without control-plane machines, in which hosted control planes are made.
type yard struct {
	mu        sync.Mutex
	events    []string // what came about and what went, in that order
	plane     bool
	token     string // in the kubeconfig that the plane gives
	changed   time.Time
	shared    bool
	authority []byte // certificate, PEM
	machines  []fleet.Machine
}

func (y *yard) note(event string) { y.events = append(y.events, event) }

// take returns what happened since it was last called.
func (y *yard) take() []string {
	y.mu.Lock()
	defer y.mu.Unlock()
	out := y.events
	y.events = nil
	return out
}

// planes is what makes hosted control planes in a yard.
type planes struct{ *yard }

// takes is how long a plane needs to be ready.
const takes = 20 * time.Second

func (p planes) Observe(context.Context, *fleet.Cluster, providers.SecretReader) (providers.HostedObservation, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := fleet.HostedState{Exists: p.plane, Ready: p.plane && time.Since(p.changed) >= takes}
	if !s.Ready {
		s.Message = "its pods start"
		return providers.HostedObservation{State: s}, nil
	}
	s.Version, s.Endpoint = "v1.33.5", fleet.Endpoint{Host: "10.9.9.9", Port: 6443}
	return providers.HostedObservation{State: s, Secrets: map[fleet.SecretName]fleet.SecretData{
		fleet.Kubeconfig: {fleet.KubeconfigKey: fleet.NewSecret([]byte(p.token))},
		fleet.ClusterCA:  {fleet.TLSCertKey: fleet.NewSecret(p.authority)},
	}}, nil
}

func (p planes) Ensure(context.Context, fleet.OperationID, *fleet.Cluster) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.plane {
		p.note("plane made")
		p.plane, p.changed = true, time.Now()
	}
	return nil
}

func (p planes) Delete(context.Context, fleet.OperationID, *fleet.Cluster) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.note("plane deleted")
	p.plane = false
	return nil
}

func (p planes) Settle() time.Duration { return lag }

// ground is the infrastructure of a yard.
type ground struct{ *yard }

func (g ground) Observe(context.Context, *fleet.Cluster) (fleet.Infrastructure, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return fleet.Infrastructure{Exists: g.shared, Ready: g.shared, Machines: slices.Clone(g.machines)}, nil
}

func (g ground) EnsureInfrastructure(_ context.Context, _ fleet.OperationID, c *fleet.Cluster) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.note(fmt.Sprintf("infrastructure made for %s, elsewhere: %v", c.Endpoint.Host, c.ServedElsewhere()))
	g.shared = true
	return nil
}

func (g ground) DeleteInfrastructure(context.Context, fleet.OperationID, *fleet.Cluster) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.note("infrastructure deleted")
	g.shared = false
	return nil
}

func (g ground) CreateMachine(_ context.Context, op fleet.OperationID, r providers.MachineRequest) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	m := fleet.MachineFromTags(r.Tags(op))
	m.ProviderID, m.State, m.Created = fleet.ProviderID("yard://"+r.Name), fleet.MachineRunning, time.Now()
	g.note(string(m.Role) + " made")
	g.machines = append(g.machines, m)
	slices.SortFunc(g.machines, func(a, b fleet.Machine) int { return strings.Compare(string(a.Name), string(b.Name)) })
	return nil
}

func (g ground) DeleteMachine(_ context.Context, _ fleet.OperationID, _ *fleet.Cluster, name fleet.MachineName, _ fleet.ProviderID) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.note("worker deleted")
	g.machines = slices.DeleteFunc(g.machines, func(m fleet.Machine) bool { return m.Name == name })
	return nil
}

func (g ground) Settle() time.Duration { return lag }

// inside is what is in the cluster: each machine is a node that is ready.
type inside struct {
	providers.Workload
	*yard
}

func (i inside) Observe(_ context.Context, a providers.Access) (fleet.Workload, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if string(a.Kubeconfig.Reveal()) != i.token || !i.plane {
		return fleet.Workload{}, fleet.Errorf(fleet.Unauthorized, "observe nodes", "the kubeconfig is another one")
	}
	w := fleet.Workload{Reachable: true}
	for _, m := range i.machines {
		w.Nodes = append(w.Nodes, fleet.Node{
			Name: string(m.Name), ProviderID: m.ProviderID, Created: m.Created, KubeletVersion: m.Version, Ready: true,
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(m.Created)}},
		})
	}
	return w, nil
}

func (inside) SyncNode(context.Context, providers.Access, string, fleet.MachineName, fleet.Pool) error {
	return nil
}

func (inside) Forget(fleet.Key) {}

// joining is kubeadm of workers, which admits whoever it is asked for.
type joining struct {
	kubeadm.Hosted
	*yard
}

func (joining) Observe(_ context.Context, _ providers.Access, w *fleet.Workload) error {
	w.Version = "v1.33.5"
	return nil
}

func (j joining) Admit(_ context.Context, _ providers.Access, in providers.BootstrapInput, _ time.Duration) error {
	if len(in.Secrets[fleet.BootstrapSeed][fleet.SeedKey].Reveal()) == 0 {
		return fleet.Errorf(fleet.Unknown, "admit", "there is no seed")
	}
	return nil
}

// certificate returns that of an authority.
func certificate(t *testing.T) []byte {
	t.Helper()
	made, err := kubeadm.New(nil).NewSecrets(clusterSpec{1, 1, "v1.33.5", false}.cluster(t), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return made[fleet.ClusterCA][fleet.TLSCertKey].Reveal()
}

// start returns an agent that knows nothing, with a store.
func (y *yard) start(store reconcile.SecretStore) *reconcile.Reconciler {
	return reconcile.New(reconcile.Options{
		Infrastructure: func(string) (providers.Infrastructure, error) { return ground{y}, nil },
		Workload:       inside{yard: y}, Distributions: providers.Distributions{hostedKind: joining{yard: y}},
		ControlPlanes: providers.HostedControlPlanes{hostedKind: planes{y}}, Secrets: store, Log: logger(),
	})
}

// hosted returns what Git says of a cluster of so many workers.
func hosted(t *testing.T, workers int, gone bool) *fleet.Cluster {
	t.Helper()
	c := clusterSpec{1, workers, "v1.33.5", gone}.cluster(t)
	c.ControlPlane = fleet.Pool{}
	c.Hosted = &fleet.HostedControlPlane{Object: fleet.Object{Name: "plane"}, Version: "v1.33.5"}
	c.Hosted.Object.GVK.Kind = hostedKind
	return c
}

// passes makes passes by an agent that knows nothing until phase is reached.
func (y *yard) passes(t *testing.T, store reconcile.SecretStore, c *fleet.Cluster, phase fleet.Phase) {
	t.Helper()
	var last reconcile.Result
	agent := y.start(store)
	for range 200 {
		last = agent.Pass(t.Context(), c, fleet.Memory{})
		if last.Report.Phase != "" {
			c = c.WithResidence(last.Report.Residence)
		}
		if last.Report.Phase == phase && last.Err == nil && !last.Observed.ControlPlane.Stale {
			return
		}
		time.Sleep(10 * time.Second)
	}
	t.Fatalf("not %s: phase %s, waiting for %q, %v; %q", phase, last.Report.Phase, last.Plan.Waiting, last.Err, y.take())
}

// TestHostedOrder: the control plane is made first, what machines share then, then workers;
// they go the other way round, and secrets last.
func TestHostedOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		y, store := &yard{token: "first", authority: certificate(t)}, secrets.NewMemory()
		key := fleet.Key{Namespace: "prod", Name: "eu-1"}
		expect := func(when string, want ...string) {
			t.Helper()
			if got := y.take(); !slices.Equal(got, want) {
				t.Errorf("%s: %q, want %q", when, got, want)
			}
		}
		y.passes(t, store, hosted(t, 2, false), fleet.PhaseProvisioned)
		expect("creation", "plane made", "infrastructure made for 10.9.9.9, elsewhere: true", "worker made", "worker made")
		for _, name := range []fleet.SecretName{fleet.Kubeconfig, fleet.ClusterCA, fleet.BootstrapSeed} {
			if _, err := store.Get(t.Context(), key, name); err != nil {
				t.Error(err)
			}
		}

		y.mu.Lock()
		y.token = "second" // whoever keeps it has renewed the kubeconfig
		y.mu.Unlock()
		y.passes(t, store, hosted(t, 2, false), fleet.PhaseProvisioned)
		if d, err := store.Get(t.Context(), key, fleet.Kubeconfig); err != nil || string(d[fleet.KubeconfigKey].Reveal()) != "second" {
			t.Errorf("the stored kubeconfig is not the new one: %v", err)
		}
		expect("another kubeconfig")

		y.passes(t, store, hosted(t, 2, true), fleet.PhaseDeleted)
		expect("deletion", "worker deleted", "worker deleted", "infrastructure deleted", "plane deleted")
		for _, name := range fleet.SecretNames() {
			if _, err := store.Get(t.Context(), key, name); fleet.KindOf(err) != fleet.NotFound {
				t.Errorf("secret %s is left: %v", name, err)
			}
		}
	})
}

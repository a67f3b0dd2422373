package reconcile_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"fairlead.dev/agent/secrets"
	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/distribution/kubeadm"
	"fairlead.dev/reconcile"
)

// A stub is all that a Reconciler works with, and says what it is told to say.
type stub struct {
	providers.Infrastructure
	providers.Workload
	kubeadm.Distribution

	now      time.Time
	seen     fleet.Infrastructure
	lookErr  error // of a look at the infrastructure
	workload fleet.Workload
	down     error // of a look at the nodes
	etcd     *fleet.Etcd
	etcdDown error
	steps    []fleet.Step // that are due
	owner    error
	deposed  int           // the question by number that is the first to be answered with owner; 0: each is
	asked    int           // times
	sleeps   time.Duration // once it is asked for permission

	mu    sync.Mutex // of now, asked, sleeps and calls while a pass is made
	calls []string
}

func (s *stub) called(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, what)
}

func (s *stub) clock() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

// newStub returns a cluster with so many control-plane machines at rest.
func newStub(c *fleet.Cluster, controlPlanes int) *stub {
	s := &stub{now: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)}
	s.seen = fleet.Infrastructure{Exists: true, Ready: true, Endpoint: endpoint}
	s.etcd = &fleet.Etcd{}
	for i := range controlPlanes {
		name := fleet.NewMachineName(c.Key, c.ControlPlane.Name, c.ControlPlane.Template, i)
		s.seen.Machines = append(s.seen.Machines, fleet.Machine{
			Name: name, Pool: c.ControlPlane.Name, Role: fleet.RoleControlPlane, Template: c.ControlPlane.Template,
			Version: c.ControlPlane.Version, State: fleet.MachineRunning, Created: s.now,
		})
		s.workload.Nodes = append(s.workload.Nodes, fleet.Node{
			Name: string(name), Ready: true, ControlPlane: true,
			Annotations: fleet.NodeAnnotations(c.Key, c.ControlPlane, name),
		})
		s.workload.Servers = append(s.workload.Servers, fleet.Server{Node: string(name), Ready: true})
		s.etcd.Members = append(s.etcd.Members, fleet.Member{ID: uint64(i + 1), Name: string(name), Node: string(name), Healthy: true})
	}
	slices.SortFunc(s.seen.Machines, func(a, b fleet.Machine) int { return strings.Compare(string(a.Name), string(b.Name)) })
	s.workload.Reachable = true
	return s
}

var endpoint = fleet.Endpoint{Host: "10.0.0.1", Port: 6443}

func (s *stub) reconciler(t *testing.T, c *fleet.Cluster) *reconcile.Reconciler {
	t.Helper()
	return s.reconcilerOn(t, c, infrastructure{s})
}

// reconcilerOn is reconciler with another provider.
func (s *stub) reconcilerOn(t *testing.T, c *fleet.Cluster, p providers.Infrastructure) *reconcile.Reconciler {
	t.Helper()
	store := secrets.NewMemory()
	for _, name := range append(fleet.Authorities(), fleet.Kubeconfig) {
		if _, err := store.Create(t.Context(), c.Key, name, fleet.SecretData{"value": fleet.NewSecret([]byte("x"))}); err != nil {
			t.Fatal(err)
		}
	}
	return reconcile.New(reconcile.Options{
		Infrastructure: func(string) (providers.Infrastructure, error) { return p, nil },
		Workload:       nodes{s}, Distributions: providers.Distributions{"KubeadmControlPlane": distribution{s}}, Secrets: store,
		Now: s.clock, May: func(fleet.Key) error {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.now, s.sleeps = s.now.Add(s.sleeps), 0
			if s.asked++; s.asked < s.deposed {
				return nil
			}
			return s.owner
		},
	})
}

// A distribution is a stub as a providers.Distribution: all that it keeps in the cluster
// is as Git says, but for the step that it is told to have.
type distribution struct{ *stub }

func (s distribution) Steps(*fleet.Cluster, *fleet.Workload) []fleet.Step { return s.steps }

func (s distribution) Observe(context.Context, providers.Access, *fleet.Workload) error { return nil }

func (s distribution) Members(context.Context, providers.Access) (*fleet.Etcd, error) {
	s.called("Etcd")
	return s.etcd, s.etcdDown
}

func (s distribution) Admit(context.Context, providers.Access, providers.BootstrapInput, time.Duration) error {
	return nil
}

func (s distribution) Apply(_ context.Context, _ providers.Access, _ *fleet.Cluster, _ fleet.Endpoint, name string) error {
	s.called(name)
	return fleet.Errorf(fleet.Invalid, "migrate the Corefile", "no way back")
}

func (s distribution) InspectKubeconfig(fleet.SecretData) (fleet.KubeconfigState, error) {
	return fleet.KubeconfigState{Exists: true, Endpoint: endpoint, NotBefore: s.now, NotAfter: s.now.AddDate(1, 0, 0)}, nil
}

func (s distribution) UserData(providers.BootstrapInput) (providers.UserData, error) {
	return providers.UserData{}, nil
}

type infrastructure struct{ *stub }

func (s infrastructure) Observe(context.Context, *fleet.Cluster) (fleet.Infrastructure, error) {
	return s.seen, s.lookErr
}

func (s infrastructure) EnsureInfrastructure(context.Context, fleet.OperationID, *fleet.Cluster) error {
	s.called("EnsureInfrastructure")
	return nil
}

func (s infrastructure) CreateMachine(context.Context, fleet.OperationID, providers.MachineRequest) error {
	s.called("CreateMachine")
	return nil
}

func (s infrastructure) DeleteMachine(context.Context, fleet.OperationID, *fleet.Cluster, fleet.MachineName, fleet.ProviderID) error {
	s.called("DeleteMachine")
	return nil
}

func (s infrastructure) Settle() time.Duration { return time.Minute }

type nodes struct{ *stub }

func (s nodes) Observe(context.Context, providers.Access) (fleet.Workload, error) {
	if s.down != nil {
		return fleet.Workload{}, s.down
	}
	return s.workload, nil
}

func (s nodes) Forget(k fleet.Key) { s.calls = append(s.calls, "Forget "+k.String()) }

func (s nodes) Drain(context.Context, providers.Access, string, fleet.DrainRules) error {
	s.called("Drain")
	return nil
}

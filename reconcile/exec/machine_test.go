package exec_test

import (
	"context"
	"log/slog"
	"maps"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/distribution/kubeadm"
	"fairlead.dev/reconcile/exec"
)

// store has each secret with its own name in it.
type store map[fleet.SecretName]bool

func (s store) Get(_ context.Context, _ fleet.Key, name fleet.SecretName) (fleet.SecretData, error) {
	if !s[name] {
		return nil, fleet.Errorf(fleet.NotFound, "get secret", "there is none")
	}
	return pair("store " + string(name)), nil
}

func (store) Create(context.Context, fleet.Key, fleet.SecretName, fleet.SecretData) (fleet.SecretData, error) {
	return nil, nil //nolint:nilnil // nobody uses it
}

func (store) Replace(context.Context, fleet.Key, fleet.SecretName, fleet.SecretData) error {
	return nil
}

func (store) Delete(context.Context, fleet.Key) error { return nil }

func pair(text string) fleet.SecretData {
	return fleet.SecretData{fleet.TLSCertKey: fleet.NewSecret([]byte(text)), fleet.TLSKeyKey: fleet.NewSecret([]byte(text))}
}

// writer keeps what user data was asked of it.
type writer struct {
	kubeadm.Distribution
	in providers.BootstrapInput
}

func (w *writer) UserData(in providers.BootstrapInput) (providers.UserData, error) {
	w.in = in
	return providers.UserData{}, nil
}

// maker keeps the machine that was asked of it.
type maker struct {
	providers.Infrastructure
	r providers.MachineRequest
}

func (m *maker) CreateMachine(_ context.Context, _ fleet.OperationID, r providers.MachineRequest) error {
	m.r = r
	return nil
}

func (m *maker) Abilities() providers.Abilities {
	return providers.Abilities{NodeIdentifier: m, SecretAnswerer: m}
}

// AnswerSecrets implements providers.SecretAnswerer.
func (m *maker) AnswerSecrets(context.Context, *fleet.Cluster, fleet.Pool) (map[string]fleet.SecretData, error) {
	return map[string]fleet.SecretData{"answered": {"a": fleet.NewSecret([]byte("the answer"))}}, nil
}

// NodeID implements providers.NodeIdentifier.
func (m *maker) NodeID() string { return "id of the machine" }

func create(t *testing.T, c *fleet.Cluster, a fleet.Action, s store) (*writer, *maker, error) {
	t.Helper()
	a.Cluster, a.Kind, a.Pool, a.Machine, a.Join = c.Key, fleet.CreateMachine, c.ControlPlane.Name, "cp-0", fleet.JoinInit
	w, m := &writer{}, &maker{}
	e := exec.Executor{Now: func() time.Time { return at }, Log: slog.New(slog.DiscardHandler)}
	within := exec.Environment{
		Cluster: c, Infrastructure: m, Distribution: w, Secrets: s, Memory: &ledger{ended: map[fleet.MachineName]error{}}, Seen: at,
		Endpoint: fleet.Endpoint{Host: "10.0.0.7", Port: 6443},
	}
	out := e.Run(t.Context(), within, []fleet.Action{a})
	return w, m, out[0].Err
}

var at = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// A machine carries when it was asked for, the attempt that it is, and the wish
// to rotate that it was made for.
func TestMachinesCarryTheirOrigin(t *testing.T) {
	c := &fleet.Cluster{
		ControlPlane: fleet.Pool{Name: "cp", Role: fleet.RoleControlPlane, APIPort: 7443}, Rotate: map[fleet.Rotation]string{fleet.RotateCertificates: "1"},
		Secrets: map[string]fleet.SecretData{"answered": fleet.AnsweredLater([]string{"a"})},
	}
	r := fleet.Remediation{Machine: "cp-9", At: at.Add(-time.Hour), Retry: 1}
	w, m, err := create(t, c, fleet.Action{Remediation: r}, store{"ca": true, "etcd": true, "proxy": true, "sa": true})
	if err != nil {
		t.Fatal(err)
	}
	if got := string(w.in.Cluster.Secrets["answered"]["a"].Reveal()); got != "the answer" {
		t.Errorf("a Secret that the provider answers is %q in its user data", got)
	}
	if w.in.NodeID != "id of the machine" {
		t.Errorf("its kubelet is told the id %q, want that of the provider", w.in.NodeID)
	}
	if m.r.Endpoint.Host != "10.0.0.7" || w.in.Endpoint != m.r.Endpoint {
		t.Errorf("its user data has the API server at %v, and its provider is told %v", w.in.Endpoint, m.r.Endpoint)
	}
	if m.r.APIPort != 7443 {
		t.Errorf("its provider is told that its API server listens at %d, want 7443", m.r.APIPort)
	}
	want := fleet.Origin{Made: at, Remediation: r, Trust: "certificates=" + fleet.Trust(fleet.TrustChecksum([]byte("1")))}
	if m.r.Origin != want {
		t.Errorf("origin %+v, want %+v", m.r.Origin, want)
	}
	if tags := m.r.Tags("op"); tags[fleet.TagMade] != "2026-11-21T12:00:00Z" || tags[fleet.TagOperation] != "op" {
		t.Errorf("tags %v", tags)
	}
}

// TestTheRightToActIsAskedBeforeAMachineIsMade ends the right to act while the
// secrets are read: whoever has it then makes the machine.
func TestTheRightToActIsAskedBeforeAMachineIsMade(t *testing.T) {
	c := &fleet.Cluster{Key: fleet.Key{Namespace: "prod", Name: "eu-1"}, ControlPlane: fleet.Pool{Name: "cp", Role: fleet.RoleControlPlane}}
	s, m, l := store{"ca": true, "etcd": true, "proxy": true, "sa": true}, &maker{}, &ledger{ended: map[fleet.MachineName]error{}}
	w := &writer{}
	e := exec.Executor{Now: func() time.Time { return at }, Log: slog.New(slog.DiscardHandler), May: func(fleet.Key) error {
		if w.in.Machine == "" {
			return nil
		}
		return fleet.Errorf(fleet.Unauthorized, "act as the leader", "another does")
	}}
	out := e.Run(t.Context(), exec.Environment{Cluster: c, Infrastructure: m, Distribution: w, Secrets: s, Memory: l, Seen: at}, []fleet.Action{
		{Cluster: c.Key, Kind: fleet.CreateMachine, Pool: "cp", Machine: "cp-0", Join: fleet.JoinInit},
	})
	if w.in.Machine != "cp-0" || m.r.Name != "" || fleet.KindOf(out[0].Err) != fleet.Unauthorized {
		t.Errorf("user data for %q, machine %q, error %v; want those of cp-0, none, and that another acts", w.in.Machine, m.r.Name, out[0].Err)
	}
}

// What an external etcd needs comes from Git, or else from the store; there is no
// authority of the cluster's own for it.
func TestWhatAnExternalEtcdNeeds(t *testing.T) {
	c := &fleet.Cluster{Key: fleet.Key{Namespace: "prod", Name: "eu"}, ControlPlane: fleet.Pool{Name: "cp", Role: fleet.RoleControlPlane}}
	c.ControlPlane.Bootstrap.Spec = []byte(`{"clusterConfiguration":{"etcd":{"external":{"endpoints":["https://etcd:2379"]}}}}`)
	c.Secrets = map[string]fleet.SecretData{"eu-etcd": {fleet.TLSCertKey: fleet.NewSecret([]byte("git"))}, "eu-ca": pair("not ours")}
	s := store{"ca": true, "etcd": true, "proxy": true, "sa": true, "apiserver-etcd-client": true}
	w, _, err := create(t, c, fleet.Action{}, s)
	if err != nil {
		t.Fatal(err)
	}
	got := map[fleet.SecretName]string{}
	for name, d := range w.in.Secrets {
		got[name] = string(d[fleet.TLSCertKey].Reveal())
	}
	want := map[fleet.SecretName]string{
		"ca": "store ca", "proxy": "store proxy", "sa": "store sa", "etcd": "git", "apiserver-etcd-client": "store apiserver-etcd-client",
	}
	if !maps.Equal(got, want) {
		t.Errorf("authorities %v, want %v", got, want)
	}
	delete(s, "apiserver-etcd-client")
	if _, _, err := create(t, c, fleet.Action{}, s); fleet.KindOf(err) != fleet.NotFound {
		t.Errorf("without the client's certificate: %v", err)
	}
}

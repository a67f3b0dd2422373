package wiring

import (
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"fairlead.dev/agent/observability/metrics"
	"fairlead.dev/agent/secrets"
	"fairlead.dev/fleet"
	"fairlead.dev/test/run/waits"
)

func TestMain(m *testing.M) { os.Exit(waits.Main(m)) }

func TestOpenSecrets(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	config := filepath.Join(dir, "kubeconfig")
	const content = `{"apiVersion": "v1", "kind": "Config", "current-context": "c", "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}],
		"contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}], "users": [{"name": "u", "user": {"token": "t"}}]}`
	if err := os.WriteFile(config, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		secrets string
		mode    Mode
		want    any
	}{
		"a folder":                {filepath.Join(dir, "a"), ReadWrite, &secrets.File{}},
		"no folder, to look only": {filepath.Join(dir, "b"), ReadOnly, &secrets.Memory{}},
		"a folder called so":      {filepath.Join(dir, "kubernetes"), ReadWrite, &secrets.File{}},
		"a kubeconfig":            {"kubernetes:" + config, ReadWrite, &secrets.Kubernetes{}},
		"the cluster around":      {"kubernetes", ReadWrite, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := Settings{Secrets: tc.secrets}.OpenSecrets(t.Context(), tc.mode)
			var ok bool
			switch tc.want.(type) {
			case *secrets.File:
				_, ok = s.(*secrets.File)
			case *secrets.Memory:
				_, ok = s.(*secrets.Memory)
			case *secrets.Kubernetes:
				_, ok = s.(*secrets.Kubernetes)
			default:
				ok = err != nil
			}
			if !ok {
				t.Errorf("got %v, %v, want a %T", s, err, tc.want)
			}
		})
	}
}

// What a reconciler began to change in clusters ends with it, and nothing of it is kept:
// each term of leadership has another one.
func TestReconcilersLeaveNothing(t *testing.T) {
	w, err := OpenRuntime(t.Context(), Settings{Built: builtIn(), Secrets: t.TempDir(), Log: slog.New(slog.DiscardHandler)}, ReadWrite, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for range 3 {
		r := w.Passes(nil, nil)
		if len(w.charts) != 1 {
			t.Fatalf("there are %d stores of charts for one reconciler", len(w.charts))
		}
		r.Close()
	}
	if len(w.charts) > 0 {
		t.Errorf("there are %d stores of charts for none", len(w.charts))
	}
}

// TestModeDecidesWhatMayChange: whatever else a world has, only its mode lets anything be
// changed.
func TestModeDecidesWhatMayChange(t *testing.T) {
	for _, counted := range []*metrics.Metrics{nil, metrics.New("test")} {
		for mode, may := range map[Mode]bool{ReadOnly: false, ReadWrite: true} {
			w, err := OpenRuntime(t.Context(), Settings{Built: builtIn(), Secrets: t.TempDir(), Log: slog.New(slog.DiscardHandler)}, mode, counted)
			if err != nil {
				t.Fatal(err)
			}
			p, err := w.Infrastructure("inmemory")
			if err != nil {
				t.Fatal(err)
			}
			err = p.DeleteMachine(t.Context(), "op", &fleet.Cluster{Fleet: "f", Key: fleet.Key{Namespace: "prod", Name: "eu-1"}, Provider: "inmemory"}, "m", "")
			if refused := err != nil && strings.Contains(err.Error(), "dry run"); refused == may {
				t.Errorf("mode %d, metrics %t: %v", mode, counted != nil, err)
			}
			if charts, end := w.newCharts(nil, nil); (charts != nil) != may {
				t.Errorf("mode %d, metrics %t: charts %v", mode, counted != nil, charts)
			} else {
				end()
			}
			if err := w.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// A provider gets a Secret that Git does not hold from the secret store.
func TestProvidersGetSecretsOfTheStore(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close() // nobody answers there: the provider shows that it asked
	w, err := OpenRuntime(t.Context(), Settings{Built: builtIn(), Secrets: t.TempDir(), Log: slog.New(slog.DiscardHandler)}, ReadOnly, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	object := func(kind, spec string) fleet.Object {
		return fleet.Object{
			GVK:       schema.GroupVersionKind{Group: "infrastructure.cluster.x-k8s.io", Version: "v1beta2", Kind: kind},
			Namespace: "prod", Name: "eu-1", Spec: []byte(spec),
		}
	}
	c := &fleet.Cluster{
		Fleet: "f", Key: fleet.Key{Namespace: "prod", Name: "eu-1"}, Provider: "openstack",
		Infrastructure: object("OpenStackCluster", `{"identityRef":{"type":"Secret","name":"login","cloudName":"lab"}}`),
		ControlPlane:   fleet.Pool{Infrastructure: object("OpenStackMachineTemplate", "{}")},
	}
	p, err := w.Infrastructure("openstack")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Observe(t.Context(), c); fleet.KindOf(err) != fleet.Unauthorized || !strings.Contains(err.Error(), "prod/login") {
		t.Errorf("without the Secret: %v, want the kind Unauthorized", err)
	}
	err = w.Secrets.SetSecret(t.Context(), fleet.Key{Namespace: "prod", Name: "login"}, fleet.SecretData{"clouds.yaml": fleet.NewSecret([]byte(
		`{"clouds": {"lab": {"auth": {"auth_url": "http://` + l.Addr().String() + `/v3", "username": "u", "password": "p", "project_name": "x", "user_domain_name": "Default", "project_domain_name": "Default"}}}}`))})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Observe(t.Context(), c); err == nil || !strings.Contains(err.Error(), l.Addr().String()) {
		t.Errorf("with the Secret: %v, want that nothing answers at %s", err, l.Addr())
	}
}

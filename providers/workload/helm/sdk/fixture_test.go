package sdk_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/workload"
	"fairlead.dev/providers/workload/helm"
	"fairlead.dev/providers/workload/helm/sdk"
	"fairlead.dev/test/lab/kube"
)

// A fixture is a cluster, a repository of charts, and what installs charts in the cluster.
type fixture struct {
	*testing.T
	ctx        context.Context
	api        kubernetes.Interface
	access     providers.Access
	repository *repository
	charts     helm.Installer
	look       *workload.Client
	ended      atomic.Int32
	may        atomic.Bool
}

// noteTemplate is a ConfigMap with a text of the values.
const noteTemplate = `apiVersion: v1
kind: ConfigMap
metadata: {name: {{ .Release.Name }}, namespace: {{ .Release.Namespace }}}
data: {text: {{ required "text is empty" .Values.text | quote }}, chart: {{ .Chart.Version | quote }}}
`

func newYard(t *testing.T) *fixture {
	k := kube.Start(t)
	b, err := os.ReadFile(k.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	t.Cleanup(cancel)
	y := &fixture{
		T: t, ctx: ctx, api: kubernetes.NewForConfigOrDie(k.Config), repository: newRepository(t), look: workload.New(workload.Options{}),
		access: providers.Access{Cluster: fleet.Key{Namespace: "prod", Name: "eu"}, Kubeconfig: fleet.NewSecret(b)},
	}
	t.Cleanup(y.look.Close)
	y.may.Store(true)
	y.begin()
	y.repository.put(t, "note", "1.0.0", "", map[string]string{"templates/note.yaml": noteTemplate})
	y.repository.put(t, "note", "1.1.0", "", map[string]string{"templates/note.yaml": noteTemplate})
	return y
}

// begin has an agent begin that knows nothing.
func (y *fixture) begin() {
	if y.charts != nil {
		y.charts.Close()
	}
	y.charts = sdk.New().Installer(helm.Options{
		Changed: func(fleet.Key) { y.ended.Add(1) },
		May: func(fleet.Key) error {
			if y.may.Load() {
				return nil
			}
			return errors.New("another agent owns the fleet")
		},
	})
	y.Cleanup(y.charts.Close)
}

// release returns one of the chart note.
func (y *fixture) release(ns string, change func(*fleet.Release)) fleet.Release {
	r := fleet.Release{
		ReleaseRef: fleet.ReleaseRef{Namespace: ns, Name: "note"}, Proxy: "notes", Strategy: fleet.Continuous, Prune: true,
		Chart: fleet.Chart{Repository: y.repository.URL + "/charts", Name: "note", Version: "1.0.0"}, Access: y.repository.access(),
		Values:  fleet.NewSecret([]byte(`{"text":"one"}`)),
		Options: fleet.ReleaseOptions{CreateNamespace: true, Timeout: time.Minute, MaxHistory: 3},
	}
	if change != nil {
		change(&r)
	}
	r.Digest = fmt.Sprintf("%x", len(r.Chart.Version)) + fmt.Sprintf("%x", r.Values.Reveal())[:20] + r.Chart.Version
	return r
}

// wait waits until nothing runs, and returns what failed.
func (y *fixture) wait() []fleet.ReleaseTry {
	y.Helper()
	for {
		attempts := y.charts.Tries(y.access.Cluster)
		running := false
		for _, t := range attempts {
			running = running || t.Running
		}
		if !running {
			return attempts
		}
		select {
		case <-y.ctx.Done():
			y.Fatalf("still at work: %+v", attempts)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// install installs r to its end, and returns what it failed with.
func (y *fixture) install(r fleet.Release) fleet.ReleaseTry {
	y.Helper()
	if err := y.charts.Install(y.ctx, y.access, r); err != nil {
		y.Fatal(err)
	}
	return y.failure()
}

func (y *fixture) uninstall(ref fleet.ReleaseRef) fleet.ReleaseTry {
	y.Helper()
	if err := y.charts.Uninstall(y.ctx, y.access, ref); err != nil {
		y.Fatal(err)
	}
	return y.failure()
}

func (y *fixture) failure() fleet.ReleaseTry {
	y.Helper()
	for _, t := range y.wait() {
		return t
	}
	return fleet.ReleaseTry{}
}

// state returns what a look tells of the release note, once it is what is wanted:
// a look may be a moment old.
func (y *fixture) state(ns string, wanted func(fleet.ReleaseState) bool) fleet.ReleaseState {
	y.Helper()
	for {
		w, err := y.look.Observe(y.ctx, y.access)
		if err != nil {
			y.Fatal(err)
		}
		var s fleet.ReleaseState
		for _, r := range w.Releases {
			if r.Namespace == ns {
				s = r
			}
		}
		if wanted(s) {
			return s
		}
		select {
		case <-y.ctx.Done():
			y.Fatalf("the release is %+v", s)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func deployed(r fleet.Release) func(fleet.ReleaseState) bool {
	return func(s fleet.ReleaseState) bool {
		return s.Status == "deployed" && s.Deployed && s.Digest == r.Digest && s.Ours && s.Proxy == r.Proxy && s.Prune == r.Prune && s.Strategy == r.Strategy && !s.Changed.IsZero()
	}
}

func gone(s fleet.ReleaseState) bool { return s == fleet.ReleaseState{} }

func (y *fixture) data(ns string) map[string]string {
	y.Helper()
	m, err := y.api.CoreV1().ConfigMaps(ns).Get(y.ctx, "note", metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		y.Fatal(err)
	}
	return m.Data
}

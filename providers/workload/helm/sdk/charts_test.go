package sdk_test

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/workload/helm"
	"fairlead.dev/providers/workload/helm/sdk"
)

// TestCharts: a release follows what is asked for, by values and by version, and
// goes; a look tells all of it from labels.
func TestCharts(t *testing.T) {
	y := newYard(t)
	const ns = "charts"
	r := y.release(ns, nil)
	if f := y.install(r); f.Failure != "" {
		t.Fatalf("it could not be installed: %s %q", f.Failure, f.Message)
	}
	if s := y.state(ns, deployed(r)); s.Revision != 1 || y.data(ns)["text"] != "one" || y.ended.Load() != 1 {
		t.Errorf("after it was installed it is %+v with %v, told %d times", s, y.data(ns), y.ended.Load())
	}
	if f := y.install(r); f.Failure != "" {
		t.Fatal(f)
	}
	if s := y.state(ns, deployed(r)); s.Revision != 1 {
		t.Errorf("what is as it is to be was upgraded to revision %d", s.Revision)
	}
	for i, change := range []func(*fleet.Release){
		func(r *fleet.Release) { r.Values = fleet.NewSecret([]byte(`{"text":"two"}`)) },
		func(r *fleet.Release) { r.Chart.Version, r.Values = "1.1.0", fleet.NewSecret([]byte(`{"text":"two"}`)) },
		func(r *fleet.Release) { // from a registry, over fields that somebody else manages now
			r.Chart.Repository, r.Values = "oci://"+y.repository.host()+"/charts", fleet.NewSecret([]byte(`{"text":"three"}`))
			if _, err := y.api.CoreV1().ConfigMaps(ns).Patch(y.ctx, "note", "application/merge-patch+json", []byte(`{"data":{"text":"mine"}}`), metav1.PatchOptions{FieldManager: "kubectl-edit"}); err != nil {
				t.Fatal(err)
			}
		},
	} {
		r = y.release(ns, change)
		if f := y.install(r); f.Failure != "" {
			t.Fatalf("it could not be upgraded: %s %q", f.Failure, f.Message)
		}
		if s := y.state(ns, deployed(r)); s.Revision != i+2 || y.data(ns)["chart"] != r.Chart.Version || !strings.Contains(string(r.Values.Reveal()), y.data(ns)["text"]) {
			t.Errorf("after change %d it is %+v with %v", i, s, y.data(ns))
		}
	}

	bad := y.release(ns, func(r *fleet.Release) { r.Values = fleet.NewSecret([]byte(`{"note":"none, which is required"}`)) })
	if f := y.install(bad); f.Failure != fleet.Invalid || !strings.Contains(f.Message, "text is empty") || f.Digest != bad.Digest || f.Tried.IsZero() {
		t.Errorf("values that the chart refuses give %+v", f)
	}
	if y.state(ns, deployed(r)).Revision != 4 || y.data(ns)["text"] != "three" {
		t.Error("values that the chart refuses changed something")
	}
	missing := y.release(ns, func(r *fleet.Release) { r.Chart.Version = "9.9.9" })
	if f := y.install(missing); f.Failure != fleet.NotFound || !strings.Contains(f.Message, "no such version") {
		t.Errorf("a version that is not there gives %+v", f)
	}

	if f := y.uninstall(r.ReleaseRef); f.Failure != "" {
		t.Fatal(f)
	}
	y.state(ns, gone)
	if y.data(ns) != nil {
		t.Error("the chart is still there")
	}
	if f := y.uninstall(r.ReleaseRef); f.Failure != "" {
		t.Errorf("removing what is not there: %+v", f)
	}
}

// TestChartsCutOff: what an agent left behind that was killed is taken up, whatever
// Helm had been about to do.
func TestChartsCutOff(t *testing.T) {
	y := newYard(t)
	const ns = "charts-cut"
	r := y.release(ns, nil)
	if f := y.install(r); f.Failure != "" {
		t.Fatal(f)
	}
	for _, status := range []string{"pending-install", "pending-upgrade", "pending-rollback", "uninstalling", "failed"} {
		leavePending(y.ctx, t, y.api, ns, status)
		y.state(ns, func(s fleet.ReleaseState) bool { return s.Status == status && s.Ours })
		y.begin()
		if f := y.install(r); f.Failure != "" {
			t.Fatalf("after it was left %s: %+v", status, f)
		}
		y.state(ns, deployed(r))
		if y.data(ns)["text"] != "one" {
			t.Errorf("after it was left %s there is %v", status, y.data(ns))
		}
	}
	leavePending(y.ctx, t, y.api, ns, "uninstalling")
	if f := y.uninstall(r.ReleaseRef); f.Failure != "" {
		t.Fatal(f)
	}
	y.state(ns, gone)

	// History that is kept is no release, and is gone on with.
	r = y.release(ns, func(r *fleet.Release) { r.Options.KeepHistory = true })
	if f := y.install(r); f.Failure != "" {
		t.Fatal(f)
	}
	if f := y.uninstall(r.ReleaseRef); f.Failure != "" {
		t.Fatal(f)
	}
	y.state(ns, func(s fleet.ReleaseState) bool { return s.Status == "uninstalled" && s.Revision == 1 })
	if f := y.install(r); f.Failure != "" {
		t.Fatal(f)
	}
	if s := y.state(ns, deployed(r)); s.Revision != 2 || y.data(ns)["text"] != "one" {
		t.Errorf("after its history it is %+v with %v", s, y.data(ns))
	}
}

// TestChartsForeign: a release that somebody else installed is left alone until Git
// says otherwise, and what somebody else did to ours is seen.
func TestChartsForeign(t *testing.T) {
	y := newYard(t)
	const ns = "charts-foreign"
	theirs, err := sdk.New().Client(y.access.Kubeconfig.Reveal(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if err := theirs.Apply(y.ctx, note(ns, "theirs")); err != nil {
		t.Fatal(err)
	}
	r := y.release(ns, nil)
	if f := y.install(r); f.Failure != fleet.Conflict || !strings.Contains(f.Message, "somebody else installed a release of this name: remove it, choose another releaseName, or set options.takeOwnership") {
		t.Errorf("a release of somebody else gives %+v", f)
	}
	if f := y.uninstall(r.ReleaseRef); f.Failure != fleet.Conflict {
		t.Errorf("removing a release of somebody else gives %+v", f)
	}
	y.state(ns, gone) // a look sees ours alone
	if y.data(ns)["text"] != "theirs" {
		t.Errorf("a release of somebody else is changed: %v", y.data(ns))
	}
	y.begin()
	r = y.release(ns, func(r *fleet.Release) { r.Options.TakeOwnership = true })
	if f := y.install(r); f.Failure != "" {
		t.Fatal(f)
	}
	if s := y.state(ns, deployed(r)); s.Revision != 2 || y.data(ns)["text"] != "one" {
		t.Errorf("after it was taken over it is %+v with %v", s, y.data(ns))
	}
	// Somebody upgrades it by hand: Helm takes our labels along.
	if err := theirs.Apply(y.ctx, note(ns, "by hand")); err != nil {
		t.Fatal(err)
	}
	y.state(ns, func(s fleet.ReleaseState) bool { return s.Revision == 3 && s.Status == "deployed" && !s.Ours })
	if f := y.install(r); f.Failure != "" {
		t.Fatal(f)
	}
	if s := y.state(ns, deployed(r)); s.Revision != 4 || y.data(ns)["text"] != "one" {
		t.Errorf("after somebody changed it, it is %+v with %v", s, y.data(ns))
	}
}

// TestChartsTakeNothingAfterFailure: after a change that failed the next one takes up what it had
// made, and nothing that somebody else made.
func TestChartsTakeNothingAfterFailure(t *testing.T) {
	y := newYard(t)
	const ns = "charts-taken"
	y.repository.put(t, "note", "1.2.0", "", map[string]string{"templates/note.yaml": noteTemplate, "templates/more.yaml": `apiVersion: v1
kind: ConfigMap
metadata: {name: more, namespace: {{ .Release.Namespace }}}
data: {text: ours}
`})
	if f := y.install(y.release(ns, nil)); f.Failure != "" {
		t.Fatal(f)
	}
	theirs := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "more"}, Data: map[string]string{"text": "theirs"}}
	if _, err := y.api.CoreV1().ConfigMaps(ns).Create(y.ctx, theirs, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	leavePending(y.ctx, t, y.api, ns, "failed")
	y.begin()
	next := y.release(ns, func(r *fleet.Release) { r.Chart.Version = "1.2.0" })
	if f := y.install(next); f.Failure == "" || !strings.Contains(f.Message, `"more"`) {
		t.Errorf("a chart that names an object of somebody else gives %+v", f)
	}
	more, err := y.api.CoreV1().ConfigMaps(ns).Get(y.ctx, "more", metav1.GetOptions{})
	if err != nil || more.Data["text"] != "theirs" || len(more.Labels) > 0 {
		t.Errorf("what somebody else made is %v %v, %v", more.Labels, more.Data, err)
	}
	if f := y.install(y.release(ns, func(r *fleet.Release) { r.Values = fleet.NewSecret([]byte(`{"text":"two"}`)) })); f.Failure != "" {
		t.Errorf("what the release had made is not taken up: %+v", f)
	}

	// A revision that fails half way made begun, which belongs to the release since.
	const begun = `apiVersion: v1
kind: ConfigMap
metadata: {name: begun, namespace: {{ .Release.Namespace }}}
data: {chart: {{ .Chart.Version | quote }}}
`
	y.repository.put(t, "note", "1.3.0", "", map[string]string{"templates/note.yaml": noteTemplate, "templates/begun.yaml": begun, "templates/refused.yaml": `apiVersion: v1
kind: Service
metadata: {name: No_Name, namespace: {{ .Release.Namespace }}}
spec: {ports: [{port: 80}]}
`})
	y.repository.put(t, "note", "1.4.0", "", map[string]string{"templates/note.yaml": noteTemplate, "templates/begun.yaml": begun})
	chart := func() string {
		m, err := y.api.CoreV1().ConfigMaps(ns).Get(y.ctx, "begun", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return m.Data["chart"]
	}
	if f := y.install(y.release(ns, func(r *fleet.Release) { r.Chart.Version = "1.3.0" })); f.Failure == "" || chart() != "1.3.0" {
		t.Fatalf("a chart with an object that the API server refuses gives %+v", f)
	}
	if f := y.install(y.release(ns, func(r *fleet.Release) { r.Chart.Version = "1.4.0" })); f.Failure != "" || chart() != "1.4.0" {
		t.Errorf("what the failed revision had made is not taken up: %+v, it is of %s", f, chart())
	}
}

// slowTemplate is a Deployment that nobody ever makes pods of.
const slowTemplate = `apiVersion: apps/v1
kind: Deployment
metadata: {name: slow, namespace: {{ .Release.Namespace }}}
spec:
  selector: {matchLabels: {app: slow}}
  template:
    metadata: {labels: {app: slow}}
    spec: {containers: [{name: c, image: example.com/none}]}
`

// TestChartsWait: who waits for what never comes holds up nobody, is seen at work,
// and ends with its time, with the agent, or with the right to act.
func TestChartsWait(t *testing.T) {
	y := newYard(t)
	y.repository.put(t, "slow", "1.0.0", "", map[string]string{"templates/slow.yaml": slowTemplate})
	slow := func(ns string, timeout time.Duration) fleet.Release {
		return y.release(ns, func(r *fleet.Release) {
			r.Chart.Name, r.Options.Wait, r.Options.Timeout = "slow", true, timeout
		})
	}
	const patient, brief = "charts-patient", "charts-brief"
	r := slow(patient, time.Hour)
	if err := y.charts.Install(y.ctx, y.access, r); err != nil {
		t.Fatal(err)
	}
	y.state(patient, func(s fleet.ReleaseState) bool { return s.Status == "pending-install" && s.Ours })
	if attempts := y.charts.Tries(y.access.Cluster); len(attempts) != 1 || !attempts[0].Running {
		t.Fatalf("while it waits it is known as %+v", attempts)
	}
	if err := y.charts.Install(y.ctx, y.access, r); err != nil || len(y.charts.Tries(y.access.Cluster)) != 1 {
		t.Errorf("a second one began beside the first: %v", err)
	}
	y.charts.Forget(y.access.Cluster)
	if f := y.install(slow(brief, time.Second)); f.Failure != fleet.Unavailable || !strings.Contains(f.Message, "slow") {
		t.Errorf("what does not get ready gives %s %q", f.Failure, f.Message)
	}
	y.state(brief, func(s fleet.ReleaseState) bool { return s.Status == "failed" })
	y.state(patient, func(s fleet.ReleaseState) bool { return s.Status == "failed" }) // Helm noted the end

	y.begin()
	y.may.Store(false)
	if f := y.install(y.release("charts-not", nil)); f.Failure == "" || !strings.Contains(f.Message, "another agent owns the fleet") {
		t.Errorf("without the right to act it says %+v", f)
	}
	if _, err := y.api.CoreV1().Namespaces().Get(y.ctx, "charts-not", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("without the right to act something was done: %v", err)
	}
	y.charts.Close()
	if err := y.charts.Install(y.ctx, y.access, r); fleet.KindOf(err) != fleet.Unavailable {
		t.Errorf("one that ended began with %v", err)
	}
}

// TestChartsAway: an API server that does not answer is no fault of the chart.
func TestChartsAway(t *testing.T) {
	c := sdk.New().Installer(helm.Options{})
	t.Cleanup(c.Close)
	d := newRepository(t)
	y := &fixture{T: t, ctx: t.Context(), charts: c, repository: d, access: providers.Access{Cluster: fleet.Key{Namespace: "prod", Name: "eu"}, Kubeconfig: fleet.NewSecret([]byte(unreachable))}}
	if f := y.install(y.release("charts", nil)); f.Failure != fleet.Unavailable {
		t.Errorf("it says %+v", f)
	}
	y.access.Kubeconfig = fleet.NewSecret([]byte("none"))
	if err := c.Install(t.Context(), y.access, y.release("charts", nil)); fleet.KindOf(err) != fleet.Invalid {
		t.Errorf("a kubeconfig that is none: %v", err)
	}
}

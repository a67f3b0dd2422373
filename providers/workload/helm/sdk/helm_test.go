package sdk_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"fairlead.dev/providers/workload/helm"
	"fairlead.dev/providers/workload/helm/sdk"
	"fairlead.dev/test/lab/kube"
)

// note is a chart of one ConfigMap.
func note(namespace, text string) helm.Release {
	return helm.Release{
		Namespace: namespace, Name: "note", Values: map[string]any{"text": text},
		Chart: []helm.File{
			{Name: "Chart.yaml", Data: []byte("apiVersion: v2\nname: note\nversion: 1.0.0\n")},
			{Name: "templates/note.yaml", Data: []byte(`apiVersion: v1
kind: ConfigMap
metadata: {name: note, namespace: {{ .Release.Namespace }}}
data: {text: {{ required "text is empty" .Values.text | quote }}}
`)},
		},
	}
}

func open(t *testing.T, k *kube.Server) helm.Client {
	t.Helper()
	b, err := os.ReadFile(k.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	c, err := sdk.New().Client(b, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestApply(t *testing.T) {
	k := kube.Start(t)
	c, api := open(t, k), kubernetes.NewForConfigOrDie(k.Config)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	ns := "helm-apply"
	text := func() string {
		m, err := api.CoreV1().ConfigMaps(ns).Get(ctx, "note", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return m.Data["text"]
	}
	state := func() helm.State {
		s, err := c.State(ctx, ns, "note")
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	if s := state(); s.Exists {
		t.Fatalf("before all it is %+v", s)
	}
	for _, want := range []string{"one", "two"} {
		r := note(ns, want)
		if err := c.Apply(ctx, r); err != nil {
			t.Fatal(err)
		}
		digest, _ := r.Digest()
		if s := state(); !s.Deployed || s.Digest != digest || text() != want {
			t.Errorf("after %s it is %+v with text %s", want, s, text())
		}
	}

	// What Helm leaves behind when it is killed is a Secret that says pending.
	for _, status := range []string{"pending-upgrade", "pending-install"} {
		leavePending(ctx, t, api, ns, status)
		if s := state(); s.Deployed {
			t.Fatalf("while it is %s it is %+v", status, s)
		}
		if err := c.Apply(ctx, note(ns, status)); err != nil {
			t.Fatalf("after it was cut off as %s: %v", status, err)
		}
		if s := state(); !s.Deployed || text() != status {
			t.Errorf("then it is %+v with text %s", s, text())
		}
	}

	err := c.Apply(ctx, note(ns, ""))
	if !errors.Is(err, helm.ErrRefused) {
		t.Errorf("values that the chart refuses give %v", err)
	}
	for range 2 { // nothing there is success
		if err := c.Remove(ctx, ns, "note"); err != nil {
			t.Fatal(err)
		}
	}
	if s := state(); s.Exists {
		t.Errorf("after it was removed it is %+v", s)
	}
	gone, _ := sdk.New().Client([]byte(unreachable), slog.New(slog.DiscardHandler))
	if err := gone.Apply(ctx, note(ns, "x")); err == nil || errors.Is(err, helm.ErrRefused) {
		t.Errorf("without a cluster it says %v", err)
	}
}

const unreachable = `{"apiVersion": "v1", "kind": "Config", "current-context": "c", "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}],
	"contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}], "users": [{"name": "u", "user": {"token": "t"}}]}`

// leavePending makes the newest revision of the release what a killed Helm leaves.
func leavePending(ctx context.Context, t *testing.T, api kubernetes.Interface, ns, status string) {
	t.Helper()
	list, err := api.CoreV1().Secrets(ns).List(ctx, metav1.ListOptions{LabelSelector: "owner=helm,status=deployed"})
	if err != nil || len(list.Items) != 1 {
		t.Fatalf("%d releases, %v", len(list.Items), err)
	}
	s := list.Items[0]
	rewrite(t, &s, status)
	if _, err := api.CoreV1().Secrets(ns).Update(ctx, &s, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

package install_test

import (
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"fairlead.dev/agent/ownership/pivot/install"
	"fairlead.dev/fleet"
	"fairlead.dev/providers/workload/helm"
	"fairlead.dev/providers/workload/helm/sdk"
	"fairlead.dev/test/lab/kube"
)

// chart is the chart of an agent. It has one ConfigMap.
func chart() []helm.File {
	return []helm.File{
		{Name: "Chart.yaml", Data: []byte("apiVersion: v2\nname: agent\nversion: 1.0.0\n")},
		{Name: "templates/agent.yaml", Data: []byte(`apiVersion: v1
kind: ConfigMap
metadata: {name: {{ .Release.Name }}, namespace: {{ .Release.Namespace }}}
data: {source: {{ .Values.source.url }}}
`)},
	}
}

func config(t *testing.T, k *kube.Server) fleet.Secret {
	t.Helper()
	b, err := os.ReadFile(k.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	return fleet.NewSecret(b)
}

func text(s string) fleet.SecretData {
	return fleet.SecretData{"value": fleet.NewSecret([]byte(s))}
}

// options are for an agent of the fleet id in namespace.
func options(t *testing.T, k *kube.Server, namespace, id string) install.Options {
	t.Helper()
	url := "https://git.example.com/" + id
	return install.Options{
		Kubeconfig: config(t, k), Helm: sdk.New(), Fleet: fleet.ID(id), Source: url, Log: slog.New(slog.DiscardHandler), Credentials: text("token of " + id),
		Release: helm.Release{Namespace: namespace, Name: "fairlead", Chart: chart(), Values: map[string]any{"source": map[string]any{"url": url}}},
	}
}

func open(t *testing.T, o install.Options) *install.Home {
	t.Helper()
	h, err := install.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// installed fails the test unless Installed returns want.
func installed(t *testing.T, what string, h *install.Home, want bool) {
	t.Helper()
	if got, err := h.Installed(t.Context()); got != want || err != nil {
		t.Errorf("%s: installed is %v, %v; want %v", what, got, err, want)
	}
}

func TestInstall(t *testing.T) {
	k := kube.Start(t)
	ctx, ns := t.Context(), k.Namespace()+"-new" // made by Install
	core := kubernetes.NewForConfigOrDie(k.Config).CoreV1()
	o := options(t, k, ns, "prod")
	h := open(t, o)
	if err := h.CheckReady(ctx); err != nil {
		t.Fatal(err)
	}
	installed(t, "at first", h, false)
	for range 2 {
		if err := h.Install(ctx); err != nil {
			t.Fatal(err)
		}
		installed(t, "then", h, true)
	}
	s, err := core.Secrets(ns).Get(ctx, "fairlead-git", metav1.GetOptions{})
	if err != nil || string(s.Data["value"]) != "token of prod" {
		t.Errorf("the credentials are %q, %v", s.Data["value"], err)
	}
	if _, err := core.Secrets(ns).Get(ctx, "fairlead-age", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("identities that there are none of: %v", err)
	}

	// Other values are wanted now.
	o.Release.Values = map[string]any{"source": o.Release.Values["source"], "more": "x"}
	h = open(t, o)
	installed(t, "with other values", h, false)
	if err := h.Install(ctx); err != nil {
		t.Fatal(err)
	}
	installed(t, "with those", h, true)
	old := o
	old.Release = helm.Release{Namespace: ns, Name: "fairlead"}
	installed(t, "as an old home", open(t, old), true)

	for range 2 { // to uninstall what is not there succeeds
		if err := h.Uninstall(ctx); err != nil {
			t.Fatal(err)
		}
	}
	installed(t, "after all", h, false)
	if _, err := core.Secrets(ns).Get(ctx, "fairlead-git", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("its credentials are left: %v", err)
	}
	if _, err := core.Namespaces().Get(ctx, ns, metav1.GetOptions{}); err != nil {
		t.Errorf("its namespace: %v", err)
	}
}

// The definition of a kind is applied before objects of that kind, whatever their order in
// the file.
const addons = `apiVersion: test.fairlead.dev/v1
kind: Network
metadata: {name: pods}
spec: {range: 10.0.0.0/8}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: cni, namespace: NAMESPACE}
data: {mtu: "1450"}
---
apiVersion: v1
kind: Namespace
metadata: {name: NAMESPACE}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: networks.test.fairlead.dev}
spec:
  group: test.fairlead.dev
  scope: Cluster
  names: {kind: Network, plural: networks, singular: network}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`

func TestAddons(t *testing.T) {
	k := kube.Start(t)
	ctx, ns := t.Context(), k.Namespace()+"-cni"
	core := kubernetes.NewForConfigOrDie(k.Config).CoreV1()
	o := options(t, k, ns, "prod")
	o.Addons = []install.Addon{{Name: "cni.yaml", Data: []byte(strings.ReplaceAll(addons, "NAMESPACE", ns))}}
	h := open(t, o)
	missing := func() []string {
		t.Helper()
		list, err := h.Addons(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	all := []string{"ConfigMap " + ns + "/cni", "CustomResourceDefinition /networks.test.fairlead.dev", "Namespace /" + ns, "Network /pods"}
	if got := missing(); !slices.Equal(got, all) {
		t.Fatalf("at first %q is missing, not %q", got, all)
	}
	// The API server takes a moment to serve a new kind. Until then the error is one that
	// may pass.
	for {
		err := h.ApplyAddons(ctx)
		if err == nil {
			break
		}
		if fleet.KindOf(err) != fleet.Unavailable {
			t.Fatal(err)
		}
	}
	if got := missing(); len(got) > 0 {
		t.Errorf("%q is missing after all was applied", got)
	}

	// A field that others add does not count. A field that others change makes the addon
	// missing.
	change := func(edit func(*corev1.ConfigMap)) {
		t.Helper()
		m, err := core.ConfigMaps(ns).Get(ctx, "cni", metav1.GetOptions{})
		if err == nil {
			edit(m)
			_, err = core.ConfigMaps(ns).Update(ctx, m, metav1.UpdateOptions{})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	change(func(m *corev1.ConfigMap) { m.Data["theirs"] = "x" })
	if got := missing(); len(got) > 0 {
		t.Errorf("%q is missing, though only something else was added", got)
	}
	change(func(m *corev1.ConfigMap) { m.Data["mtu"] = "9000" })
	if got := missing(); !slices.Equal(got, all[:1]) {
		t.Errorf("%q is missing after one was changed", got)
	}
}

// An addon that cannot be used is named with its kind and name.
func TestRefused(t *testing.T) {
	k := kube.Start(t)
	o := options(t, k, k.Namespace(), "prod")
	for reason, edit := range map[string]func(*install.Options){
		"its kubeconfig cannot be used": func(o *install.Options) { o.Kubeconfig = fleet.NewSecret([]byte("none")) },
		"cni.yaml: an object has no":    func(o *install.Options) { o.Addons = []install.Addon{{Name: "cni.yaml", Data: []byte("kind: Secret")}} },
	} {
		wrong := o
		edit(&wrong)
		if _, err := install.Open(wrong); fleet.KindOf(err) != fleet.Invalid || !strings.Contains(err.Error(), reason) {
			t.Errorf("got %v, want %q", err, reason)
		}
	}
	wrong := o
	wrong.Addons = []install.Addon{{Name: "cni.yaml", Data: []byte("apiVersion: v1\nkind: Service\nmetadata: {name: dns, namespace: default}\nspec: {ports: [{port: 99999}]}")}}
	if err := open(t, wrong).ApplyAddons(t.Context()); fleet.KindOf(err) != fleet.Invalid || !strings.Contains(err.Error(), "Service default/dns") {
		t.Errorf("what the API server refuses gives %v", err)
	}
	stranger := o
	b, err := os.ReadFile(k.WriteKubeconfig(k.User("nobody")))
	if err != nil {
		t.Fatal(err)
	}
	stranger.Kubeconfig = fleet.NewSecret(b)
	if err := open(t, stranger).Install(t.Context()); fleet.KindOf(err) != fleet.Unauthorized {
		t.Errorf("who may do nothing gets %v", err)
	}
}

// Package install makes a cluster the home of an agent: it applies addons, installs the
// agent with Helm, and gives the agent what it needs to reach Git.
package install

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	"fairlead.dev/agent/ownership/pivot"
	"fairlead.dev/agent/secrets"
	"fairlead.dev/agent/wiring/kube"
	"fairlead.dev/fleet"
	"fairlead.dev/providers/workload/helm"
)

// Options say how the agent in the home is installed.
type Options struct {
	Kubeconfig fleet.Secret // an administrator's
	Helm       helm.Engine  // nil: this program cannot install, and Open fails
	Release    helm.Release
	// Credentials are for Git, and Identities for encrypted files, in the form that the
	// chart mounts. Empty for none.
	Credentials, Identities fleet.SecretData
	// Addons are manifests that are applied first.
	Addons []Addon
	// Fleet, if not empty, is the fleet whose secrets are stored here. A home may have
	// agents of several fleets.
	Fleet fleet.ID
	// Source is the URL that the agent follows. An agent that people installed is known by
	// it.
	Source string
	Log    *slog.Logger
}

// GitSecret is the name of the Secret with credentials for Git that the agent of a release
// mounts. The values of the chart name it.
func GitSecret(release string) string { return release + "-git" }

// AgeSecret is the name of the Secret with age identities.
func AgeSecret(release string) string { return release + "-age" }

// manager is the field manager of what is applied.
const manager = "fairlead"

// requestTimeout bounds one request to the API server.
const requestTimeout = 15 * time.Second

// A Home is a pivot.Home.
type Home struct {
	o      Options
	helm   helm.Client
	client dynamic.Interface
	mapper meta.ResettableRESTMapper
	rest   rest.Interface
	store  *secrets.Kubernetes
	addons []*unstructured.Unstructured
}

var _ pivot.Home = (*Home)(nil)

// Open returns the home that a kubeconfig leads to. It connects with the first call.
func Open(o Options) (*Home, error) {
	access, err := kube.FromContent(o.Kubeconfig, kube.Options{UserAgent: manager, Timeout: requestTimeout})
	if err != nil {
		return nil, fleet.Errorf(fleet.Invalid, "open the home", "its kubeconfig cannot be used: %w", err)
	}
	if o.Fleet != "" {
		o.Release.Labels = map[string]string{fleet.TagFleet: string(o.Fleet)}
	}
	h := &Home{o: o}
	if h.client, err = dynamic.NewForConfig(access.Config); err != nil {
		return nil, err
	}
	d, err := discovery.NewDiscoveryClientForConfig(access.Config)
	if err != nil {
		return nil, err
	}
	h.rest, h.mapper = d.RESTClient(), restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(d))
	if o.Helm == nil {
		return nil, fleet.Errorf(fleet.Invalid, "open the home", "this program was built without Helm, which installs the agent there")
	}
	if h.helm, err = o.Helm.Client(o.Kubeconfig.Reveal(), o.Log); err != nil {
		return nil, err
	}
	if h.store, err = secrets.OpenKubeconfig(o.Kubeconfig); err != nil {
		return nil, err
	}
	if o.Fleet != "" {
		store, ok := h.store.Of(o.Fleet).(*secrets.Kubernetes)
		if !ok {
			return nil, fleet.Errorf(fleet.Invalid, "open the home", "its secrets cannot be told apart by fleet")
		}
		h.store = store
	}
	for _, a := range o.Addons {
		objects, err := a.objects()
		if err != nil {
			return nil, fleet.Errorf(fleet.Invalid, "read addons", "%s: %w", a.Name, err)
		}
		h.addons = append(h.addons, objects...)
	}
	return h, nil
}

// Secrets implements pivot.Home.
func (h *Home) Secrets() secrets.Store { return h.store }

// Addons implements pivot.Home. An addon is missing where the cluster lacks something that
// the addon says. Fields that others set beside it do not count.
func (h *Home) Addons(ctx context.Context) ([]string, error) {
	var out []string
	for _, want := range h.addons {
		r, err := h.resource(want)
		if meta.IsNoMatchError(err) {
			out = append(out, nameOf(want))
			continue
		}
		if err != nil {
			return nil, err
		}
		got, err := r.Patch(ctx, want.GetName(), "application/apply-patch+yaml", encode(want), metav1.PatchOptions{FieldManager: manager, Force: yes(), DryRun: []string{metav1.DryRunAll}})
		if apierrors.IsNotFound(err) { // its namespace is missing
			out = append(out, nameOf(want))
			continue
		}
		if err != nil {
			return nil, classify("look at addon "+nameOf(want), err)
		}
		live, err := r.Get(ctx, want.GetName(), metav1.GetOptions{})
		if apierrors.IsNotFound(err) || err == nil && live.GetResourceVersion() != got.GetResourceVersion() || err == nil && !equalContent(live, got) {
			out = append(out, nameOf(want))
			continue
		}
		if err != nil {
			return nil, classify("look at addon "+nameOf(want), err)
		}
	}
	slices.Sort(out)
	return out, nil
}

// equalContent compares two objects without their managed fields, generation and status.
func equalContent(a, b *unstructured.Unstructured) bool {
	x, y := a.DeepCopy(), b.DeepCopy()
	for _, o := range []*unstructured.Unstructured{x, y} {
		o.SetManagedFields(nil)
		o.SetGeneration(0)
		unstructured.RemoveNestedField(o.Object, "status")
	}
	return bytes.Equal(encode(x), encode(y))
}

// ApplyAddons implements pivot.Home. Namespaces and definitions of kinds go first, the rest
// in the order of the files.
func (h *Home) ApplyAddons(ctx context.Context) error {
	for _, first := range []bool{true, false} {
		for _, o := range h.addons {
			if isPrerequisite(o) != first {
				continue
			}
			if err := h.apply(ctx, o); err != nil {
				return err
			}
		}
	}
	return nil
}

func isPrerequisite(o *unstructured.Unstructured) bool {
	return o.GetKind() == "Namespace" || o.GetKind() == "CustomResourceDefinition"
}

func (h *Home) apply(ctx context.Context, o *unstructured.Unstructured) error {
	op := "apply " + nameOf(o)
	r, err := h.resource(o)
	if meta.IsNoMatchError(err) {
		h.mapper.Reset() // the kind may have been defined just now
		return fleet.Errorf(fleet.Unavailable, op, "%w", err)
	}
	if err != nil {
		return err
	}
	_, err = r.Apply(ctx, o.GetName(), o, metav1.ApplyOptions{FieldManager: manager, Force: true})
	return classify(op, err)
}

func (h *Home) resource(o *unstructured.Unstructured) (dynamic.ResourceInterface, error) {
	gvk := o.GroupVersionKind()
	m, err := h.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		if meta.IsNoMatchError(err) {
			return nil, err
		}
		return nil, classify("find kind "+gvk.Kind, err)
	}
	if m.Scope.Name() == meta.RESTScopeNameNamespace {
		namespace := o.GetNamespace()
		if namespace == "" {
			namespace = metav1.NamespaceDefault
		}
		return h.client.Resource(m.Resource).Namespace(namespace), nil
	}
	return h.client.Resource(m.Resource), nil
}

// Install implements pivot.Home. It never replaces the agent of another fleet.
func (h *Home) Install(ctx context.Context) error {
	s, err := h.state(ctx)
	if err != nil {
		return err
	}
	if err := h.checkOwner(s); err != nil {
		return err
	}
	namespace := &unstructured.Unstructured{}
	namespace.SetAPIVersion("v1")
	namespace.SetKind("Namespace")
	namespace.SetName(h.o.Release.Namespace)
	if err := h.apply(ctx, namespace); err != nil {
		return err
	}
	for name, data := range h.mounted() {
		if len(data) == 0 {
			continue
		}
		if err := h.apply(ctx, h.secret(name, data)); err != nil {
			return err
		}
	}
	return classify("install the agent", h.helm.Apply(ctx, h.o.Release))
}

func (h *Home) secret(name string, data fleet.SecretData) *unstructured.Unstructured {
	values := map[string]any{}
	for key, value := range data {
		values[key] = string(value.Reveal())
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "type": string(corev1.SecretTypeOpaque), "stringData": values,
		"metadata": map[string]any{
			"name": name, "namespace": h.o.Release.Namespace,
			"labels": map[string]any{"app.kubernetes.io/part-of": "fairlead"},
		},
	}}
}

// Checksum identifies the content of the Secrets that an agent mounts. It is an annotation
// of the agent's pods, which restart when it changes.
func Checksum(sets ...fleet.SecretData) string {
	sum := pivot.Digest(sets...)
	return hex.EncodeToString(sum[:8])
}

func encode(o *unstructured.Unstructured) []byte {
	b, _ := o.MarshalJSON() // cannot fail for maps, lists and scalars
	return b
}

func yes() *bool { b := true; return &b }

func nameOf(o *unstructured.Unstructured) string {
	return strings.TrimPrefix(fmt.Sprintf("%s %s/%s", o.GetKind(), o.GetNamespace(), o.GetName()), "/")
}

// classify gives err its kind. What the API server refuses it will refuse again; everything
// else may pass.
func classify(op string, err error) error {
	switch {
	case err == nil:
		return nil
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		return fleet.Errorf(fleet.Unauthorized, op, "%w", err)
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err), errors.Is(err, helm.ErrRefused):
		return fleet.Errorf(fleet.Invalid, op, "%w", err)
	}
	return fleet.Errorf(fleet.Unavailable, op, "%w", err)
}

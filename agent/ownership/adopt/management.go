package adopt

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"fairlead.dev/agent/wiring/kube"
	"fairlead.dev/fleet"
)

// An Object is an object of the management cluster.
type Object = *unstructured.Unstructured

// Management is a management cluster of Cluster API. It is safe for concurrent use.
type Management struct {
	api    dynamic.Interface
	host   string
	served map[schema.GroupKind][]served
}

// served is a version in which a kind is served.
type served struct {
	version, resource string
	namespaced        bool
}

// managementTimeout bounds one call.
const managementTimeout = 30 * time.Second

// Connect returns the management cluster of a kubeconfig, in its current context or in the
// one that is named.
func Connect(ctx context.Context, kubeconfig, in string) (*Management, error) {
	const op = "reach the management cluster"
	access, err := kube.FromPerson(kubeconfig, in, managementOptions())
	if err != nil {
		return nil, fleet.Errorf(fleet.Invalid, op, "--kubeconfig: %w", err)
	}
	return Open(ctx, access.Config)
}

func managementOptions() kube.Options {
	return kube.Options{UserAgent: "fairlead-adopt", Timeout: managementTimeout, QPS: 50, Burst: 100}
}

// Open returns the management cluster at config. It reads once which kinds the API server
// serves.
func Open(ctx context.Context, config *rest.Config) (*Management, error) {
	const op = "reach the management cluster"
	config = managementOptions().Apply(rest.CopyConfig(config))
	d, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fleet.Errorf(fleet.Invalid, op, "%w", err)
	}
	api, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fleet.Errorf(fleet.Invalid, op, "%w", err)
	}
	_, lists, err := d.ServerGroupsAndResourcesWithContext(ctx)
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) { // of groups of others: a kind that is needed is reported where it is missing
		return nil, wrap(op, err)
	}
	m := &Management{api: api, host: config.Host, served: make(map[schema.GroupKind][]served)}
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			continue
		}
		for _, r := range list.APIResources {
			if strings.Contains(r.Name, "/") {
				continue
			}
			gk := schema.GroupKind{Group: gv.Group, Kind: r.Kind}
			m.served[gk] = append(m.served[gk], served{gv.Version, r.Name, r.Namespaced})
		}
	}
	if len(m.served[groupKind("Cluster")]) == 0 {
		return nil, fleet.Errorf(fleet.NotFound, op, "%s serves no Cluster of cluster.x-k8s.io: it is no management cluster of Cluster API", config.Host)
	}
	return m, nil
}

const coreGroup = "cluster.x-k8s.io"

func groupKind(kind string) schema.GroupKind { return schema.GroupKind{Group: coreGroup, Kind: kind} }

// resource returns the resource of a kind, in the first of versions that is served. It is
// false where none is.
func (m *Management) resource(gk schema.GroupKind, versions []string) (schema.GroupVersionResource, bool, bool) {
	for _, v := range versions {
		for _, s := range m.served[gk] {
			if s.version == v {
				return schema.GroupVersionResource{Group: gk.Group, Version: v, Resource: s.resource}, s.namespaced, true
			}
		}
	}
	return schema.GroupVersionResource{}, false, false
}

// versionsOf returns the versions of a kind that Fairlead reads, newest first.
func versionsOf(gk schema.GroupKind, kinds []fleet.Kind) []string {
	if i := slices.IndexFunc(kinds, func(k fleet.Kind) bool { return k.Group == gk.Group && k.Kind == gk.Kind }); i >= 0 {
		return kinds[i].Versions
	}
	switch gk.Group {
	case "":
		return []string{"v1"}
	case metal3Pools:
		return []string{"v1alpha1"}
	}
	return []string{"v1beta2", "v1beta1"}
}

// errNotServed says that a kind is not served in a version that Fairlead reads.
var errNotServed = errors.New("not served")

// get returns an object. An error of kind NotFound says that there is none.
func (m *Management) get(ctx context.Context, gk schema.GroupKind, kinds []fleet.Kind, k fleet.Key) (Object, error) {
	op := fmt.Sprintf("read %s %s", gk.Kind, k)
	r, namespaced, ok := m.resource(gk, versionsOf(gk, kinds))
	if !ok {
		return nil, fleet.Errorf(fleet.Invalid, op, "the management cluster serves it in no version that Fairlead reads (%v): %w", versionsOf(gk, kinds), errNotServed)
	}
	if namespaced {
		o, err := m.api.Resource(r).Namespace(k.Namespace).Get(ctx, k.Name, metav1.GetOptions{})
		return o, wrap(op, err)
	}
	o, err := m.api.Resource(r).Get(ctx, k.Name, metav1.GetOptions{})
	return o, wrap(op, err)
}

// list returns the objects of a kind that have labels, in a namespace or, where namespace
// is empty, in all. A kind that is not served has none.
func (m *Management) list(ctx context.Context, gk schema.GroupKind, kinds []fleet.Kind, namespace, labels string) ([]Object, error) {
	r, namespaced, ok := m.resource(gk, versionsOf(gk, kinds))
	if !ok {
		return nil, nil
	}
	var at dynamic.ResourceInterface = m.api.Resource(r)
	if namespaced && namespace != "" {
		at = m.api.Resource(r).Namespace(namespace)
	}
	var out []Object
	o := metav1.ListOptions{LabelSelector: labels, Limit: 500}
	for {
		page, err := at.List(ctx, o)
		if err != nil {
			return nil, wrap("list "+gk.Kind, err)
		}
		for i := range page.Items {
			out = append(out, &page.Items[i])
		}
		if o.Continue = page.GetContinue(); o.Continue == "" {
			break
		}
	}
	slices.SortFunc(out, func(a, b Object) int { return keyOf(a).Compare(keyOf(b)) })
	return out, nil
}

// patch merges body into the Cluster k, if the Cluster is still at the version in body.
func (m *Management) patch(ctx context.Context, k fleet.Key, body []byte) (Object, error) {
	return m.merge(ctx, groupKind("Cluster"), nil, k, body)
}

// merge merges body into an object, if the object is still at the version in body.
func (m *Management) merge(ctx context.Context, gk schema.GroupKind, kinds []fleet.Kind, k fleet.Key, body []byte) (Object, error) {
	op := "change " + gk.Kind + " " + k.String()
	r, _, _ := m.resource(gk, versionsOf(gk, kinds))
	o, err := m.api.Resource(r).Namespace(k.Namespace).Patch(ctx, k.Name, types.MergePatchType, body, metav1.PatchOptions{FieldManager: "fairlead-adopt"})
	return o, wrap(op, err)
}

// Clusters returns the clusters in namespaces, sorted. No namespaces stand for all. Names,
// as "name" or "namespace/name", choose some of them; a name without a cluster is an error.
func (m *Management) Clusters(ctx context.Context, namespaces, names []string) ([]fleet.Key, error) {
	all, err := m.list(ctx, groupKind("Cluster"), nil, "", "")
	if err != nil {
		return nil, err
	}
	var out []fleet.Key
	found := make(map[string]bool)
	for _, o := range all {
		k := keyOf(o)
		if len(namespaces) > 0 && !slices.Contains(namespaces, k.Namespace) {
			continue
		}
		named := len(names) == 0
		for _, n := range []string{k.Name, k.String()} {
			if slices.Contains(names, n) {
				named, found[n] = true, true
			}
		}
		if named {
			out = append(out, k)
		}
	}
	for _, n := range names {
		if !found[n] {
			return nil, fleet.Errorf(fleet.NotFound, "find the clusters", "the management cluster %s has no Cluster %s", m.host, n)
		}
	}
	return out, nil
}

func keyOf(o Object) fleet.Key { return fleet.Key{Namespace: o.GetNamespace(), Name: o.GetName()} }

// wrap gives an error of the API server its kind.
func wrap(op string, err error) error {
	kind := fleet.Unknown
	switch {
	case err == nil:
		return nil
	case apierrors.IsNotFound(err):
		kind = fleet.NotFound
	case apierrors.IsUnauthorized(err), apierrors.IsForbidden(err):
		kind = fleet.Unauthorized
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err):
		kind = fleet.Conflict
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		kind = fleet.Invalid
	case apierrors.ReasonForError(err) == metav1.StatusReasonUnknown, apierrors.IsServiceUnavailable(err), apierrors.IsTimeout(err), apierrors.IsTooManyRequests(err):
		kind = fleet.Unavailable
	}
	return &fleet.Error{Kind: kind, Op: op, Err: err}
}

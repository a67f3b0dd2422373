package workload

import (
	"context"
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// A ref names an object of the core API, or with no name all of a namespace,
// or with no namespace of all.
type ref struct{ resource, namespace, name string }

// request begins a request about r. It is sent once: retries are the
// reconciler's, and a client-go that tries for ten seconds is no help to it.
func (r ref) request(q *rest.Request) *rest.Request {
	q = q.MaxRetries(0).NamespaceIfScoped(r.namespace, r.namespace != "").Resource(r.resource)
	if r.name != "" {
		q = q.Name(r.name)
	}
	return q
}

func (n *conn) get(ctx context.Context, r ref, into runtime.Object) error {
	return r.request(n.rest.Get()).Do(ctx).Into(into)
}

// getAt, createAt and patchAt are about what is in no core API, by its path.
func (n *conn) getAt(ctx context.Context, path string, into runtime.Object) error {
	return n.rest.Get().MaxRetries(0).AbsPath(path).Do(ctx).Into(into)
}

func (n *conn) createAt(ctx context.Context, path string, obj runtime.Object) error {
	return n.rest.Post().MaxRetries(0).AbsPath(path).Body(obj).Do(ctx).Error()
}

// patchAt sends a strategic merge patch, under our name.
func (n *conn) patchAt(ctx context.Context, path string, patch map[string]any) error {
	raw, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	o := metav1.PatchOptions{FieldManager: manager}
	return n.rest.Patch(types.StrategicMergePatchType).MaxRetries(0).AbsPath(path).
		VersionedParams(&o, scheme.ParameterCodec).Body(raw).Do(ctx).Error()
}

func (n *conn) list(ctx context.Context, r ref, o metav1.ListOptions, into runtime.Object) error {
	return r.request(n.rest.Get()).VersionedParams(&o, scheme.ParameterCodec).Do(ctx).Into(into)
}

func (n *conn) createEviction(ctx context.Context, e *policyv1.Eviction) error {
	r := ref{"pods", e.Namespace, e.Name}
	return r.request(n.rest.Post()).SubResource("eviction").Body(e).Do(ctx).Error()
}

// mergePatch sends a merge patch, under our name.
func (n *conn) mergePatch(ctx context.Context, r ref, patch map[string]any) error {
	raw, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	o := metav1.PatchOptions{FieldManager: manager}
	return r.request(n.rest.Patch(types.MergePatchType)).
		VersionedParams(&o, scheme.ParameterCodec).Body(raw).Do(ctx).Error()
}

// deletePod deletes p itself, past every disruption budget.
func (n *conn) deletePod(ctx context.Context, p *corev1.Pod, o *metav1.DeleteOptions) error {
	return ref{"pods", p.Namespace, p.Name}.request(n.rest.Delete()).Body(o).Do(ctx).Error()
}

func (n *conn) delete(ctx context.Context, r ref) error {
	return r.request(n.rest.Delete()).Do(ctx).Error()
}

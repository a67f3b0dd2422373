package workload

import (
	"cmp"
	"context"
	"path"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/restmapper"

	"fairlead.dev/fleet"
)

// within calls f, bounded in time.
func within(ctx context.Context, limit time.Duration, f func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return f(ctx)
}

// path returns where the API server has o, and the namespace that it is in. An
// error that meta.IsNoMatchError knows says that its kind is not served; no
// version means that which the server prefers.
func (r *resources) path(ctx context.Context, o fleet.ObjectRef, version string) (at, namespace string, err error) {
	m, err := r.mapping(ctx, o, version)
	if meta.IsNoMatchError(err) && r.defined {
		r.mapper = nil // a definition came after it was made
		m, err = r.mapping(ctx, o, version)
	}
	if err != nil {
		return "", "", err
	}
	at = "/api/" + m.Resource.Version
	if m.Resource.Group != "" {
		at = "/apis/" + m.Resource.GroupVersion().String()
	}
	if m.Scope.Name() == meta.RESTScopeNameNamespace {
		namespace = cmp.Or(o.Namespace, metav1.NamespaceDefault)
		at = path.Join(at, "namespaces", namespace)
	}
	return path.Join(at, m.Resource.Resource, o.Name), namespace, nil
}

func (r *resources) mapping(ctx context.Context, o fleet.ObjectRef, version string) (*meta.RESTMapping, error) {
	if r.mapper == nil {
		client, err := discovery.NewDiscoveryClientForConfigAndClient(r.config, r.rest.Client)
		if err != nil {
			return nil, err
		}
		served, err := restmapper.GetAPIGroupResourcesWithContext(ctx, client)
		if err != nil {
			return nil, err
		}
		r.mapper, r.defined = restmapper.NewDiscoveryRESTMapperWithContext(served), false
	}
	var versions []string
	if version != "" {
		versions = append(versions, version)
	}
	return r.mapper.RESTMappingWithContext(ctx, schema.GroupKind{Group: o.Group, Kind: o.Kind}, versions...)
}

// applyAt applies u, whose fields are ours from then on, whatever set them before.
func (n *conn) applyAt(ctx context.Context, at string, u *unstructured.Unstructured) error {
	raw, err := u.MarshalJSON()
	if err != nil {
		return err
	}
	force := true
	o := metav1.PatchOptions{FieldManager: manager, Force: &force}
	return n.rest.Patch(types.ApplyYAMLPatchType).MaxRetries(0).AbsPath(at).
		VersionedParams(&o, scheme.ParameterCodec).Body(raw).Do(ctx).Error()
}

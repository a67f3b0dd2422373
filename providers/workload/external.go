package workload

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
)

// provisionedBy is the annotation of a volume that a driver made for its claim.
// Source: Kubernetes, pkg/controller/volume/persistentvolume, AnnDynamicallyProvisioned.
const provisionedBy = "pv.kubernetes.io/provisioned-by"

// external returns what controllers of the cluster keep outside of it. It is not
// answered from memory: what is missed here is lost with the cluster.
func (n *conn) external(ctx context.Context) ([]fleet.ExternalResource, error) {
	var services corev1.ServiceList
	var volumes corev1.PersistentVolumeList
	err := together(
		func() error { return n.list(ctx, ref{resource: "services"}, metav1.ListOptions{}, &services) },
		func() error { return n.list(ctx, ref{resource: "persistentvolumes"}, metav1.ListOptions{}, &volumes) },
	)
	if err != nil {
		return nil, err
	}
	var out []fleet.ExternalResource
	for i := range services.Items {
		if s := &services.Items[i]; s.Spec.Type == corev1.ServiceTypeLoadBalancer {
			out = append(out, fleet.ExternalResource{Object: fleet.ObjectRef{Kind: "Service", Namespace: s.Namespace, Name: s.Name}})
		}
	}
	for i := range volumes.Items {
		p := &volumes.Items[i]
		if p.Annotations[provisionedBy] == "" || p.Spec.PersistentVolumeReclaimPolicy != corev1.PersistentVolumeReclaimDelete {
			continue
		}
		r := fleet.ExternalResource{Object: fleet.ObjectRef{Kind: "PersistentVolume", Name: p.Name}}
		if c := p.Spec.ClaimRef; c != nil && p.Status.Phase != corev1.VolumeReleased {
			r.Claim = fleet.ObjectRef{Kind: "PersistentVolumeClaim", Namespace: c.Namespace, Name: c.Name}
		}
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b fleet.ExternalResource) int {
		return cmp.Compare(a.Object.String(), b.Object.String())
	})
	return out, nil
}

// DeleteExternalResources implements providers.Workload.
func (c *Client) DeleteExternalResources(ctx context.Context, a providers.Access, resources []fleet.ExternalResource) error {
	return c.call(ctx, a, "delete load balancers and volumes", func(ctx context.Context, n *conn) error {
		var errs []error
		claims := make(map[string][]string) // by namespace
		for _, r := range resources {
			switch {
			case r.Object.Kind == "Service":
				errs = append(errs, gone(n.delete(ctx, ref{"services", r.Object.Namespace, r.Object.Name})))
			case r.Claim.Name != "":
				claims[r.Claim.Namespace] = append(claims[r.Claim.Namespace], r.Claim.Name)
			}
		}
		for _, namespace := range slices.Sorted(maps.Keys(claims)) {
			errs = append(errs, n.deleteClaims(ctx, namespace, claims[namespace]))
		}
		return errors.Join(errs...)
	})
}

// deleteClaims deletes claims of a namespace and the pods that use them: a claim that a
// pod uses stays until the pod is gone, and a StatefulSet would claim again.
func (n *conn) deleteClaims(ctx context.Context, namespace string, names []string) error {
	var pods corev1.PodList
	if err := n.list(ctx, ref{"pods", namespace, ""}, metav1.ListOptions{}, &pods); err != nil {
		return err
	}
	var errs []error
	sets := make(map[string]bool)
	for i := range pods.Items {
		p := &pods.Items[i]
		if !uses(p, names) {
			continue
		}
		if o := metav1.GetControllerOf(p); o != nil && o.Kind == "StatefulSet" && !sets[o.Name] {
			sets[o.Name] = true
			errs = append(errs, gone(n.rest.Delete().MaxRetries(0).
				AbsPath("/apis/apps/v1/namespaces", namespace, "statefulsets", o.Name).Do(ctx).Error()))
		}
		if p.DeletionTimestamp == nil {
			errs = append(errs, gone(n.deletePod(ctx, p, &metav1.DeleteOptions{})))
		}
	}
	for _, name := range names {
		errs = append(errs, gone(n.delete(ctx, ref{"persistentvolumeclaims", namespace, name})))
	}
	return errors.Join(errs...)
}

// uses reports whether p mounts one of the claims, its own ephemeral ones included.
func uses(p *corev1.Pod, claims []string) bool {
	return slices.ContainsFunc(p.Spec.Volumes, func(v corev1.Volume) bool {
		switch {
		case v.PersistentVolumeClaim != nil:
			return slices.Contains(claims, v.PersistentVolumeClaim.ClaimName)
		case v.Ephemeral != nil:
			return slices.Contains(claims, p.Name+"-"+v.Name)
		}
		return false
	})
}

// gone returns err, but for that there is nothing.
func gone(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

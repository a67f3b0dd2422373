package secrets

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fleet"
)

// clusterAPI ends the API group of every kind of Cluster API and its providers.
const clusterAPI = "cluster.x-k8s.io"

// Adopt makes what is stored for c the fleet's own: it gets the label of the fleet,
// and is no longer owned by objects of Cluster API, with which a garbage collector
// would remove it. What others own it for stays. It may be repeated.
func (k *Kubernetes) Adopt(ctx context.Context, c fleet.Key, name fleet.SecretName) error {
	if err := checkKey(c); err != nil {
		return err
	}
	op := fmt.Sprintf("take over secret %s of cluster %s", name, c)
	return k.edit(ctx, op, secretKey(c, name), func(s *corev1.Secret) (bool, error) {
		if err := k.sameFleet(op, s); err != nil {
			return false, err
		}
		disowned := disown(s)
		if k.fleet == "" || s.Labels[fleet.TagFleet] == string(k.fleet) {
			return disowned, nil
		}
		if s.Labels == nil {
			s.Labels = make(map[string]string)
		}
		s.Labels[fleet.TagFleet] = string(k.fleet)
		return true, nil
	})
}

// Release takes the label of the fleet off again. Cluster API's controllers put
// themselves back as owners.
// Source: Cluster API, KubeadmControlPlane, ownership of the cluster's Secrets.
func (k *Kubernetes) Release(ctx context.Context, c fleet.Key, name fleet.SecretName) error {
	if err := checkKey(c); err != nil {
		return err
	}
	op := fmt.Sprintf("give back secret %s of cluster %s", name, c)
	err := k.edit(ctx, op, secretKey(c, name), func(s *corev1.Secret) (bool, error) {
		if k.fleet == "" || s.Labels[fleet.TagFleet] != string(k.fleet) {
			return false, nil
		}
		delete(s.Labels, fleet.TagFleet)
		return true, nil
	})
	if fleet.KindOf(err) == fleet.NotFound {
		return nil
	}
	return err
}

// AdoptSecret has the Secret key no longer owned by objects of Cluster API.
func (k *Kubernetes) AdoptSecret(ctx context.Context, key fleet.Key) error {
	if err := checkSecret(key); err != nil {
		return err
	}
	return k.edit(ctx, "take over Secret "+key.String(), key, func(s *corev1.Secret) (bool, error) { return disown(s), nil })
}

// disown removes the owners that are of Cluster API, and reports whether there
// were some.
func disown(s *corev1.Secret) bool {
	before := len(s.OwnerReferences)
	s.OwnerReferences = slices.DeleteFunc(s.OwnerReferences, func(r metav1.OwnerReference) bool {
		group, _, _ := strings.Cut(r.APIVersion, "/")
		return group == clusterAPI || strings.HasSuffix(group, "."+clusterAPI)
	})
	return len(s.OwnerReferences) < before
}

// edit changes the Secret key, unless change says that it is right already.
func (k *Kubernetes) edit(ctx context.Context, op string, key fleet.Key, change func(*corev1.Secret) (bool, error)) error {
	var err error
	for range attempts {
		var s *corev1.Secret
		if s, err = k.read(ctx, key); err != nil {
			break
		}
		changed, wrong := change(s)
		if wrong != nil || !changed {
			return wrong
		}
		if err = k.api.Put().Namespace(s.Namespace).Resource("secrets").Name(s.Name).Body(s).Do(ctx).Error(); !apierrors.IsConflict(err) {
			break
		}
	}
	if err != nil {
		return k.failed(op, err)
	}
	return nil
}

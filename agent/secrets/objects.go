package secrets

import (
	"context"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/fleet"
)

// secretKey returns the Secret that holds a secret of a cluster.
func secretKey(c fleet.Key, name fleet.SecretName) fleet.Key {
	return fleet.Key{Namespace: c.Namespace, Name: c.Name + "-" + string(name)}
}

func newSecret(key fleet.Key, d fleet.SecretData) *corev1.Secret {
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}, Data: make(map[string][]byte, len(d))}
	for name, value := range d {
		s.Data[name] = value.Reveal()
	}
	return s
}

// ofCluster returns a secret of a cluster as Cluster API writes it.
func ofCluster(c fleet.Key, name fleet.SecretName, d fleet.SecretData) *corev1.Secret {
	s := newSecret(secretKey(c, name), d)
	s.Type, s.Labels = clusterv1.ClusterSecretType, map[string]string{clusterv1.ClusterNameLabel: c.Name}
	return s
}

func dataOf(s *corev1.Secret) fleet.SecretData {
	d := make(fleet.SecretData, len(s.Data))
	for name, value := range s.Data {
		d[name] = fleet.NewSecret(value)
	}
	return d
}

func (k *Kubernetes) read(ctx context.Context, key fleet.Key) (*corev1.Secret, error) {
	s := &corev1.Secret{}
	return s, k.api.Get().Namespace(key.Namespace).Resource("secrets").Name(key.Name).Do(ctx).Into(s)
}

// create creates s, and its namespace where that is missing.
func (k *Kubernetes) create(ctx context.Context, s *corev1.Secret) error {
	post := func() error {
		return k.api.Post().Namespace(s.Namespace).Resource("secrets").Body(s).Do(ctx).Error()
	}
	err := post()
	if !apierrors.IsNotFound(err) {
		return err
	}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.Namespace}}
	if err := k.api.Post().Resource("namespaces").Body(ns).Do(ctx).Error(); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("there is no namespace %s: create it, or allow Fairlead to: %w", s.Namespace, err)
	}
	return post()
}

// attempts is how often an update that lost a race is made.
const attempts = 5

// put creates s, or replaces the data of what is there, if that has the same
// label.
func (k *Kubernetes) put(ctx context.Context, op string, s *corev1.Secret, label string) error {
	var err error
	for range attempts {
		err = k.create(ctx, s.DeepCopy())
		if !apierrors.IsAlreadyExists(err) {
			break
		}
		var old *corev1.Secret
		if old, err = k.read(ctx, fleet.Key{Namespace: s.Namespace, Name: s.Name}); apierrors.IsNotFound(err) {
			continue // gone again
		}
		if err != nil {
			break
		}
		if old.Labels[label] != s.Labels[label] {
			return fleet.Errorf(fleet.Conflict, op, "there is a Secret %s/%s that Fairlead did not make (no label %s=%s)", s.Namespace, s.Name, label, s.Labels[label])
		}
		old.Data = maps.Clone(s.Data)
		err = k.api.Put().Namespace(s.Namespace).Resource("secrets").Name(s.Name).Body(old).Do(ctx).Error()
		if !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
			break
		}
	}
	if err != nil {
		return k.failed(op, err)
	}
	return nil
}

// remove deletes s, and not another that has its name by now.
func (k *Kubernetes) remove(ctx context.Context, s *corev1.Secret) error {
	err := k.api.Delete().Namespace(s.Namespace).Resource("secrets").Name(s.Name).
		Body(&metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &s.UID}}).Do(ctx).Error()
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

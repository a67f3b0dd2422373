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
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}, Data: d.Reveal()}
}

// ofCluster returns a secret of a cluster as Cluster API writes it, with the
// name of the fleet.
func (k *Kubernetes) ofCluster(c fleet.Key, name fleet.SecretName, d fleet.SecretData) *corev1.Secret {
	s := newSecret(secretKey(c, name), d)
	s.Type, s.Labels = clusterv1.ClusterSecretType, map[string]string{clusterv1.ClusterNameLabel: c.Name}
	if k.fleet != "" {
		s.Labels[fleet.TagFleet] = string(k.fleet)
	}
	return s
}

// isOf reports whether s, which has the name of a secret of c, is marked as one.
// What people brought is not, as Cluster API has it.
func isOf(s *corev1.Secret, c fleet.Key) bool {
	return s.Type == clusterv1.ClusterSecretType && s.Labels[clusterv1.ClusterNameLabel] == c.Name
}

// otherFleet returns the fleet that s was stored for, where that is another than this one.
func (k *Kubernetes) otherFleet(s *corev1.Secret) (fleet.ID, bool) {
	other := fleet.ID(s.Labels[fleet.TagFleet])
	return other, other != "" && k.fleet != "" && other != k.fleet
}

// sameFleet refuses what another fleet stored.
func (k *Kubernetes) sameFleet(op string, s *corev1.Secret) error {
	other, is := k.otherFleet(s)
	if !is {
		return nil
	}
	return fleet.Errorf(fleet.Conflict, op, "the Secret %s/%s belongs to a cluster of the same name of the fleet %s (label %s), and this is the fleet %s: give one of the clusters another name or namespace, or one of the fleets another store",
		s.Namespace, s.Name, other, fleet.TagFleet, k.fleet)
}

// given refuses a Secret that was stored for another fleet.
func (k *Kubernetes) given(op string, s *corev1.Secret) error {
	other, is := k.otherFleet(s)
	if !is {
		return nil
	}
	return fleet.Errorf(fleet.Conflict, op, "it is of the fleet %s (label %s), and this is the fleet %s: give one of them another name or namespace",
		other, fleet.TagFleet, k.fleet)
}

// usable refuses what another fleet stored, and what lacks the values that a
// secret of a cluster has.
func (k *Kubernetes) usable(op string, s *corev1.Secret, name fleet.SecretName) error {
	if err := k.sameFleet(op, s); err != nil {
		return err
	}
	required := fleet.TLSCertKey
	switch name {
	case fleet.Kubeconfig:
		required = fleet.KubeconfigKey
	case fleet.ServerToken:
		required = fleet.TokenKey
	case fleet.BootstrapSeed:
		required = fleet.SeedKey
	}
	if len(s.Data[required]) > 0 {
		return nil
	}
	return fleet.Errorf(fleet.Invalid, op, "the Secret %s/%s has no value for %s: correct it, or remove it", s.Namespace, s.Name, required)
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

// put creates s, or replaces the data of what is there if mine permits that, and
// adds the labels of s to it.
func (k *Kubernetes) put(ctx context.Context, op string, s *corev1.Secret, mine func(old *corev1.Secret) error) error {
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
		if err := mine(old); err != nil {
			return err
		}
		old.Data = maps.Clone(s.Data)
		maps.Copy(old.Labels, s.Labels)
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

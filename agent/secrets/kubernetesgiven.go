package secrets

import (
	"context"
	"slices"

	"fairlead.dev/fleet"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
)

// GetSecret returns the Secret key, or an error of kind NotFound.
func (k *Kubernetes) GetSecret(ctx context.Context, key fleet.Key) (fleet.SecretData, error) {
	if err := checkSecret(key); err != nil {
		return nil, err
	}
	op := "get Secret " + key.String()
	s, err := k.read(ctx, key)
	if err != nil {
		return nil, k.failed(op, err)
	}
	if err := k.given(op, s); err != nil {
		return nil, err
	}
	return fleet.NewSecretData(s.Data), nil
}

// SetSecret stores the Secret key. One that was made otherwise gives the kind
// Conflict.
func (k *Kubernetes) SetSecret(ctx context.Context, key fleet.Key, d fleet.SecretData) error {
	if err := checkSecret(key); err != nil {
		return err
	}
	s := newSecret(key, d)
	s.Type, s.Labels = corev1.SecretTypeOpaque, map[string]string{managedLabel: managedValue}
	if k.fleet != "" {
		s.Labels[fleet.TagFleet] = string(k.fleet)
	}
	op := "store Secret " + key.String()
	return k.put(ctx, op, s, func(old *corev1.Secret) error {
		if old.Labels[managedLabel] == managedValue {
			return k.given(op, old)
		}
		return fleet.Errorf(fleet.Conflict, op, "there is one that fairlead did not make (no label %s=%s): change it with kubectl", managedLabel, managedValue)
	})
}

// DeleteSecret removes the Secret key. Nothing there is success; one that was
// not made by SetSecret gives the kind Conflict.
func (k *Kubernetes) DeleteSecret(ctx context.Context, key fleet.Key) error {
	if err := checkSecret(key); err != nil {
		return err
	}
	op := "delete Secret " + key.String()
	s, err := k.read(ctx, key)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return k.failed(op, err)
	}
	if s.Labels[managedLabel] != managedValue {
		return fleet.Errorf(fleet.Conflict, op, "it was not made by fairlead (no label %s=%s): remove it with kubectl", managedLabel, managedValue)
	}
	if err := k.given(op, s); err != nil {
		return err
	}
	if err := k.remove(ctx, s); err != nil {
		return k.failed(op, err)
	}
	return nil
}

// Owns reports whether the Secret key was stored for the fleet of k, and so is
// not any fleet's. Where k has no fleet, all are.
func (k *Kubernetes) Owns(ctx context.Context, key fleet.Key) (bool, error) {
	s, err := k.read(ctx, key)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, k.failed("get Secret "+key.String(), err)
	}
	return k.fleet == "" || s.Labels[fleet.TagFleet] == string(k.fleet), nil
}

// ListSecrets returns the keys of the Secrets that SetSecret made, sorted, but
// for those of other fleets.
func (k *Kubernetes) ListSecrets(ctx context.Context) ([]fleet.Key, error) {
	var list corev1.SecretList
	err := k.api.Get().Resource("secrets").
		VersionedParams(&metav1.ListOptions{LabelSelector: managedLabel + "=" + managedValue}, scheme.ParameterCodec).Do(ctx).Into(&list)
	if err != nil {
		return nil, k.failed("list Secrets", err)
	}
	var keys []fleet.Key
	for _, s := range list.Items {
		if k.given("list Secrets", &s) != nil {
			continue
		}
		keys = append(keys, fleet.Key{Namespace: s.Namespace, Name: s.Name})
	}
	slices.SortFunc(keys, fleet.Key.Compare)
	return keys, nil
}

// FilterSecrets returns those of keys that ListSecrets would return, sorted. It gets
// them one by one, and needs no right to list. Where those of a namespace cannot be got,
// the others are returned with the error.
func (k *Kubernetes) FilterSecrets(ctx context.Context, keys []fleet.Key) ([]fleet.Key, error) {
	names := make(map[string][]string)
	for _, key := range keys {
		if checkSecret(key) == nil { // there is no other
			names[key.Namespace] = append(names[key.Namespace], key.Name)
		}
	}
	var out []fleet.Key
	var failed error
	for namespace, names := range names {
		found := make(map[string]*corev1.Secret)
		if err := k.readAll(ctx, namespace, names, found); err != nil {
			failed = err
			continue
		}
		for name, s := range found {
			if s.Labels[managedLabel] == managedValue && k.given("get Secret", s) == nil {
				out = append(out, fleet.Key{Namespace: namespace, Name: name})
			}
		}
	}
	slices.SortFunc(out, fleet.Key.Compare)
	return out, failed
}

package secrets

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/fleet"
)

// Kubernetes is a secret store in the Secrets of a Kubernetes cluster, with the
// names, type, label and keys of Cluster API: <cluster>-ca, <cluster>-kubeconfig
// and so on, in the namespace of the cluster. What is there already under such a
// name is taken over, as Cluster API does with authorities that people bring.
//
// Secrets that people give are ordinary ones. Those made by SetSecret have the
// label app.kubernetes.io/managed-by=fairlead; only they are listed, replaced
// and removed, and every Secret can be got.
//
// It is safe for concurrent use.
// Source: Cluster API, util/secret.
type Kubernetes struct {
	api  *rest.RESTClient
	host string
}

const (
	kubernetesTimeout = 15 * time.Second

	managedLabel = "app.kubernetes.io/managed-by"
	managedValue = "fairlead"
)

// OpenKubernetes opens the store in the cluster that the file kubeconfig leads
// to; an empty name is the cluster that this process runs in. It connects with
// the first call.
func OpenKubernetes(kubeconfig string) (*Kubernetes, error) {
	const op = "open secrets in Kubernetes"
	config, err := rest.InClusterConfig()
	if kubeconfig != "" {
		config, err = clientcmd.BuildConfigFromFlags("", kubeconfig)
	}
	if errors.Is(err, rest.ErrNotInCluster) {
		return nil, fleet.Errorf(fleet.Invalid, op, "this process runs in no cluster: name a kubeconfig, as in --secrets kubernetes:FILE")
	}
	if err != nil {
		return nil, fleet.Errorf(fleet.Unauthorized, op, "%w", err)
	}
	config.ContentType, config.AcceptContentTypes = "application/json", "application/json"
	config.APIPath, config.GroupVersion = "/api", &corev1.SchemeGroupVersion
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	config.UserAgent = "fairlead"
	config.Timeout = kubernetesTimeout
	config.QPS = -1 // the reconciler bounds what runs at once
	api, err := rest.RESTClientFor(config)
	if err != nil {
		return nil, fleet.Errorf(fleet.Invalid, op, "%w", err)
	}
	return &Kubernetes{api: api, host: config.Host}, nil
}

// String names the cluster. It keeps fmt from what is inside k.
func (k *Kubernetes) String() string { return "secrets in Kubernetes at " + k.host }

// GoString is String.
func (k *Kubernetes) GoString() string { return k.String() }

// Get implements reconcile.SecretStore.
func (k *Kubernetes) Get(ctx context.Context, c fleet.Key, name fleet.SecretName) (fleet.SecretData, error) {
	if err := checkKey(c); err != nil {
		return nil, err
	}
	s, err := k.read(ctx, secretKey(c, name))
	if err != nil {
		return nil, k.failed(fmt.Sprintf("get secret %s of cluster %s", name, c), err)
	}
	return dataOf(s), nil
}

// Create implements reconcile.SecretStore.
func (k *Kubernetes) Create(ctx context.Context, c fleet.Key, name fleet.SecretName, d fleet.SecretData) (fleet.SecretData, error) {
	if err := checkKey(c); err != nil {
		return nil, err
	}
	op := fmt.Sprintf("store secret %s of cluster %s", name, c)
	err := k.create(ctx, ofCluster(c, name, d))
	if apierrors.IsAlreadyExists(err) {
		return k.Get(ctx, c, name)
	}
	if err != nil {
		return nil, k.failed(op, err)
	}
	return clone(d), nil
}

// Replace implements reconcile.SecretStore. A Secret of that name that is not
// the cluster's gives the kind Conflict.
func (k *Kubernetes) Replace(ctx context.Context, c fleet.Key, name fleet.SecretName, d fleet.SecretData) error {
	if err := checkKey(c); err != nil {
		return err
	}
	return k.put(ctx, fmt.Sprintf("store secret %s of cluster %s", name, c), ofCluster(c, name, d), clusterv1.ClusterNameLabel)
}

// Delete implements reconcile.SecretStore. It removes what has the names, the
// type and the label of the cluster's, and so nothing that people brought.
func (k *Kubernetes) Delete(ctx context.Context, c fleet.Key) error {
	if err := checkKey(c); err != nil {
		return err
	}
	for _, name := range append(fleet.Authorities(), fleet.Kubeconfig) {
		op := fmt.Sprintf("delete secret %s of cluster %s", name, c)
		s, err := k.read(ctx, secretKey(c, name))
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return k.failed(op, err)
		}
		if s.Type != clusterv1.ClusterSecretType || s.Labels[clusterv1.ClusterNameLabel] != c.Name {
			continue
		}
		if err := k.remove(ctx, s); err != nil {
			return k.failed(op, err)
		}
	}
	return nil
}

// GetSecret returns the Secret key, or an error of kind NotFound.
func (k *Kubernetes) GetSecret(ctx context.Context, key fleet.Key) (fleet.SecretData, error) {
	if err := checkSecret(key); err != nil {
		return nil, err
	}
	s, err := k.read(ctx, key)
	if err != nil {
		return nil, k.failed("get Secret "+key.String(), err)
	}
	return dataOf(s), nil
}

// SetSecret stores the Secret key. One that was made otherwise gives the kind
// Conflict.
func (k *Kubernetes) SetSecret(ctx context.Context, key fleet.Key, d fleet.SecretData) error {
	if err := checkSecret(key); err != nil {
		return err
	}
	s := newSecret(key, d)
	s.Type, s.Labels = corev1.SecretTypeOpaque, map[string]string{managedLabel: managedValue}
	return k.put(ctx, "store Secret "+key.String(), s, managedLabel)
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
	if err := k.remove(ctx, s); err != nil {
		return k.failed(op, err)
	}
	return nil
}

// ListSecrets returns the keys of the Secrets that SetSecret made, sorted.
func (k *Kubernetes) ListSecrets(ctx context.Context) ([]fleet.Key, error) {
	var list corev1.SecretList
	err := k.api.Get().Resource("secrets").
		VersionedParams(&metav1.ListOptions{LabelSelector: managedLabel + "=" + managedValue}, scheme.ParameterCodec).Do(ctx).Into(&list)
	if err != nil {
		return nil, k.failed("list Secrets", err)
	}
	var keys []fleet.Key
	for _, s := range list.Items {
		keys = append(keys, fleet.Key{Namespace: s.Namespace, Name: s.Name})
	}
	slices.SortFunc(keys, fleet.Key.Compare)
	return keys, nil
}

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

// failed gives err its kind. A request that may have happened may be repeated:
// what is stored is asked for again.
func (k *Kubernetes) failed(op string, err error) error {
	kind := fleet.Unavailable
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		switch code := status.Status().Code; {
		case code == http.StatusNotFound:
			return fleet.Errorf(fleet.NotFound, op, "it is not stored")
		case code == http.StatusUnauthorized, code == http.StatusForbidden:
			kind = fleet.Unauthorized
		case code == http.StatusConflict:
			kind = fleet.Conflict
		case code == http.StatusUnprocessableEntity, code == http.StatusBadRequest:
			kind = fleet.Invalid
		}
	}
	return fleet.Errorf(kind, op, "%w", err)
}

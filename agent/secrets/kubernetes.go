package secrets

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/agent/wiring/kube"
	"fairlead.dev/fleet"
	"fairlead.dev/reconcile"
)

// Kubernetes is a secret store in the Secrets of a Kubernetes cluster, with the
// names, type, label and keys of Cluster API: <cluster>-ca, <cluster>-kubeconfig
// and so on, in the namespace of the cluster. What is there already under such a
// name is taken over, as Cluster API does with CA certificates that people bring.
//
// Of gives it the name of a fleet, which what it stores for clusters then has as
// the label fairlead.dev/fleet. What has that of another fleet is refused; what
// has none, such as what Cluster API made, is any fleet's.
//
// Secrets that people give are ordinary ones. Those made by SetSecret have the
// label app.kubernetes.io/managed-by=fairlead; only they are listed, replaced
// and removed, and every Secret can be got. Those made with the name of a fleet
// have that, too: no other fleet lists, gets, replaces or removes them.
//
// It is safe for concurrent use.
// Source: Cluster API, util/secret.
type Kubernetes struct {
	api   *rest.RESTClient
	host  string
	fleet fleet.ID

	authority []byte // that the API server is trusted by, PEM; empty: the system's
	namespace string // that the kubeconfig or the pod names
}

var (
	_ reconcile.SharedStore  = (*Kubernetes)(nil)
	_ reconcile.SecretKeeper = (*Kubernetes)(nil)
)

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
	access, err := kube.FromFile(kubeconfig, kubernetesOptions())
	if errors.Is(err, kube.ErrNotInCluster) {
		return nil, fleet.Errorf(fleet.Invalid, op, "%w", err)
	}
	if err != nil {
		return nil, fleet.Errorf(fleet.Unauthorized, op, "%w", err)
	}
	return openAt(access)
}

// OpenKubeconfig opens the store in the cluster that the content of a kubeconfig leads
// to, which is written nowhere. It connects with the first call.
func OpenKubeconfig(content fleet.Secret) (*Kubernetes, error) {
	const op = "open secrets in Kubernetes"
	access, err := kube.FromContent(content, kubernetesOptions())
	if err != nil {
		return nil, fleet.Errorf(fleet.Invalid, op, "%w", err)
	}
	return openAt(access)
}

// kubernetesOptions set no rate: the reconciler bounds what runs at once.
func kubernetesOptions() kube.Options { return kube.Options{Timeout: kubernetesTimeout} }

// openAt opens the store that access leads to.
func openAt(access kube.Access) (*Kubernetes, error) {
	const op = "open secrets in Kubernetes"
	config := access.Config
	config.ContentType, config.AcceptContentTypes = "application/json", "application/json"
	config.APIPath, config.GroupVersion = "/api", &corev1.SchemeGroupVersion
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	if err := rest.LoadTLSFiles(config); err != nil {
		return nil, fleet.Errorf(fleet.Invalid, op, "%w", err)
	}
	api, err := rest.RESTClientFor(config)
	if err != nil {
		return nil, fleet.Errorf(fleet.Invalid, op, "%w", err)
	}
	return &Kubernetes{api: api, host: config.Host, authority: config.CAData, namespace: access.Namespace}, nil
}

// String names the cluster. It keeps fmt from what is inside k.
func (k *Kubernetes) String() string { return "secrets in Kubernetes at " + k.host }

// GoString is String.
func (k *Kubernetes) GoString() string { return k.String() }

// Of implements reconcile.SharedStore.
func (k *Kubernetes) Of(id fleet.ID) reconcile.SecretStore {
	return &Kubernetes{api: k.api, host: k.host, fleet: id, authority: k.authority, namespace: k.namespace}
}

// Get implements reconcile.SecretStore.
func (k *Kubernetes) Get(ctx context.Context, c fleet.Key, name fleet.SecretName) (fleet.SecretData, error) {
	if err := checkKey(c); err != nil {
		return nil, err
	}
	op := fmt.Sprintf("get secret %s of cluster %s", name, c)
	s, err := k.read(ctx, secretKey(c, name))
	if err != nil {
		return nil, k.failed(op, err)
	}
	if err := k.usable(op, s, name); err != nil {
		return nil, err
	}
	return fleet.NewSecretData(s.Data), nil
}

// Create implements reconcile.SecretStore.
func (k *Kubernetes) Create(ctx context.Context, c fleet.Key, name fleet.SecretName, d fleet.SecretData) (fleet.SecretData, error) {
	if err := checkKey(c); err != nil {
		return nil, err
	}
	err := k.create(ctx, k.ofCluster(c, name, d))
	if apierrors.IsAlreadyExists(err) {
		return k.Get(ctx, c, name)
	}
	if err != nil {
		return nil, k.failed(fmt.Sprintf("store secret %s of cluster %s", name, c), err)
	}
	return clone(d), nil
}

// Replace implements reconcile.SecretStore. A Secret of that name that is not
// the cluster's gives the kind Conflict.
func (k *Kubernetes) Replace(ctx context.Context, c fleet.Key, name fleet.SecretName, d fleet.SecretData) error {
	if err := checkKey(c); err != nil {
		return err
	}
	op := fmt.Sprintf("store secret %s of cluster %s", name, c)
	return k.put(ctx, op, k.ofCluster(c, name, d), func(old *corev1.Secret) error {
		if !isOf(old, c) {
			return fleet.Errorf(fleet.Conflict, op, "there is a Secret %s/%s that Fairlead did not make (not of type %s with the label %s=%s): rename or remove it",
				old.Namespace, old.Name, clusterv1.ClusterSecretType, clusterv1.ClusterNameLabel, c.Name)
		}
		return k.sameFleet(op, old)
	})
}

// Delete implements reconcile.SecretStore. It removes what has the names, the
// type and the label of the cluster's, and so nothing that people brought.
func (k *Kubernetes) Delete(ctx context.Context, c fleet.Key) error {
	return k.each(ctx, "delete", c, func(op string, _ fleet.SecretName, s *corev1.Secret) error {
		if !isOf(s, c) {
			return nil
		}
		if err := k.sameFleet(op, s); err != nil {
			return err
		}
		if err := k.remove(ctx, s); err != nil {
			return k.failed(op, err)
		}
		return nil
	})
}

// Kept implements reconcile.SecretKeeper.
func (k *Kubernetes) Kept(ctx context.Context, c fleet.Key) ([]fleet.SecretName, error) {
	var kept []fleet.SecretName
	err := k.each(ctx, "get", c, func(_ string, name fleet.SecretName, s *corev1.Secret) error {
		if !isOf(s, c) {
			kept = append(kept, name)
		}
		return nil
	})
	return kept, err
}

// each calls f for each Secret that has the name of one of the cluster's; op
// says what is done to it.
func (k *Kubernetes) each(ctx context.Context, verb string, c fleet.Key, f func(op string, name fleet.SecretName, s *corev1.Secret) error) error {
	if err := checkKey(c); err != nil {
		return err
	}
	for _, name := range fleet.SecretNames() {
		op := fmt.Sprintf("%s secret %s of cluster %s", verb, name, c)
		s, err := k.read(ctx, secretKey(c, name))
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return k.failed(op, err)
		}
		if err := f(op, name, s); err != nil {
			return err
		}
	}
	return nil
}

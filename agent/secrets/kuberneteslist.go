package secrets

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/fleet"
	"fairlead.dev/reconcile"
)

var _ reconcile.SecretLister = (*Kubernetes)(nil)

const (
	// pageSize is how many objects an API server is asked for at once.
	pageSize = 500
	// requestsAtOnce bounds what is asked of an API server at once where many
	// clusters are concerned.
	requestsAtOnce = 16

	asMetadata = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
)

// Secrets implements reconcile.SecretLister, with two lists of each namespace: one of
// the Secrets with Cluster API's label, and one of all names, without content, since
// what people bring need not have the label. What only the second one has is got. A
// namespace in which Secrets may not be listed is read one by one.
func (k *Kubernetes) Secrets(ctx context.Context, clusters []fleet.Key) (reconcile.StoredSecrets, error) {
	namespaces := make(map[string][]fleet.Key)
	for _, c := range clusters {
		if err := checkKey(c); err != nil {
			return nil, err
		}
		namespaces[c.Namespace] = append(namespaces[c.Namespace], c)
	}
	out := make(reconcile.StoredSecrets, len(clusters))
	for ns, of := range namespaces {
		found, err := k.stored(ctx, ns, of)
		if err != nil {
			return nil, err
		}
		for _, c := range of {
			out[c] = make(map[fleet.SecretName]reconcile.StoredSecret)
			for _, name := range fleet.SecretNames() {
				s, ok := found[secretKey(c, name).Name]
				if !ok {
					continue
				}
				stored := reconcile.StoredSecret{Kept: !isOf(s, c), Err: k.usable(fmt.Sprintf("get secret %s of cluster %s", name, c), s, name)}
				if stored.Err == nil {
					stored.Data = fleet.NewSecretData(s.Data)
				}
				out[c][name] = stored
			}
		}
	}
	return out, nil
}

// stored returns the Secrets of namespace that have names of secrets of clusters, by
// name.
func (k *Kubernetes) stored(ctx context.Context, namespace string, clusters []fleet.Key) (map[string]*corev1.Secret, error) {
	wanted := make(map[string]bool)
	for _, c := range clusters {
		for _, name := range fleet.SecretNames() {
			wanted[secretKey(c, name).Name] = true
		}
	}
	found := make(map[string]*corev1.Secret)
	err := k.pages(ctx, namespace, metav1.ListOptions{LabelSelector: clusterv1.ClusterNameLabel}, "application/json", func(page []byte) (string, error) {
		var list corev1.SecretList
		if err := json.Unmarshal(page, &list); err != nil {
			return "", err
		}
		for i := range list.Items {
			if s := &list.Items[i]; wanted[s.Name] {
				found[s.Name] = s
			}
		}
		return list.Continue, nil
	})
	var rest []string
	if err == nil {
		rest, err = k.names(ctx, namespace, func(name string) bool { return wanted[name] && found[name] == nil })
	}
	if fleet.KindOf(err) == fleet.Unauthorized {
		rest, err = nil, nil
		for name := range wanted {
			rest = append(rest, name)
		}
	}
	if err != nil {
		return nil, err
	}
	return found, k.readAll(ctx, namespace, rest, found)
}

// names returns the names of the Secrets of namespace that pass, sorted.
func (k *Kubernetes) names(ctx context.Context, namespace string, pass func(name string) bool) ([]string, error) {
	var names []string
	err := k.pages(ctx, namespace, metav1.ListOptions{}, asMetadata, func(page []byte) (string, error) {
		var list metav1.PartialObjectMetadataList
		if err := json.Unmarshal(page, &list); err != nil {
			return "", err
		}
		for _, s := range list.Items {
			if pass(s.Name) {
				names = append(names, s.Name)
			}
		}
		return list.Continue, nil
	})
	slices.Sort(names)
	return names, err
}

// pages lists the Secrets of namespace, page by page. read returns what leads to the
// next page.
func (k *Kubernetes) pages(ctx context.Context, namespace string, o metav1.ListOptions, accept string, read func(page []byte) (string, error)) error {
	op := "list Secrets in namespace " + namespace
	for o.Limit = pageSize; ; {
		page, err := k.api.Get().Namespace(namespace).Resource("secrets").VersionedParams(&o, scheme.ParameterCodec).
			SetHeader("Accept", accept).Do(ctx).Raw()
		if err != nil {
			return k.failed(op, err)
		}
		if o.Continue, err = read(page); err != nil {
			return fleet.Errorf(fleet.Unavailable, op, "%w", err)
		}
		if o.Continue == "" {
			return nil
		}
	}
}

// readAll gets the Secrets of namespace with those names into found. What is not there
// is left out.
func (k *Kubernetes) readAll(ctx context.Context, namespace string, names []string, found map[string]*corev1.Secret) error {
	var mu sync.Mutex
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(requestsAtOnce)
	for _, name := range names {
		g.Go(func() error {
			s, err := k.read(ctx, fleet.Key{Namespace: namespace, Name: name})
			if err != nil {
				if err = k.failed("get Secret "+namespace+"/"+name, err); fleet.KindOf(err) == fleet.NotFound {
					return nil
				}
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			found[name] = s
			return nil
		})
	}
	return g.Wait()
}

package external

import (
	"bytes"
	"context"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
)

// secrets are those from which a control plane is known: in Git, given to the agent, or
// stored of what was there before.
type secrets struct {
	cluster *fleet.Cluster
	given   func(ctx context.Context, k fleet.Key) (fleet.SecretData, error)
	stored  providers.SecretReader
}

// kubeconfig returns the kubeconfig, and the name of its Secret: the one that ref names in
// Git, else <cluster>-kubeconfig. Zero: it is not there.
func (s secrets) kubeconfig(ctx context.Context, ref *SecretRef) (k fleet.Secret, name string, err error) {
	namespace := s.cluster.Key.Namespace + "/"
	if ref != nil {
		return s.cluster.Secrets[ref.Name][ref.Key], namespace + ref.Name, nil
	}
	k, err = s.value(ctx, fleet.Kubeconfig, fleet.KubeconfigKey)
	return k, namespace + s.named(fleet.Kubeconfig), err
}

// authority returns the certificate of the authority: that of <cluster>-ca in Git, else the
// one embedded in the kubeconfig, else that of <cluster>-ca elsewhere. Zero: there is none.
func (s secrets) authority(ctx context.Context, embedded []byte) (fleet.Secret, error) {
	if _, ok := s.cluster.Secrets[s.named(fleet.ClusterCA)]; !ok && len(embedded) > 0 {
		return fleet.NewSecret(embedded), nil
	}
	return s.value(ctx, fleet.ClusterCA, fleet.TLSCertKey)
}

// named returns what Cluster API calls a secret of the cluster.
func (s secrets) named(name fleet.SecretName) string {
	return s.cluster.Key.Name + "-" + string(name)
}

// value returns a value of Secret <cluster>-name in Git, else of the one that people gave
// the agent, else of what is stored. Zero: there is none.
func (s secrets) value(ctx context.Context, name fleet.SecretName, key string) (fleet.Secret, error) {
	if d, ok := s.cluster.Secrets[s.named(name)]; ok {
		return d[key], nil
	}
	if s.given != nil {
		d, err := s.given(ctx, fleet.Key{Namespace: s.cluster.Key.Namespace, Name: s.named(name)})
		if err == nil || fleet.KindOf(err) != fleet.NotFound {
			return d[key], err
		}
	}
	d, err := s.stored.Get(ctx, s.cluster.Key, name)
	if fleet.KindOf(err) == fleet.NotFound {
		err = nil
	}
	return d[key], err
}

// kept returns what is to be stored under name: what is stored already, where that has the
// value as it was brought, and in the form to be used otherwise. A store in Kubernetes has
// what people gave under the same name, and that is not replaced.
func (s secrets) kept(ctx context.Context, name fleet.SecretName, key string, brought, used fleet.Secret) (fleet.SecretData, error) {
	d, err := s.stored.Get(ctx, s.cluster.Key, name)
	switch {
	case fleet.KindOf(err) == fleet.NotFound:
	case err != nil:
		return nil, err
	case bytes.Equal(d[key].Reveal(), brought.Reveal()), bytes.Equal(d[key].Reveal(), used.Reveal()):
		return d, nil
	}
	return fleet.SecretData{key: used}, nil
}

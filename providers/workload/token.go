package workload

import (
	"bytes"
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	bootstrapapi "k8s.io/cluster-bootstrap/token/api"
	bootstraputil "k8s.io/cluster-bootstrap/token/util"

	"fairlead.dev/fleet"
	"fairlead.dev/fleet/documents"
	"fairlead.dev/providers"
)

// joinGroups are what a token lets its bearer be: a node that kubeadm joins.
const joinGroups = "system:bootstrappers:kubeadm:default-node-token"

// EnsureToken implements providers.Workload. It is the API server that says when ttl is
// over, by its own clock.
func (c *Client) EnsureToken(ctx context.Context, a providers.Access, t providers.Token, ttl time.Duration) error {
	return c.call(ctx, a, "store bootstrap token "+t.ID, func(ctx context.Context, n *conn) error {
		if err := n.tellTime(ctx); err != nil {
			return err
		}
		want := c.o.Now().Add(n.clock.Ahead() + ttl).UTC().Truncate(time.Second)
		if len(t.Authorities) > 0 {
			if err := n.publish(ctx, t.Authorities); err != nil {
				return err
			}
		}
		s := newTokenSecret(t, want)
		at := ref{"secrets", s.Namespace, s.Name}
		err := n.create(ctx, ref{"secrets", s.Namespace, ""}, s)
		if !apierrors.IsAlreadyExists(err) {
			return err
		}
		var old corev1.Secret
		if err := n.get(ctx, at, &old); err != nil {
			return err
		}
		if !expiration(&old).Before(want) && sameToken(&old, s) {
			return nil
		}
		if expiration(&old).After(want) {
			s.Data[bootstrapapi.BootstrapTokenExpirationKey] = old.Data[bootstrapapi.BootstrapTokenExpirationKey]
		}
		return n.mergePatch(ctx, at, map[string]any{"data": s.Data})
	})
}

// tellTime has the API server answer once, where it did not on this connection: its
// answer tells its clock.
func (n *conn) tellTime(ctx context.Context) error {
	if n.clock.known.Load() {
		return nil
	}
	err := n.get(ctx, ref{"configmaps", metav1.NamespacePublic, bootstrapapi.ConfigMapClusterInfo}, &corev1.ConfigMap{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// publish has the ConfigMap by which machines find the cluster name authorities,
// PEM. kube-controller-manager signs it anew, for every token.
func (n *conn) publish(ctx context.Context, authorities []byte) error {
	at := ref{"configmaps", metav1.NamespacePublic, bootstrapapi.ConfigMapClusterInfo}
	var info corev1.ConfigMap
	if err := n.get(ctx, at, &info); err != nil {
		return err
	}
	kubeconfig, err := documents.Plain([]byte(info.Data[bootstrapapi.KubeConfigKey]), documents.DefaultLimits())
	if err != nil {
		return fleet.Errorf(fleet.Invalid, "name the cluster's authorities", "ConfigMap %s/%s: %s is not a kubeconfig: %w", info.Namespace, info.Name, bootstrapapi.KubeConfigKey, err)
	}
	k, err := clientcmd.Load(kubeconfig)
	if err != nil {
		return fleet.Errorf(fleet.Invalid, "name the cluster's authorities", "ConfigMap %s/%s: %s is not a kubeconfig: %w", info.Namespace, info.Name, bootstrapapi.KubeConfigKey, err)
	}
	changed := false
	for _, c := range k.Clusters {
		changed = changed || !bytes.Equal(c.CertificateAuthorityData, authorities)
		c.CertificateAuthorityData = authorities
	}
	if !changed {
		return nil
	}
	text, err := clientcmd.Write(*k)
	if err != nil {
		return err
	}
	return n.mergePatch(ctx, at, map[string]any{
		"metadata": map[string]any{"resourceVersion": info.ResourceVersion},
		"data":     map[string]any{bootstrapapi.KubeConfigKey: string(text)},
	})
}

func newTokenSecret(t providers.Token, expires time.Time) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: metav1.NamespaceSystem,
			Name:      bootstraputil.BootstrapTokenSecretName(t.ID),
		},
		Type: bootstrapapi.SecretTypeBootstrapToken,
		Data: map[string][]byte{
			bootstrapapi.BootstrapTokenIDKey:               []byte(t.ID),
			bootstrapapi.BootstrapTokenSecretKey:           t.Secret.Reveal(),
			bootstrapapi.BootstrapTokenExpirationKey:       []byte(expires.Format(time.RFC3339)),
			bootstrapapi.BootstrapTokenUsageAuthentication: []byte("true"),
			bootstrapapi.BootstrapTokenUsageSigningKey:     []byte("true"),
			bootstrapapi.BootstrapTokenExtraGroupsKey:      []byte(joinGroups),
			bootstrapapi.BootstrapTokenDescriptionKey:      []byte("Lets a machine of Fairlead join."),
		},
	}
}

// sameToken reports whether two secrets differ in their expiration at most.
func sameToken(a, b *corev1.Secret) bool {
	for key, v := range b.Data {
		if key != bootstrapapi.BootstrapTokenExpirationKey && string(a.Data[key]) != string(v) {
			return false
		}
	}
	return true
}

package inside

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
	"fairlead.dev/providers/workload"
)

const (
	secretsPath     = "/api/v1/namespaces/kube-system/secrets"
	clusterInfoPath = "/api/v1/namespaces/kube-public/configmaps/" + bootstrapapi.ConfigMapClusterInfo
)

// joinGroups are what a token lets its bearer be: a node that kubeadm joins.
const joinGroups = "system:bootstrappers:kubeadm:default-node-token"

// A Token is a bootstrap token, "id.secret".
type Token struct {
	ID     string // 6 characters of [a-z0-9]
	Secret fleet.Secret
	// Authorities are, in PEM form, what its bearer is to trust, where that is no
	// more what kubeadm init has published: it has to be published before.
	Authorities []byte
}

// EnsureToken stores t as a bootstrap token that is good for ttl from now, or makes an
// existing one last that long, and publishes its authorities. It is the API server that
// says when ttl is over, by its own clock.
func (c *Client) EnsureToken(ctx context.Context, a providers.Access, t Token, ttl time.Duration) error {
	return c.clusters.Call(ctx, a, "store bootstrap token "+t.ID, func(ctx context.Context, n *workload.Conn) error {
		ahead, err := tellTime(ctx, n)
		if err != nil {
			return err
		}
		want := n.Now().Add(ahead + ttl).UTC().Truncate(time.Second)
		if len(t.Authorities) > 0 {
			if err := publish(ctx, n, t.Authorities); err != nil {
				return err
			}
		}
		s := newTokenSecret(t, want)
		at := secretsPath + "/" + s.Name
		err = n.Create(ctx, secretsPath, s)
		if !apierrors.IsAlreadyExists(err) {
			return err
		}
		var old corev1.Secret
		if err := n.Get(ctx, at, &old); err != nil {
			return err
		}
		if !expiration(&old).Before(want) && sameToken(&old, s) {
			return nil
		}
		if expiration(&old).After(want) {
			s.Data[bootstrapapi.BootstrapTokenExpirationKey] = old.Data[bootstrapapi.BootstrapTokenExpirationKey]
		}
		return n.MergePatch(ctx, at, map[string]any{"data": s.Data})
	})
}

// tellTime returns how far the clock of the API server is ahead. It has the API server
// answer once, where it did not on this connection: its answer tells its clock.
func tellTime(ctx context.Context, n *workload.Conn) (time.Duration, error) {
	if ahead, known := n.Ahead(); known {
		return ahead, nil
	}
	err := gone(n.Get(ctx, clusterInfoPath, &corev1.ConfigMap{}))
	ahead, _ := n.Ahead()
	return ahead, err
}

// publish has the ConfigMap by which machines find the cluster name authorities,
// PEM. kube-controller-manager signs it anew, for every token.
func publish(ctx context.Context, n *workload.Conn, authorities []byte) error {
	const at = clusterInfoPath
	var info corev1.ConfigMap
	if err := n.Get(ctx, at, &info); err != nil {
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
	return n.MergePatch(ctx, at, map[string]any{
		"metadata": map[string]any{"resourceVersion": info.ResourceVersion},
		"data":     map[string]any{bootstrapapi.KubeConfigKey: string(text)},
	})
}

func newTokenSecret(t Token, expires time.Time) *corev1.Secret {
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

// never is when a token without expiration expires.
var never = time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC) //nolint:gochecknoglobals // a constant that Go cannot write as one

// expiration returns when a token expires; one that cannot be read already has,
// as Kubernetes has it.
func expiration(s *corev1.Secret) time.Time {
	text, ok := s.Data[bootstrapapi.BootstrapTokenExpirationKey]
	if !ok {
		return never
	}
	t, _ := time.Parse(time.RFC3339, string(text))
	return t
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

package inside

import (
	"bytes"
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/clientcmd"
	bootstrapapi "k8s.io/cluster-bootstrap/token/api"

	"fairlead.dev/fleet"
	"fairlead.dev/fleet/documents"
	"fairlead.dev/providers"
	"fairlead.dev/providers/distribution/jointoken"
	"fairlead.dev/providers/workload"
)

const clusterInfoPath = "/api/v1/namespaces/kube-public/configmaps/" + bootstrapapi.ConfigMapClusterInfo

// joinGroups are what a token lets its bearer be: a node that kubeadm joins.
const joinGroups = "system:bootstrappers:kubeadm:default-node-token"

// A Token is a bootstrap token, "id.secret".
type Token struct {
	ID     string // 6 characters of [a-z0-9]
	Secret fleet.Secret
	// Authorities are the CA certificates, in PEM form, that its bearer is to trust, if they
	// differ from what kubeadm init has published: they have to be published before.
	Authorities []byte
}

// EnsureToken stores t as a bootstrap token that is good for ttl from now, or makes an
// existing one last that long, and publishes its CA certificates.
func (c *Client) EnsureToken(ctx context.Context, a providers.Access, t Token, ttl time.Duration) error {
	return c.clusters.Call(ctx, a, "store bootstrap token "+t.ID, func(ctx context.Context, n *workload.Conn) error {
		if len(t.Authorities) > 0 {
			if err := publish(ctx, n, t.Authorities); err != nil {
				return err
			}
		}
		return jointoken.Ensure(ctx, n, jointoken.Token{ID: t.ID, Secret: t.Secret}, joinGroups, ttl)
	})
}

// publish writes authorities, PEM, into the ConfigMap by which machines find the
// cluster. kube-controller-manager signs it again, for every token.
func publish(ctx context.Context, n *workload.Conn, authorities []byte) error {
	const at = clusterInfoPath
	var info corev1.ConfigMap
	if err := n.Get(ctx, at, &info); err != nil {
		return err
	}
	kubeconfig, err := documents.Plain([]byte(info.Data[bootstrapapi.KubeConfigKey]), documents.DefaultLimits())
	if err != nil {
		return fleet.Errorf(fleet.Invalid, "name the cluster's CA certificates", "ConfigMap %s/%s: %s is not a kubeconfig: %w", info.Namespace, info.Name, bootstrapapi.KubeConfigKey, err)
	}
	k, err := clientcmd.Load(kubeconfig)
	if err != nil {
		return fleet.Errorf(fleet.Invalid, "name the cluster's CA certificates", "ConfigMap %s/%s: %s is not a kubeconfig: %w", info.Namespace, info.Name, bootstrapapi.KubeConfigKey, err)
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

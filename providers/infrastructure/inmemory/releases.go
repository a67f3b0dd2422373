package inmemory

import (
	"context"
	"maps"
	"net"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fleet"
	"fairlead.dev/fleet/documents"
	"fairlead.dev/providers"
)

// An Installer is a cloud that pretends to install charts of Helm: it fetches none,
// and runs none. A *Cloud and a *Client are one.
type Installer interface {
	// SetRelease writes down in a cluster that a release is deployed, as Helm would,
	// or that it is not there. One without Fairlead's labels gives the kind Conflict.
	SetRelease(ctx context.Context, r ReleaseSpec) error
}

// A ReleaseSpec is a release of Helm as a cloud sees it.
type ReleaseSpec struct {
	Network   string            `json:"network"` // id, of the cluster
	Namespace string            `json:"namespace"`
	Name      string            `json:"name"`
	Labels    map[string]string `json:"labels,omitempty"` // none: it is removed
}

var (
	_ Installer        = (*Cloud)(nil)
	_ Installer        = (*Client)(nil)
	_ providers.Charts = (*Provider)(nil)
)

// SetRelease implements Installer.
func (c *Cloud) SetRelease(ctx context.Context, r ReleaseSpec) error {
	op := "install release " + r.Namespace + "/" + r.Name
	return c.change(ctx, op, func() error {
		n, ok := c.networks[r.Network]
		if !ok || !n.deleted.IsZero() || n.cluster == nil {
			return &fleet.Error{Kind: fleet.NotFound, Op: op, Err: errNoSuch}
		}
		const revision = "1" // there is no history
		kind, name := corev1.SchemeGroupVersion.WithKind("Secret"), "sh.helm.release.v1."+r.Name+".v"+revision
		if old, there := n.cluster.api.Get(kind, r.Namespace, name); there && old.GetLabels()[fleet.ReleaseProxyLabel] == "" {
			return fleet.Errorf(fleet.Conflict, op, "somebody else installed a release of this name")
		}
		if r.Labels == nil {
			n.cluster.api.Delete(kind, r.Namespace, name)
			return nil
		}
		labels := maps.Clone(r.Labels)
		maps.Copy(labels, map[string]string{
			"owner": "helm", "name": r.Name, "status": fleet.ReleaseDeployed, "version": revision,
			"modifiedAt": strconv.FormatInt(time.Now().Unix(), 10),
		})
		return n.cluster.api.Upsert(&corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: name, Labels: labels}, Type: "helm.sh/release.v1",
		})
	})
}

// SetRelease implements Installer.
func (c *Client) SetRelease(ctx context.Context, r ReleaseSpec) error {
	return c.act(ctx, "releases/set", r)
}

// Install implements providers.Charts.
func (p *Provider) Install(ctx context.Context, a providers.Access, r fleet.Release) error {
	return p.setRelease(ctx, a, ReleaseSpec{Namespace: r.Namespace, Name: r.Name, Labels: r.Labels(1)})
}

// Uninstall implements providers.Charts.
func (p *Provider) Uninstall(ctx context.Context, a providers.Access, ref fleet.ReleaseRef) error {
	return p.setRelease(ctx, a, ReleaseSpec{Namespace: ref.Namespace, Name: ref.Name})
}

// Tries implements providers.Charts: what is begun here has ended.
func (*Provider) Tries(fleet.Key) []fleet.ReleaseTry { return nil }

// Forget implements providers.Charts.
func (*Provider) Forget(fleet.Key) {}

// setRelease sets a release in the cluster that a leads to.
func (p *Provider) setRelease(ctx context.Context, a providers.Access, r ReleaseSpec) error {
	op := "install release " + r.Namespace + "/" + r.Name
	cloud, ok := p.api.(Installer)
	if !ok {
		return fleet.Errorf(fleet.Invalid, op, "this cloud installs no charts")
	}
	var config struct {
		Clusters []struct {
			Cluster struct {
				Server string `json:"server"`
			} `json:"cluster"`
		} `json:"clusters"`
	}
	if err := documents.Unmarshal(a.Kubeconfig.Reveal(), &config, documents.DefaultLimits()); err != nil || len(config.Clusters) == 0 {
		return fleet.Errorf(fleet.Invalid, op, "the kubeconfig names no cluster")
	}
	networks, err := p.api.Networks(ctx, map[string]string{fleet.TagCluster: a.Cluster.String()})
	if err != nil {
		return wrap(op, err)
	}
	for _, n := range networks {
		if net.JoinHostPort(n.Endpoint.Host, strconv.Itoa(int(n.Endpoint.Port))) == strings.TrimPrefix(config.Clusters[0].Cluster.Server, "https://") {
			r.Network = n.ID
			return wrap(op, cloud.SetRelease(ctx, r))
		}
	}
	return fleet.Errorf(fleet.NotFound, op, "no load balancer is at %s", config.Clusters[0].Cluster.Server)
}

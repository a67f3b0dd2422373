package inside

import (
	"context"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	"sigs.k8s.io/yaml"

	"fairlead.dev/fleet"
	"fairlead.dev/fleet/documents"
	"fairlead.dev/providers"
	"fairlead.dev/providers/workload"
)

// kubeadm keeps the ClusterConfiguration in a key of a ConfigMap.
// Source: kubeadm, cmd/kubeadm/app/constants.
const configKey = "ClusterConfiguration"

const (
	configMapsPath = "/api/v1/namespaces/kube-system/configmaps"
	configName     = "kubeadm-config"
	configPath     = configMapsPath + "/" + configName
)

// The annotations of kubeadm-config, with the names of their subjects.
const (
	configAnnotation = "fairlead.dev/config"
	addonsAnnotation = "fairlead.dev/addons"

	// SyncConfig and SyncAddons are the steps whose marks the annotations are.
	SyncConfig = "SyncKubeadmConfig"
	SyncAddons = "SyncAddons"
)

// readConfig adds to w what kubeadm-config says; nothing where there is none. One that
// cannot be read has no version.
func readConfig(ctx context.Context, n *workload.Conn, w *fleet.Workload) error {
	var m corev1.ConfigMap
	if err := n.GetCached(ctx, configPath, "", &m); err != nil {
		return gone(err)
	}
	var config struct {
		KubernetesVersion string `json:"kubernetesVersion"`
		Etcd              struct {
			External *struct{} `json:"external"`
		} `json:"etcd"`
		Networking fleet.Networking `json:"networking"`
	}
	_ = documents.Unmarshal([]byte(m.Data[configKey]), &config, documents.DefaultLimits())
	w.Applied = &fleet.Applied{Version: config.KubernetesVersion, Marks: map[string]string{
		SyncConfig: m.Annotations[configAnnotation], SyncAddons: m.Annotations[addonsAnnotation],
	}}
	w.Made = &fleet.Made{Networking: config.Networking}
	switch {
	case config.KubernetesVersion == "":
	case config.Etcd.External != nil:
		w.Made.Membership = fleet.MembershipElsewhere
	default:
		w.Made.Membership = fleet.MembershipPerMachine
	}
	return nil
}

// SyncConfig writes config, a ClusterConfiguration, over the one in kubeadm-config: what
// config does not speak of stays. It also grants what machines of newer versions of
// kubeadm rely on, and leaves mark.
func (c *Client) SyncConfig(ctx context.Context, a providers.Access, config []byte, mark string) error {
	const op = "bring kubeadm-config in line"
	return c.clusters.Call(ctx, a, op, func(ctx context.Context, n *workload.Conn) error {
		for _, b := range kubeadmBindings() {
			err := n.Create(ctx, "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", b)
			if err != nil && !apierrors.IsAlreadyExists(err) {
				return err
			}
		}
		var want map[string]any
		if err := documents.Unmarshal(config, &want, documents.BuiltLimits()); err != nil {
			return err
		}
		var live corev1.ConfigMap
		err := n.Get(ctx, configPath, &live)
		if apierrors.IsNotFound(err) {
			return createConfig(ctx, n, want, mark)
		}
		if err != nil {
			return err
		}
		var old map[string]any
		if err := documents.Unmarshal([]byte(live.Data[configKey]), &old, documents.DefaultLimits()); err != nil {
			return fleet.Errorf(fleet.Invalid, op, "%s of the ConfigMap kube-system/kubeadm-config is no YAML: %w "+
				"(fix it, or delete the ConfigMap, which is then created again)", configKey, err)
		}
		text, err := yaml.Marshal(mergeConfiguration(old, want))
		if err != nil {
			return err
		}
		return n.MergePatch(ctx, configPath, map[string]any{
			"metadata": map[string]any{
				"resourceVersion": live.ResourceVersion,
				"annotations":     map[string]any{configAnnotation: mark},
			},
			"data": map[string]any{configKey: string(text)},
		})
	})
}

// createConfig makes kubeadm-config where somebody removed it. kubeadm
// fills in the rest when it reads it. Who may read it still stands in its Role.
func createConfig(ctx context.Context, n *workload.Conn, want map[string]any, mark string) error {
	text, err := yaml.Marshal(want)
	if err != nil {
		return err
	}
	return n.Create(ctx, configMapsPath, &corev1.ConfigMap{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{
			Name: configName, Namespace: metav1.NamespaceSystem, Annotations: map[string]string{configAnnotation: mark},
		},
		Data: map[string]string{configKey: string(text)},
	})
}

// mergeConfiguration returns the ClusterConfiguration old with what want says.
// What a manifest can ask for is wholly what want says, so that what is gone
// there goes here and is kubeadm's default again; the rest of old stays. So do the
// ranges and the domain of the network: an API server that came with others would
// give out addresses that the rest of the cluster does not lead to.
func mergeConfiguration(old, want map[string]any) map[string]any {
	out := maps.Clone(old)
	if out == nil {
		out = make(map[string]any)
	}
	for _, key := range []string{
		"apiServer", "controllerManager", "scheduler", "featureGates", "imageRepository",
		"encryptionAlgorithm", "certificateValidityPeriod", "caCertificateValidityPeriod",
	} {
		delete(out, key)
	}
	maps.Copy(out, want)
	if made, ok := old["networking"]; ok {
		out["networking"] = made
	}
	// kubeadm's own choice of the directory is in no manifest.
	was, _ := old["etcd"].(map[string]any)
	local, _ := was["local"].(map[string]any)
	if dir, ok := local["dataDir"]; ok {
		etcd, _ := want["etcd"].(map[string]any)
		wanted, _ := etcd["local"].(map[string]any)
		if _, external := etcd["external"]; !external {
			merged := map[string]any{"dataDir": dir}
			maps.Copy(merged, wanted)
			out["etcd"] = map[string]any{"local": merged}
		}
	}
	return out
}

// kubeadmBindings are the permissions that kubeadm init and upgrade grant and
// join relies on: that of the administrator's own certificate from 1.29 on, and
// that of the API server's certificate for kubelets, which came with patch
// releases of 1.33 and later as well.
// Source: kubeadm, cmd/kubeadm/app/phases/{kubeconfig,bootstraptoken}; Cluster
// API, controlplane/kubeadm/pkg/workload_cluster_rbac.go.
func kubeadmBindings() []*rbacv1.ClusterRoleBinding {
	binding := func(name, role, kind, subject string) *rbacv1.ClusterRoleBinding {
		return &rbacv1.ClusterRoleBinding{
			TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "ClusterRoleBinding"},
			ObjectMeta: metav1.ObjectMeta{Name: name},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: kind, Name: subject}},
		}
	}
	return []*rbacv1.ClusterRoleBinding{
		binding("kubeadm:cluster-admins", "cluster-admin", rbacv1.GroupKind, "kubeadm:cluster-admins"),
		binding("kubeadm:apiserver-kubelet-client", "system:kubelet-api-admin", rbacv1.UserKind, "kube-apiserver-kubelet-client"),
	}
}

// SyncAddons brings the images of kube-proxy and CoreDNS in line with the control plane
// p, whose ClusterConfiguration is conf, migrates the configuration of CoreDNS, and
// leaves mark. What is not there, or is to be skipped, is left alone.
func (c *Client) SyncAddons(ctx context.Context, a providers.Access, p fleet.Pool, conf bootstrapv1.ClusterConfiguration, mark string) error {
	return c.clusters.Call(ctx, a, "bring kube-proxy and CoreDNS in line", func(ctx context.Context, n *workload.Conn) error {
		if !p.SkipKubeProxy {
			if err := syncKubeProxy(ctx, n, p.Version, conf.ImageRepository); err != nil {
				return fmt.Errorf("kube-proxy: %w", err)
			}
		}
		if !p.SkipCoreDNS {
			if err := syncCoreDNS(ctx, n, conf); err != nil {
				return fmt.Errorf("CoreDNS: %w", err)
			}
		}
		return n.MergePatch(ctx, configPath, map[string]any{
			"metadata": map[string]any{"annotations": map[string]any{addonsAnnotation: mark}},
		})
	})
}

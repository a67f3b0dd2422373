package inside

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/coredns/corefile-migration/migration"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/workload"
)

const (
	kubeProxyPath = "/apis/apps/v1/namespaces/kube-system/daemonsets/kube-proxy"
	coreDNSPath   = "/apis/apps/v1/namespaces/kube-system/deployments/coredns"
	// Images that have no override come from this registry.
	defaultRepository = "registry.k8s.io"
)

// syncKubeProxy brings the image of kube-proxy in line with a version, from the
// repository of all images, where one is named.
func syncKubeProxy(ctx context.Context, n *workload.Conn, version, all string) error {
	const name = "kube-proxy"
	var live appsv1.DaemonSet
	if err := n.Get(ctx, kubeProxyPath, &live); err != nil {
		return ignoreNotFound(err)
	}
	now := imageOf(live.Spec.Template.Spec, name)
	if now == "" {
		return nil // not installed by kubeadm
	}
	repository, tag := splitImage(now)
	was := repository + ":" + tag
	if all != "" {
		repository = strings.TrimSuffix(all, "/") + "/" + name
	}
	// A tag knows no +, which begins the build of a version.
	want := repository + ":" + strings.ReplaceAll(version, "+", "_")
	if was == want { // a digest that another user set stays
		return nil
	}
	return n.Patch(ctx, kubeProxyPath, containerPatch(name, want, nil))
}

// syncCoreDNS brings CoreDNS to the image that c asks for, and its Corefile to
// what that version reads. An image that c does not speak of stays.
// Source: Cluster API, controlplane/kubeadm/pkg/workload_cluster_coredns.go.
func syncCoreDNS(ctx context.Context, n *workload.Conn, c bootstrapv1.ClusterConfiguration) error {
	var live appsv1.Deployment
	if err := n.Get(ctx, coreDNSPath, &live); err != nil {
		return ignoreNotFound(err)
	}
	now := imageOf(live.Spec.Template.Spec, "coredns")
	if now == "" {
		return nil // not installed by kubeadm
	}
	repository, tag := splitImage(now)
	was, from := repository+":"+tag, tag
	switch {
	case c.DNS.ImageRepository != "":
		repository = strings.TrimSuffix(c.DNS.ImageRepository, "/") + "/coredns"
	case strings.TrimSuffix(c.ImageRepository, "/") == defaultRepository:
		repository = defaultRepository + "/coredns/coredns"
	case c.ImageRepository != "":
		repository = strings.TrimSuffix(c.ImageRepository, "/") + "/coredns"
	}
	if c.DNS.ImageTag != "" {
		tag = c.DNS.ImageTag
	}
	want := repository + ":" + tag
	if was == want { // a digest that another user set stays
		return nil
	}
	if err := migrateCorefile(ctx, n, &live, from, tag); err != nil {
		return err
	}
	return n.Patch(ctx, coreDNSPath, containerPatch("coredns", want, corefileVolume(&live, corefileKey)))
}

// The keys of the ConfigMap coredns. CoreDNS reads its file again when it
// changes, so the old version is made to read the backup before the file becomes
// what only the new version reads.
const (
	corefileKey = "Corefile"
	backupKey   = "Corefile-backup"
)

// migrateCorefile leaves the Corefile of version to, while the Deployment still
// reads that of version from. It may be repeated.
func migrateCorefile(ctx context.Context, n *workload.Conn, live *appsv1.Deployment, from, to string) error {
	if from == to && from != "" {
		return nil
	}
	was, is := plainVersion(from), plainVersion(to)
	if was == "" || is == "" {
		return fleet.Errorf(fleet.Invalid, "migrate the Corefile", "the image tags %q and %q are no versions: set dns.imageTag to one, "+
			"or the annotation controlplane.cluster.x-k8s.io/skip-coredns on the KubeadmControlPlane", from, to)
	}
	if was == is {
		return nil
	}
	const at = configMapsPath + "/coredns"
	var config corev1.ConfigMap
	if err := n.Get(ctx, at, &config); err != nil {
		return ignoreNotFound(err)
	}
	corefile := config.Data[corefileKey]
	if readsBackup(live) {
		corefile = config.Data[backupKey] // a migration that was cut short
	}
	migrated, err := migration.Migrate(was, is, corefile, false)
	if err != nil {
		return fleet.Errorf(fleet.Invalid, "migrate the Corefile", "from CoreDNS %s to %s: %w (migrate it yourself and set the annotation "+
			"controlplane.cluster.x-k8s.io/skip-coredns on the KubeadmControlPlane)", was, is, err)
	}
	if !readsBackup(live) {
		if err := n.MergePatch(ctx, at, map[string]any{"data": map[string]any{backupKey: corefile}}); err != nil {
			return err
		}
		if v := corefileVolume(live, backupKey); v != nil {
			if err := n.Patch(ctx, coreDNSPath, map[string]any{"spec": map[string]any{"template": map[string]any{"spec": v}}}); err != nil {
				return err
			}
		}
	}
	return n.MergePatch(ctx, at, map[string]any{"data": map[string]any{corefileKey: migrated}})
}

// corefileVolume returns the part of a patch that has the pods of d read the
// Corefile from key; nil where they read it from elsewhere.
func corefileVolume(d *appsv1.Deployment, key string) map[string]any {
	for _, v := range d.Spec.Template.Spec.Volumes {
		if v.ConfigMap == nil || v.ConfigMap.Name != "coredns" {
			continue
		}
		items := slices.Clone(v.ConfigMap.Items)
		for i := range items {
			if items[i].Key == corefileKey || items[i].Key == backupKey {
				items[i].Key = key
			}
		}
		return map[string]any{"volumes": []any{map[string]any{
			"name": v.Name, "configMap": map[string]any{"name": "coredns", "items": items},
		}}}
	}
	return nil
}

func readsBackup(d *appsv1.Deployment) bool {
	return slices.ContainsFunc(d.Spec.Template.Spec.Volumes, func(v corev1.Volume) bool {
		return v.ConfigMap != nil && slices.ContainsFunc(v.ConfigMap.Items, func(i corev1.KeyToPath) bool { return i.Key == backupKey })
	})
}

// containerPatch returns the strategic patch that gives a container its image;
// more of the pod is added from also.
func containerPatch(name, image string, also map[string]any) map[string]any {
	pod := map[string]any{"containers": []any{map[string]any{"name": name, "image": image}}}
	for k, v := range also {
		pod[k] = v
	}
	return map[string]any{"spec": map[string]any{"template": map[string]any{"spec": pod}}}
}

// imageOf returns the image of a container; empty where there is none.
func imageOf(p corev1.PodSpec, container string) string {
	for _, c := range p.Containers {
		if c.Name == container {
			return c.Image
		}
	}
	return ""
}

// splitImage returns repository and tag of an image, without its digest.
func splitImage(image string) (repository, tag string) {
	image, _, _ = strings.Cut(image, "@")
	if i := strings.LastIndexByte(image, ':'); i > strings.LastIndexByte(image, '/') {
		return image[:i], image[i+1:]
	}
	return image, ""
}

var versionOfTag = regexp.MustCompile(`^v?(\d+\.\d+\.\d+)(?:[-_].*)?$`)

// plainVersion returns the version that a tag means, like "1.12.1"; empty where
// it means none.
func plainVersion(tag string) string {
	if m := versionOfTag.FindStringSubmatch(tag); m != nil {
		return m[1]
	}
	return ""
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return fmt.Errorf("cannot read it: %w", err)
}

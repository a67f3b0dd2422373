package inmemory

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"fairlead.dev/fleet"
	"fairlead.dev/fleet/documents"
)

// corefile is the one that kubeadm writes, in short.
const corefile = ".:53 {\n    errors\n    health {\n       lameduck 5s\n    }\n    ready\n    kubernetes cluster.local in-addr.arpa ip6.arpa {\n       pods insecure\n" +
	"       fallthrough in-addr.arpa ip6.arpa\n    }\n    forward . /etc/resolv.conf\n    cache 30\n    loop\n    reload\n    loadbalance\n}\n"

// initialObjects are those that kubeadm init leaves in a new cluster.
func initialObjects(b *kubeadm, e fleet.Endpoint) []runtime.Object {
	kubeconfig := fmt.Sprintf("apiVersion: v1\nkind: Config\nclusters:\n- name: \"\"\n  cluster:\n    certificate-authority-data: %s\n    server: https://%s\n",
		base64.StdEncoding.EncodeToString(b.pki.ca.cert), net.JoinHostPort(e.Host, strconv.Itoa(int(e.Port))))
	config := func(namespace, name, key, text string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: map[string]string{key: text}}
	}
	workload := func(name, app string) (metav1.ObjectMeta, *metav1.LabelSelector, corev1.PodTemplateSpec) {
		labels := map[string]string{"k8s-app": app}
		return metav1.ObjectMeta{Namespace: system, Name: name, Labels: labels},
			&metav1.LabelSelector{MatchLabels: labels},
			corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: name, Image: "registry.k8s.io/" + name + ":" + b.cluster.KubernetesVersion}}},
			}
	}
	proxy, dns := &appsv1.DaemonSet{}, &appsv1.Deployment{}
	proxy.ObjectMeta, proxy.Spec.Selector, proxy.Spec.Template = workload("kube-proxy", "kube-proxy")
	dns.ObjectMeta, dns.Spec.Selector, dns.Spec.Template = workload("coredns", "kube-dns")
	dns.Spec.Template.Spec.Containers[0].Image = "registry.k8s.io/coredns/coredns:v1.12.1"
	dns.Spec.Template.Spec.Volumes = []corev1.Volume{{Name: "config-volume", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
		LocalObjectReference: corev1.LocalObjectReference{Name: "coredns"}, Items: []corev1.KeyToPath{{Key: "Corefile", Path: "Corefile"}},
	}}}}
	replicas := int32(2)
	dns.Spec.Replicas = &replicas
	return []runtime.Object{
		config(system, "kubeadm-config", "ClusterConfiguration", b.raw),
		config("kube-public", "cluster-info", "kubeconfig", kubeconfig),
		config(system, "coredns", "Corefile", corefile),
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "kubeadm:cluster-admins"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: "kubeadm:cluster-admins"}},
		},
		proxy, dns,
	}
}

// readClusterConfiguration does with kubeadm-config what kubeadm join
// --control-plane does: the static pods are of the version that it finds there,
// not of its own.
// Source: kubeadm, cmd/kubeadm/app/util/config/cluster.go, and the version skew
// policy of kubeadm.
func (v *vm) readClusterConfiguration(k *cluster) error {
	u, ok := k.api.Get(corev1.SchemeGroupVersion.WithKind("ConfigMap"), system, "kubeadm-config")
	if !ok {
		return errors.New(`unable to fetch the kubeadm-config ConfigMap: failed to get config map: configmaps "kubeadm-config" not found`)
	}
	var m corev1.ConfigMap
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &m); err != nil {
		return err
	}
	var c clusterConfiguration
	if err := documents.Unmarshal([]byte(m.Data["ClusterConfiguration"]), &c, documents.DefaultLimits()); err != nil {
		return fmt.Errorf("failed to decode cluster configuration data: %w", err)
	}
	own, there := minor(v.version), minor(c.KubernetesVersion)
	switch {
	case there < own-1:
		return fmt.Errorf("this version of kubeadm only supports deploying clusters with the control plane version >= v1.%d.0. Current version: %s", own-1, c.KubernetesVersion)
	case there > own:
		return fmt.Errorf("kubernetes version is greater than kubeadm version. Please consider to upgrade kubeadm. Kubernetes version: %s. Kubeadm version: %s",
			c.KubernetesVersion, v.version)
	}
	v.control = c.KubernetesVersion
	return nil
}

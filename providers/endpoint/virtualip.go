package endpoint

import (
	"net/netip"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/version"
	"sigs.k8s.io/yaml"

	"fairlead.dev/fleet"
)

// A VirtualIP is an address that kube-vip, a static pod on each server, has on the server that
// its election chose: the others see by ARP, or neighbour discovery, where it is. The static
// pod was not yet run with a real kube-vip.
type VirtualIP struct {
	Endpoint  fleet.Endpoint // its host is an address of the servers' network
	Interface string         // of the servers; empty: the one with their default route
	Image     string         // of kube-vip, with its tag
}

// A File is one that a server boots with.
type File struct {
	Path    string
	Content []byte
}

// File returns the static pod for a server of c that joins so. Equal arguments give equal
// bytes. An endpoint that is no address gives the kind Invalid.
func (v VirtualIP) File(c *fleet.Cluster, join fleet.Join) (File, error) {
	a, err := netip.ParseAddr(v.Endpoint.Host)
	if err != nil || v.Image == "" {
		return File{}, fleet.Errorf(fleet.Invalid, "make a virtual address of "+v.Endpoint.Host,
			"an address of the servers' network and an image of kube-vip are needed, and it has %q and %q", v.Endpoint.Host, v.Image)
	}
	content, err := yaml.Marshal(v.pod(a, kubeconfig(c, join)))
	if err != nil {
		return File{}, err
	}
	return File{Path: manifests + "kube-vip.yaml", Content: content}, nil
}

// kubeconfig is the file by which the pod asks the API server of its own machine. On the server
// that begins a cluster the one of administrators may do nothing before kubeadm is done, which
// waits for the address.
// Source: https://github.com/kube-vip/kube-vip/issues/684
func kubeconfig(c *fleet.Cluster, join fleet.Join) string {
	v, err := version.ParseSemantic(c.ControlPlane.Version)
	if join == fleet.JoinInit && (err != nil || v.AtLeast(version.MustParseSemantic("1.29.0"))) {
		return "/etc/kubernetes/super-admin.conf"
	}
	return "/etc/kubernetes/admin.conf"
}

// pod returns the static pod.
func (v VirtualIP) pod(a netip.Addr, kubeconfig string) *corev1.Pod {
	bits := "32"
	if a.Is6() {
		bits = "128"
	}
	env := []corev1.EnvVar{
		{Name: "address", Value: a.String()},
		{Name: "port", Value: strconv.Itoa(int(v.Endpoint.Port))},
		{Name: "vip_interface", Value: v.Interface},
		{Name: "vip_arp", Value: "true"},
		{Name: "vip_subnet", Value: bits},
		{Name: "cp_enable", Value: "true"},
		{Name: "cp_namespace", Value: "kube-system"},
		{Name: "vip_leaderelection", Value: "true"},
		{Name: "vip_leaseduration", Value: "15"},
		{Name: "vip_renewdeadline", Value: "10"},
		{Name: "vip_retryperiod", Value: "2"},
	}
	file := corev1.HostPathFile // kubeadm refuses one that is empty
	return &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Name: "kube-vip", Namespace: "kube-system"},
		Spec: corev1.PodSpec{
			HostNetwork: true,
			// The certificate of the API server is for this name, and the one here is asked.
			HostAliases: []corev1.HostAlias{{IP: "127.0.0.1", Hostnames: []string{"kubernetes"}}},
			Containers: []corev1.Container{{
				Name: "kube-vip", Image: v.Image, ImagePullPolicy: corev1.PullIfNotPresent, Args: []string{"manager"}, Env: env,
				SecurityContext: &corev1.SecurityContext{Capabilities: &corev1.Capabilities{
					Add: []corev1.Capability{"NET_ADMIN", "NET_RAW"}, Drop: []corev1.Capability{"ALL"},
				}},
				VolumeMounts: []corev1.VolumeMount{{Name: "kubeconfig", MountPath: "/etc/kubernetes/admin.conf"}},
			}},
			Volumes: []corev1.Volume{{Name: "kubeconfig", VolumeSource: corev1.VolumeSource{
				HostPath: &corev1.HostPathVolumeSource{Path: kubeconfig, Type: &file},
			}}},
		},
	}
}

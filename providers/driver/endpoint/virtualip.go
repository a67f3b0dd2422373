package endpoint

import (
	"cmp"
	"net/netip"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/version"
	"sigs.k8s.io/yaml"

	"fairlead.dev/fleet"
)

// DefaultImage is the kube-vip of a VirtualIP that names none.
const DefaultImage = "ghcr.io/kube-vip/kube-vip:v1.0.1"

// A VirtualIP says that the endpoint of a cluster is an address that its servers have by
// turns: kube-vip, a static pod on each of them, puts it on the one that its election chose,
// and the others see by ARP, or neighbor discovery, where it is. It is a field of the
// objects that people write.
type VirtualIP struct {
	// Image of kube-vip, with its tag or digest.
	Image string `json:"image,omitempty"`
	// Interface of the servers that has the address; empty: the one with their default route.
	Interface string `json:"interface,omitempty"`
}

// A Place is where a server has what the static pod needs.
type Place struct {
	Manifests  string // the folder of static pods
	Kubeconfig string // with which administrators ask the API server of the machine
	APIPort    int32  // where that listens; 0: 6443
}

// Kubeadm returns the Place of a server that kubeadm sets up. On the server that begins a
// cluster the kubeconfig of administrators may do nothing before kubeadm is done, which
// waits for the address.
// Source: https://github.com/kube-vip/kube-vip/issues/684
func Kubeadm(release string, join fleet.Join) Place {
	p := Place{Manifests: "/etc/kubernetes/manifests", Kubeconfig: "/etc/kubernetes/admin.conf"}
	v, err := version.ParseSemantic(release)
	if join == fleet.JoinInit && (err != nil || v.AtLeast(version.MustParseSemantic("1.29.0"))) {
		p.Kubeconfig = "/etc/kubernetes/super-admin.conf"
	}
	return p
}

// A File is one that a server boots with.
type File struct {
	Path    string
	Content []byte
}

// File returns the static pod that serves e, for a server that has p. Equal arguments
// give equal bytes. An endpoint that no server can have gives the kind Invalid.
func (v VirtualIP) File(e fleet.Endpoint, p Place) (File, error) {
	op := "make a virtual address of " + e.Host
	a, err := netip.ParseAddr(e.Host)
	if err != nil {
		return File{}, fleet.Errorf(fleet.Invalid, op, "it is no address: use an unused address of the servers' network")
	}
	if port := cmp.Or(p.APIPort, 6443); e.Port != port {
		return File{}, fleet.Errorf(fleet.Invalid, op, "its port is %d, but the API server of the machine listens at %d: use one port for both (localAPIEndpoint.bindPort of kubeadm, https-listen-port of K3s)", e.Port, port)
	}
	content, err := yaml.Marshal(v.pod(a, e.Port, p.Kubeconfig))
	if err != nil {
		return File{}, err
	}
	return File{Path: p.Manifests + "/kube-vip.yaml", Content: content}, nil
}

// pod returns the static pod.
func (v VirtualIP) pod(a netip.Addr, port int32, kubeconfig string) *corev1.Pod {
	bits := "32"
	if a.Is6() {
		bits = "128"
	}
	env := []corev1.EnvVar{
		{Name: "address", Value: a.String()},
		{Name: "port", Value: strconv.Itoa(int(port))},
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
				Name: "kube-vip", Image: cmp.Or(v.Image, DefaultImage), ImagePullPolicy: corev1.PullIfNotPresent, Args: []string{"manager"}, Env: env,
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

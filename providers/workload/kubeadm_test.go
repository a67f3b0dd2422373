package workload_test

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	"sigs.k8s.io/yaml"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
)

func configMap(name, key, text string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: name}, Data: map[string]string{key: text}}
}

// fromInit is what kubeadm init of 1.30 leaves.
const fromInit = `apiServer:
  extraArgs: {audit-log-path: /var/log/audit.log}
  timeoutForControlPlane: 4m0s
apiVersion: kubeadm.k8s.io/v1beta3
certificateValidityPeriod: 8760h0m0s
certificatesDir: /etc/kubernetes/pki
clusterName: eu-1
controllerManager: {extraArgs: {cloud-provider: external}}
dns: {}
etcd:
  local: {dataDir: /var/lib/etcd, extraArgs: {quota-backend-bytes: "1"}}
imageRepository: example.com/before
kind: ClusterConfiguration
kubernetesVersion: v1.30.4
networking: {dnsDomain: cluster.local, podSubnet: 10.0.0.0/16, serviceSubnet: 10.96.0.0/12}
scheduler: {}
`

func TestSyncKubeadmConfig(t *testing.T) {
	c := start(t)
	c.put(t, configMap("kubeadm-config", "ClusterConfiguration", fromInit))
	config := `apiServer: {extraArgs: [{name: v, value: "2"}]}
apiVersion: kubeadm.k8s.io/v1beta4
clusterName: eu-1
featureGates: {ControlPlaneKubeletLocalMode: true}
kind: ClusterConfiguration
kubernetesVersion: v1.31.0
networking: {dnsDomain: cluster.local, podSubnet: 10.0.0.0/16, serviceSubnet: 10.112.0.0/12}
`
	if err := c.kubeadm.SyncConfig(t.Context(), c.access, []byte(config), "mark-1"); err != nil {
		t.Fatal(err)
	}
	got := get[corev1.ConfigMap](t, c, "ConfigMap", "kube-system", "kubeadm-config")
	// What can be asked for is what was asked for, without the arguments and the
	// repository of before; what only kubeadm knows stays, and the network that the
	// cluster was made with.
	want := `apiServer: {extraArgs: [{name: v, value: "2"}]}
apiVersion: kubeadm.k8s.io/v1beta4
certificatesDir: /etc/kubernetes/pki
clusterName: eu-1
dns: {}
etcd: {local: {dataDir: /var/lib/etcd}}
featureGates: {ControlPlaneKubeletLocalMode: true}
kind: ClusterConfiguration
kubernetesVersion: v1.31.0
networking: {dnsDomain: cluster.local, podSubnet: 10.0.0.0/16, serviceSubnet: 10.96.0.0/12}
`
	if d := cmp.Diff(parsed(t, want), parsed(t, got.Data["ClusterConfiguration"])); d != "" {
		t.Errorf("ClusterConfiguration (-want +got):\n%s", d)
	}
	if got.Annotations["fairlead.dev/config"] != "mark-1" {
		t.Errorf("annotations: %v", got.Annotations)
	}
	for name, want := range map[string]string{
		"kubeadm:cluster-admins":           "cluster-admin Group kubeadm:cluster-admins",
		"kubeadm:apiserver-kubelet-client": "system:kubelet-api-admin User kube-apiserver-kubelet-client",
	} {
		b := at[rbacv1.ClusterRoleBinding](t, c, rbacv1.SchemeGroupVersion.WithKind("ClusterRoleBinding"), "", name)
		if got := b.RoleRef.Name + " " + b.Subjects[0].Kind + " " + b.Subjects[0].Name; got != want {
			t.Errorf("binding %s is %s, want %s", name, got, want)
		}
	}
	// The same again, with the bindings there, and an etcd that has what it had.
	config = strings.Replace(config, "clusterName", "etcd: {local: {imageTag: 3.6.0}}\nclusterName", 1)
	if err := c.kubeadm.SyncConfig(t.Context(), c.access, []byte(config), "mark-2"); err != nil {
		t.Fatal(err)
	}
	got = get[corev1.ConfigMap](t, c, "ConfigMap", "kube-system", "kubeadm-config")
	if d := cmp.Diff(parsed(t, "local: {dataDir: /var/lib/etcd, imageTag: 3.6.0}"), parsed(t, got.Data["ClusterConfiguration"])["etcd"]); d != "" {
		t.Errorf("etcd (-want +got):\n%s", d)
	}
	o, err := c.look(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(applied("v1.31.0", "mark-2", ""), o.Applied); d != "" {
		t.Errorf("observed (-want +got):\n%s", d)
	}
	if d := cmp.Diff(&fleet.Made{Membership: "PerMachine", Networking: fleet.Networking{
		DNSDomain: "cluster.local", PodSubnet: "10.0.0.0/16", ServiceSubnet: "10.96.0.0/12",
	}}, o.Made); d != "" {
		t.Errorf("made with (-want +got):\n%s", d)
	}
}

func TestNoKubeadmConfig(t *testing.T) {
	c := start(t)
	o, err := c.look(t.Context())
	if err != nil || o.Applied != nil || o.Made != nil {
		t.Errorf("observed %v, made with %v, %v", o.Applied, o.Made, err)
	}
	if err := c.kubeadm.SyncConfig(t.Context(), c.access, []byte("kubernetesVersion: v1.34.1"), "m"); err != nil {
		t.Error(err)
	}
	o, err = c.look(t.Context())
	if d := cmp.Diff(applied("v1.34.1", "m", ""), o.Applied); err != nil || d != "" {
		t.Errorf("made anew: %v (-want +got):\n%s", err, d)
	}
	c.put(t, configMap("kubeadm-config", "ClusterConfiguration", "a: b: c"))
	if err := c.kubeadm.SyncConfig(t.Context(), c.access, []byte("{}"), "m"); fleet.KindOf(err) != "Invalid" {
		t.Errorf("sync over what is no YAML: %v", err)
	}
}

// What somebody changes in kubeadm-config while it is brought in line is not
// overwritten: the next look begins anew.
func TestSyncKubeadmConfigMeetsAnother(t *testing.T) {
	c := start(t)
	c.put(t, configMap("kubeadm-config", "ClusterConfiguration", fromInit))
	const theirs = "kubernetesVersion: v1.33.3\n"
	a := c.through(t, func(r *http.Request) {
		if r.Method == http.MethodPatch {
			c.put(t, configMap("kubeadm-config", "ClusterConfiguration", theirs))
		}
	})
	if err := c.kubeadm.SyncConfig(t.Context(), a, []byte("kubernetesVersion: v1.34.1"), "m"); fleet.KindOf(err) != "Conflict" {
		t.Errorf("got %v, want a conflict", err)
	}
	got := get[corev1.ConfigMap](t, c, "ConfigMap", "kube-system", "kubeadm-config")
	if got.Data["ClusterConfiguration"] != theirs || len(got.Annotations) > 0 {
		t.Errorf("kubeadm-config is %v %q", got.Annotations, got.Data)
	}
}

// through returns an access that tells see of every request before it is sent on.
func (c *cluster) through(t *testing.T, see func(*http.Request)) providers.Access {
	t.Helper()
	config, err := clientcmd.RESTConfigFromKubeConfig(c.access.Kubeconfig.Reveal())
	if err != nil {
		t.Fatal(err)
	}
	transport, err := rest.TransportFor(config)
	if err != nil {
		t.Fatal(err)
	}
	target, err := url.Parse(c.url)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewTLSServer(&httputil.ReverseProxy{Transport: transport, Rewrite: func(r *httputil.ProxyRequest) {
		see(r.In)
		r.SetURL(target)
	}})
	t.Cleanup(s.Close)
	a := c.access
	trusted := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	a.Kubeconfig = c.ca.kubeconfig(t, s.URL, trusted, time.Now().Add(time.Hour))
	return a
}

const oldCorefile = ".:53 {\n    errors\n    kubernetes cluster.local {\n        upstream\n    }\n    proxy . /etc/resolv.conf\n    reload\n}\n"

func proxySet(image string) *appsv1.DaemonSet {
	d := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "kube-proxy"}}
	d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "kube-proxy", Image: image, Command: []string{"kube-proxy"}}, {Name: "beside", Image: "x:1"}}
	return d
}

func dnsDeployment(image, key string) *appsv1.Deployment {
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "coredns"}}
	d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "coredns", Image: image}}
	d.Spec.Template.Spec.Volumes = []corev1.Volume{
		{Name: "config-volume", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: "coredns"}, Items: []corev1.KeyToPath{{Key: key, Path: "Corefile"}},
		}}},
		{Name: "tmp"},
	}
	return d
}

// repositories is a configuration with the repository of all images, and that and the
// tag of CoreDNS.
func repositories(all, dns, tag string) bootstrapv1.ClusterConfiguration {
	return bootstrapv1.ClusterConfiguration{ImageRepository: all, DNS: bootstrapv1.DNS{ImageRepository: dns, ImageTag: tag}}
}

// applied is what kubeadm-config of a version was brought in line with.
func applied(version, config, addons string) *fleet.Applied {
	return &fleet.Applied{Version: version, Marks: map[string]string{"SyncKubeadmConfig": config, "SyncAddons": addons}}
}

func TestSyncAddons(t *testing.T) {
	const proxyImage, dnsImage = "registry.k8s.io/kube-proxy:v1.33.0", "registry.k8s.io/coredns/coredns:v1.11.1"
	for reason, tc := range map[string]struct {
		proxy, dns string // empty: as above
		pool       fleet.Pool
		conf       bootstrapv1.ClusterConfiguration
		wantProxy  string
		wantDNS    string
	}{
		"the version": {
			pool:      fleet.Pool{Version: "v1.34.1"},
			wantProxy: "registry.k8s.io/kube-proxy:v1.34.1", wantDNS: dnsImage,
		},
		"a build of a version, a digest": {
			proxy: "example.com:5000/a/kube-proxy:v1.33.0@sha256:aa", pool: fleet.Pool{Version: "v1.34.1+x.1"},
			wantProxy: "example.com:5000/a/kube-proxy:v1.34.1_x.1", wantDNS: dnsImage,
		},
		"digests of the versions that are wanted": {
			proxy: proxyImage + "@sha256:aa", dns: dnsImage + "@sha256:bb", pool: fleet.Pool{Version: "v1.33.0"},
			wantProxy: proxyImage + "@sha256:aa", wantDNS: dnsImage + "@sha256:bb",
		},
		"a digest without a version": {
			dns: "example.com/coredns@sha256:bb", pool: fleet.Pool{Version: "v1.34.1"},
			wantProxy: "registry.k8s.io/kube-proxy:v1.34.1", wantDNS: "example.com/coredns@sha256:bb",
		},
		"a tag that is no version moves to another repository": {
			dns:       "example.com/coredns:latest",
			pool:      fleet.Pool{Version: "v1.34.1"},
			conf:      repositories("", "example.com/dns", ""),
			wantProxy: "registry.k8s.io/kube-proxy:v1.34.1", wantDNS: "example.com/dns/coredns:latest",
		},
		"another repository": {
			pool:      fleet.Pool{Version: "v1.34.1"},
			conf:      repositories("example.com/k8s/", "", ""),
			wantProxy: "example.com/k8s/kube-proxy:v1.34.1", wantDNS: "example.com/k8s/coredns:v1.11.1",
		},
		"the usual repository": {
			dns:       "example.com/coredns:v1.11.1",
			pool:      fleet.Pool{Version: "v1.34.1"},
			conf:      repositories("registry.k8s.io", "", ""),
			wantProxy: "registry.k8s.io/kube-proxy:v1.34.1", wantDNS: dnsImage,
		},
		"CoreDNS of its own": {
			pool:      fleet.Pool{Version: "v1.34.1"},
			conf:      repositories("example.com/k8s", "example.com/dns", "v1.12.1"),
			wantProxy: "example.com/k8s/kube-proxy:v1.34.1", wantDNS: "example.com/dns/coredns:v1.12.1",
		},
		"left alone": {
			pool: fleet.Pool{
				Version: "v1.34.1", SkipKubeProxy: true, SkipCoreDNS: true,
			},
			conf:      repositories("example.com", "", "v1.12.1"),
			wantProxy: proxyImage, wantDNS: dnsImage,
		},
	} {
		t.Run(reason, func(t *testing.T) {
			c := start(t)
			image := func(given, usual string) string {
				if given != "" {
					return given
				}
				return usual
			}
			c.put(t, configMap("kubeadm-config", "ClusterConfiguration", fromInit), configMap("coredns", "Corefile", ".:53 {\n    errors\n}\n"),
				proxySet(image(tc.proxy, proxyImage)), dnsDeployment(image(tc.dns, dnsImage), "Corefile"))
			if err := c.kubeadm.SyncAddons(t.Context(), c.access, tc.pool, tc.conf, "mark"); err != nil {
				t.Fatal(err)
			}
			proxy := at[appsv1.DaemonSet](t, c, appsv1.SchemeGroupVersion.WithKind("DaemonSet"), "kube-system", "kube-proxy")
			want := proxySet(tc.wantProxy).Spec.Template.Spec.Containers
			if d := cmp.Diff(want, proxy.Spec.Template.Spec.Containers); d != "" {
				t.Errorf("kube-proxy (-want +got):\n%s", d)
			}
			dns := at[appsv1.Deployment](t, c, appsv1.SchemeGroupVersion.WithKind("Deployment"), "kube-system", "coredns")
			if d := cmp.Diff(dnsDeployment(tc.wantDNS, "Corefile").Spec.Template.Spec, dns.Spec.Template.Spec); d != "" {
				t.Errorf("CoreDNS (-want +got):\n%s", d)
			}
			o, err := c.look(t.Context())
			if err != nil || o.Applied.Marks["SyncAddons"] != "mark" {
				t.Errorf("observed %+v, %v", o.Applied, err)
			}
		})
	}
}

// The Corefile is migrated, and kept: while the old version runs it reads the
// one that it knows. A migration that was cut short is finished.
func TestCorefileIsMigrated(t *testing.T) {
	pool, conf := fleet.Pool{Version: "v1.34.1"}, repositories("", "", "v1.12.1-eks")
	half := configMap("coredns", "Corefile", "half of it")
	half.Data["Corefile-backup"], half.Data["extra"] = oldCorefile, "theirs"
	for reason, objects := range map[string][]runtime.Object{
		"from the start": {configMap("coredns", "Corefile", oldCorefile), dnsDeployment("registry.k8s.io/coredns:1.3.1", "Corefile")},
		"cut short":      {half, dnsDeployment("registry.k8s.io/coredns:1.3.1", "Corefile-backup")},
	} {
		t.Run(reason, func(t *testing.T) {
			c := start(t)
			c.put(t, append(objects, configMap("kubeadm-config", "ClusterConfiguration", fromInit))...)
			if err := c.kubeadm.SyncAddons(t.Context(), c.access, pool, conf, "mark"); err != nil {
				t.Fatal(err)
			}
			got := get[corev1.ConfigMap](t, c, "ConfigMap", "kube-system", "coredns").Data
			if got["Corefile-backup"] != oldCorefile || reason == "cut short" && got["extra"] != "theirs" {
				t.Errorf("kept: %q", got)
			}
			if f := got["Corefile"]; !strings.Contains(f, "forward . /etc/resolv.conf") || strings.Contains(f, "proxy .") || strings.Contains(f, "upstream") {
				t.Errorf("Corefile:\n%s", f)
			}
			dns := at[appsv1.Deployment](t, c, appsv1.SchemeGroupVersion.WithKind("Deployment"), "kube-system", "coredns")
			if d := cmp.Diff(dnsDeployment("registry.k8s.io/coredns:v1.12.1-eks", "Corefile").Spec.Template.Spec, dns.Spec.Template.Spec); d != "" {
				t.Errorf("Deployment (-want +got):\n%s", d)
			}
			// Made, turned to the backup, and turned back with the new image.
			if want := map[string]int64{"from the start": 3, "cut short": 2}[reason]; dns.Generation != want {
				t.Errorf("the Deployment is in generation %d, want %d", dns.Generation, want)
			}
		})
	}
}

func TestCoreDNSRefused(t *testing.T) {
	for reason, tc := range map[string]struct{ image, tag, want string }{
		"back":            {"a/coredns:v1.12.1", "v1.11.1", "cannot migrate up to '1.11.1' from '1.12.1'"},
		"unknown version": {"a/coredns:v1.12.1", "v1.99.0", "CoreDNS: "},
		"no version":      {"a/coredns:latest", "v1.12.1", `the image tags "latest" and "v1.12.1" are no versions`},
	} {
		c := start(t)
		c.put(t, configMap("kubeadm-config", "ClusterConfiguration", fromInit), configMap("coredns", "Corefile", ".:53 {\n    errors\n}\n"),
			dnsDeployment(tc.image, "Corefile"))
		pool := fleet.Pool{Version: "v1.34.1"}
		conf := repositories("", "", tc.tag)
		err := c.kubeadm.SyncAddons(t.Context(), c.access, pool, conf, "mark")
		if fleet.KindOf(err) != "Invalid" || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), "skip-coredns") {
			t.Errorf("%s: %v", reason, err)
		}
		if o, err := c.look(t.Context()); err != nil || o.Applied.Marks["SyncAddons"] != "" {
			t.Errorf("%s: it counts as done: %+v, %v", reason, o.Applied, err)
		}
	}
}

// Clusters without kube-proxy or CoreDNS, or with those of somebody else, are
// none of our business.
func TestForeignAddons(t *testing.T) {
	for reason, objects := range map[string][]runtime.Object{
		"none": nil,
		"others": {
			&appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "kube-proxy"}},
			&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "coredns"}},
		},
		"no ConfigMap": {dnsDeployment("a/coredns:v1.11.1", "Corefile")},
	} {
		c := start(t)
		c.put(t, append(objects, configMap("kubeadm-config", "ClusterConfiguration", fromInit))...)
		pool := fleet.Pool{Version: "v1.34.1"}
		conf := repositories("", "", "v1.12.1")
		if err := c.kubeadm.SyncAddons(t.Context(), c.access, pool, conf, "mark"); err != nil {
			t.Errorf("%s: %v", reason, err)
		}
	}
}

func parsed(t *testing.T, text string) map[string]any {
	t.Helper()
	var out map[string]any
	if err := yaml.Unmarshal([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// at reads the API type of an object of any kind, which must be there.
func at[T any](t *testing.T, c *cluster, kind schema.GroupVersionKind, namespace, name string) T {
	t.Helper()
	u, ok := c.Get(kind, namespace, name)
	if !ok {
		t.Fatalf("there is no %s %s", kind.Kind, name)
	}
	var out T
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

package workload_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"

	"fairlead.dev/fleet"
)

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

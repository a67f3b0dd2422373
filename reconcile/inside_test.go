package reconcile_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"strings"

	"sigs.k8s.io/yaml"

	"fairlead.dev/fleet"
)

// inside reads path from the API server of the cluster, with the
// administrator's kubeconfig.
func (w *world) inside(path string, into any) {
	w.t.Helper()
	d, err := w.secrets.Get(context.Background(), fleet.Key{Namespace: "prod", Name: "eu-1"}, fleet.Kubeconfig)
	if err != nil {
		w.t.Fatal(err)
	}
	var k struct {
		Clusters []struct {
			Cluster struct {
				Server string
				CA     string `json:"certificate-authority-data"`
			}
		}
		Users []struct {
			User struct {
				Cert string `json:"client-certificate-data"`
				Key  string `json:"client-key-data"`
			}
		}
	}
	if err := yaml.Unmarshal(d[fleet.KubeconfigKey].Reveal(), &k); err != nil {
		w.t.Fatal(err)
	}
	decode := func(s string) []byte {
		b, err := base64.StdEncoding.DecodeString(s)
		if err != nil {
			w.t.Fatal(err)
		}
		return b
	}
	pair, err := tls.X509KeyPair(decode(k.Users[0].User.Cert), decode(k.Users[0].User.Key))
	if err != nil {
		w.t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(decode(k.Clusters[0].Cluster.CA))
	transport := &http.Transport{DialContext: w.net.DialContext, TLSClientConfig: &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{pair}}}
	defer transport.CloseIdleConnections()
	req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, k.Clusters[0].Cluster.Server+path, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	res, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		w.t.Fatalf("GET %s: %s %v", path, res.Status, err)
	}
	if err := json.Unmarshal(body, into); err != nil {
		w.t.Fatal(err)
	}
}

// checkVersion holds what runs in the cluster against the version that was
// asked for: what kubeadm made on the machines, and what it installed beside.
func (w *world) checkVersion(version string) {
	w.t.Helper()
	type pod struct {
		Metadata struct{ Name string }
		Spec     struct{ Containers []struct{ Image string } }
	}
	var pods struct{ Items []pod }
	w.inside("/api/v1/namespaces/kube-system/pods?labelSelector=component%3Dkube-apiserver", &pods)
	if len(pods.Items) == 0 {
		w.t.Fatal("no API server runs")
	}
	for _, p := range pods.Items {
		if image := p.Spec.Containers[0].Image; !strings.HasSuffix(image, ":"+version) {
			w.t.Errorf("%s runs %s, want %s", p.Metadata.Name, image, version)
		}
	}
	var proxy struct{ Spec struct{ Template pod } }
	w.inside("/apis/apps/v1/namespaces/kube-system/daemonsets/kube-proxy", &proxy)
	if image := proxy.Spec.Template.Spec.Containers[0].Image; image != "registry.k8s.io/kube-proxy:"+version {
		w.t.Errorf("kube-proxy runs %s, want %s", image, version)
	}
	var config struct{ Data map[string]string }
	w.inside("/api/v1/namespaces/kube-system/configmaps/kubeadm-config", &config)
	if c := config.Data["ClusterConfiguration"]; !strings.Contains(c, "kubernetesVersion: "+version) && !strings.Contains(c, "kubernetesVersion: '"+version) {
		w.t.Errorf("kubeadm-config is not of %s:\n%s", version, c)
	}
}

package inmemory

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"fairlead.dev/fleet/documents"
)

// kubelet is what a kubelet trusts since it joined, and what it shows.
type kubelet struct {
	trusts []byte // PEM: the CA certificates in its kubeconfig
	issuer []byte // PEM: who signed its certificate
	issued time.Time
	day    bool // it lasts a day
}

// newKubelet returns that of a machine that joins now and gets these
// CA certificates. Its certificate is signed by the machines that were there before.
func (k *cluster) newKubelet(authorities []byte) kubelet {
	return kubelet{trusts: authorities, issuer: signer(k.pki.ca.cert), issued: time.Now(), day: k.day}
}

// lockedOut reports whether API servers and the kubelet of a machine do not
// believe each other.
func (k *cluster) lockedOut(of kubelet) bool {
	return !trusts(of.trusts, signer(k.pki.ca.cert)) || !trusts(k.pki.ca.cert, of.issuer)
}

// adopt has the cluster be what its newest control-plane machine was given. Those
// kubelets whose certificates last a day have renewed them since.
func (c *Cloud) adopt(k *cluster, b *kubeadm) {
	for _, v := range k.nodes {
		if v.kubelet.day && time.Since(v.kubelet.issued) >= 24*time.Hour && !k.lockedOut(v.kubelet) {
			v.kubelet = k.newKubelet(v.kubelet.trusts)
		}
	}
	k.pki, k.day = b.pki, b.day
	k.api.Trust(k.pki.ca.cert, k.pki.ca.key)
	k.api.TrustEtcd(k.pki.etcd.cert, k.pki.etcd.key)
	for _, v := range k.nodes {
		c.refresh(v)
	}
}

// published returns the CA certificates that cluster-info names, PEM.
func (k *cluster) published() ([]byte, error) {
	u, ok := k.api.Get(corev1.SchemeGroupVersion.WithKind("ConfigMap"), "kube-public", "cluster-info")
	if !ok {
		return nil, errors.New(`configmaps "cluster-info" not found`)
	}
	var m corev1.ConfigMap
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &m); err != nil {
		return nil, err
	}
	var config struct {
		Clusters []struct {
			Cluster struct {
				Authorities []byte `json:"certificate-authority-data"`
			} `json:"cluster"`
		} `json:"clusters"`
	}
	if err := documents.Unmarshal([]byte(m.Data["kubeconfig"]), &config, documents.DefaultLimits()); err != nil {
		return nil, fmt.Errorf("cluster-info: %w", err)
	}
	if len(config.Clusters) == 0 {
		return nil, errors.New("cluster-info names no cluster")
	}
	return config.Clusters[0].Cluster.Authorities, nil
}

// readSigner checks that kube-controller-manager is given one certificate to sign
// with, and reports whether what it signs lasts a day. Without a patch that says
// otherwise, kubeadm has it sign with the file that everybody trusts.
// Source: Kubernetes, pkg/controller/certificates/signer/ca_provider.go.
func readSigner(d disk, trusted []byte, patches string) (day bool, err error) {
	const prefix = "kube-controller-manager"
	name, signing := "/etc/kubernetes/pki/ca.crt", trusted
	for file, f := range d.files {
		if path.Dir(file) != path.Clean(patches) || !strings.HasPrefix(path.Base(file), prefix) || !strings.Contains(file, "+json.") {
			continue
		}
		var patch []struct{ Op, Path, Value string }
		if err := json.Unmarshal(f.content, &patch); err != nil {
			return false, fmt.Errorf("%s: %w", file, err)
		}
		for _, p := range patch {
			if at, ok := strings.CutPrefix(p.Value, "--cluster-signing-cert-file="); ok {
				name, signing = at, d.files[at].content
			}
			day = day || p.Value == "--cluster-signing-duration=24h0m0s"
		}
	}
	if n := strings.Count(string(signing), "-----BEGIN CERTIFICATE-----"); n != 1 {
		return false, fmt.Errorf("%s: expected 1 certificate, found %d", name, n)
	}
	if !trusts(signing, signer(trusted)) {
		return false, fmt.Errorf("%s is not the certificate of the key that it signs with", name)
	}
	return day, nil
}

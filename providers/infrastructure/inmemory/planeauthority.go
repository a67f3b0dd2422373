package inmemory

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// planeYears is how long the certificates of a control plane last that is no machine.
const planeYears = 10

// newPlaneAuthority returns a new authority.
func newPlaneAuthority() (pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return pair{}, err
	}
	t := planeCertificate(pkix.Name{CommonName: "kubernetes"})
	t.IsCA, t.BasicConstraintsValid, t.KeyUsage = true, true, x509.KeyUsageCertSign|x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, t, t, key.Public(), key)
	if err != nil {
		return pair{}, err
	}
	return encodePair(der, key)
}

// kubeconfig returns that of an administrator of the cluster at address, with access by p.
func (p pair) kubeconfig(address string) ([]byte, error) {
	ca, err := tls.X509KeyPair(p.cert, p.key)
	if err != nil {
		return nil, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	t := planeCertificate(pkix.Name{CommonName: "kubernetes-admin", Organization: []string{"system:masters"}})
	t.KeyUsage, t.ExtKeyUsage = x509.KeyUsageDigitalSignature, []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	der, err := x509.CreateCertificate(rand.Reader, t, ca.Leaf, key.Public(), ca.PrivateKey)
	if err != nil {
		return nil, err
	}
	client, err := encodePair(der, key)
	text := base64.StdEncoding.EncodeToString
	return fmt.Appendf(nil, `apiVersion: v1
kind: Config
current-context: admin
contexts: [{name: admin, context: {cluster: plane, user: admin}}]
clusters: [{name: plane, cluster: {server: "https://%s", certificate-authority-data: %s}}]
users: [{name: admin, user: {client-certificate-data: %s, client-key-data: %s}}]
`, address, text(p.cert), text(client.cert), text(client.key)), err
}

func planeCertificate(subject pkix.Name) *x509.Certificate {
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: subject,
		NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(planeYears, 0, 0),
	}
}

func encodePair(der []byte, key *ecdsa.PrivateKey) (pair, error) {
	private, err := x509.MarshalPKCS8PrivateKey(key)
	return pair{
		cert: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		key:  pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}),
	}, err
}

// kubeletConfig is what kubeadm's phase upload-config kubelet writes.
func kubeletConfig() *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: "kubelet-config"},
		Data:       map[string]string{"kubelet": "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"},
	}
}

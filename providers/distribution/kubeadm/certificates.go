package kubeadm

import (
	"cmp"
	"fmt"
	"path"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/distribution/cloudinit"
)

// certificates returns the files of the CA certificates, and with an external etcd
// those that the user gave for it.
func (w *writer) certificates() ([]cloudinit.File, error) {
	conf := w.spec.ClusterConfiguration
	dir := cmp.Or(conf.CertificatesDir, certificatesDir)
	var out []cloudinit.File
	for _, a := range []struct {
		name      fleet.SecretName
		cert, key string
	}{
		{fleet.ClusterCA, "ca.crt", "ca.key"},
		{fleet.EtcdCA, "etcd/ca.crt", "etcd/ca.key"},
		{fleet.FrontProxyCA, "front-proxy-ca.crt", "front-proxy-ca.key"},
		{fleet.ServiceAccount, "sa.pub", "sa.key"},
	} {
		if a.name == fleet.EtcdCA && conf.Etcd.External.IsDefined() {
			continue
		}
		d := w.in.Secrets[a.name]
		if d[fleet.TLSCertKey].IsZero() || d[fleet.TLSKeyKey].IsZero() {
			return nil, fmt.Errorf("%w: CA %s is missing", errIncomplete, a.name)
		}
		out = append(out, pair(d, path.Join(dir, a.cert), path.Join(dir, a.key))...)
	}
	if !conf.Etcd.External.IsDefined() {
		return out, nil
	}
	external := conf.Etcd.External
	for _, s := range []struct {
		name      fleet.SecretName
		cert, key string
	}{
		{fleet.EtcdCA, external.CAFile, ""},
		{fleet.EtcdClient, external.CertFile, external.KeyFile},
	} {
		d, ok := w.in.Cluster.InGit(s.name)
		if !ok {
			d = w.in.Secrets[s.name]
		}
		if !s.name.Complete(d) {
			return nil, fmt.Errorf("clusterConfiguration.etcd.external: there is no Secret %s-%s with %s and %s",
				w.in.Cluster.Key.Name, s.name, fleet.TLSCertKey, fleet.TLSKeyKey)
		}
		out = append(out, pair(d, s.cert, s.key)...)
	}
	return out, nil
}

func pair(d fleet.SecretData, cert, key string) []cloudinit.File {
	out := []cloudinit.File{{Path: cloudinit.Text(cert), Owner: rootOwner, Permissions: "0640", Content: cloudinit.Text(d[fleet.TLSCertKey].Reveal())}}
	if key != "" {
		out = append(out, cloudinit.File{Path: cloudinit.Text(key), Owner: rootOwner, Permissions: "0600", Content: cloudinit.Text(d[fleet.TLSKeyKey].Reveal())})
	}
	return out
}

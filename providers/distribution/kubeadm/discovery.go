package kubeadm

import (
	"bytes"
	"cmp"
	"fmt"

	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/distribution/cloudinit"
	"fairlead.dev/providers/distribution/kubeconfig"
	"fairlead.dev/providers/distribution/pki"
)

// discover makes sure that the join configuration says how to find and trust
// the cluster: what the user says stands, what is missing is filled in. A
// kubeconfig for discovery becomes a file.
func (w *writer) discover() ([]cloudinit.File, error) {
	d := &w.spec.JoinConfiguration.Discovery
	if d.File.IsDefined() {
		return w.discoveryFile(d.File)
	}
	b := &d.BootstrapToken
	if len(b.CACertHashes) == 0 {
		certs, err := pki.Certificates(w.in.Secrets[fleet.ClusterCA][fleet.TLSCertKey].Reveal())
		if err != nil {
			return nil, fmt.Errorf("%w: cluster CA: %w", errIncomplete, err)
		}
		for _, c := range certs {
			b.CACertHashes = append(b.CACertHashes, pki.Hash(c))
		}
	}
	b.APIServerEndpoint = cmp.Or(b.APIServerEndpoint, kubeconfig.HostPort(w.in.Endpoint))
	if b.Token == "" {
		b.Token = w.token.ID + "." + string(w.token.Secret.Reveal())
	}
	return nil, nil
}

// discoveryFile returns the kubeconfig that kubeadm finds the cluster by, where
// the user asks for one to be made.
func (w *writer) discoveryFile(f bootstrapv1.FileDiscovery) ([]cloudinit.File, error) {
	if !f.KubeConfig.IsDefined() {
		return nil, nil
	}
	in := f.KubeConfig
	cluster := kubeconfig.Cluster{
		Server:                   cmp.Or(in.Cluster.Server, "https://"+kubeconfig.HostPort(w.in.Endpoint)),
		TLSServerName:            in.Cluster.TLSServerName,
		InsecureSkipTLSVerify:    in.Cluster.InsecureSkipTLSVerify != nil && *in.Cluster.InsecureSkipTLSVerify,
		CertificateAuthorityData: in.Cluster.CertificateAuthorityData,
		ProxyURL:                 in.Cluster.ProxyURL,
	}
	if len(cluster.CertificateAuthorityData) == 0 {
		cluster.CertificateAuthorityData = w.in.Secrets[fleet.ClusterCA][fleet.TLSCertKey].Reveal()
	}
	var user kubeconfig.User
	if p := in.User.AuthProvider; p.IsDefined() {
		user.AuthProvider = &kubeconfig.AuthProvider{Name: p.Name, Config: p.Config}
	}
	if e := in.User.Exec; e.IsDefined() {
		user.Exec = &kubeconfig.Exec{
			APIVersion:         cmp.Or(e.APIVersion, "client.authentication.k8s.io/v1"),
			Command:            e.Command,
			Args:               e.Args,
			Env:                e.Env,
			ProvideClusterInfo: e.ProvideClusterInfo != nil && *e.ProvideClusterInfo,
			InteractiveMode:    "Never",
		}
	}
	const name = "default"
	var b bytes.Buffer
	if err := cloudinit.EncodeJSONAsYAML(&b, kubeconfig.New(name, name, name, cluster, user)); err != nil {
		return nil, err
	}
	return []cloudinit.File{{Path: cloudinit.Text(f.KubeConfigPath), Owner: rootOwner, Permissions: "0640", Content: cloudinit.Text(b.String())}}, nil
}

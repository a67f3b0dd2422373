package kubeadm

import (
	"bytes"
	"cmp"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"path"
	"strings"
	"time"

	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/distribution/cloudinit"
)

const (
	patchesDir = "/etc/kubernetes/patches"
	// The name is that of kubeadm's patches: the target, a suffix, the kind.
	signerPatch = "kube-controller-managerfairlead+json.json"
	// oldSigned is how long the certificates of kubelets last that the old
	// authority signs beside the new: kubelets renew theirs before, by then of the
	// new one.
	oldSigned = 24 * time.Hour
)

// trustBothCAs returns what a control-plane machine needs while two CAs of
// the cluster are trusted, and the command that comes after kubeadm's; nothing
// where there is one. kube-controller-manager takes one certificate to sign with,
// which kubeadm would have it read from the file of both. And who trusts the new
// authority alone, like a machine that joins when it signs, believes an API
// server of the old one by the certificate that crosses them.
func (w *writer) trustBothCAs(dir string) (files []cloudinit.File, after string, err error) {
	ca := w.in.Secrets[fleet.ClusterCA]
	first, rest := pem.Decode(ca[fleet.TLSCertKey].Reveal())
	if first == nil || len(bytes.TrimSpace(rest)) == 0 {
		return nil, "", nil
	}
	file := func(name string, content []byte) string {
		files = append(files, cloudinit.File{Path: cloudinit.Text(name), Owner: rootOwner, Permissions: "0640", Content: cloudinit.Text(content)})
		return name
	}
	type operation struct {
		Op    string `json:"op"`
		Path  string `json:"path"`
		Value string `json:"value"`
	}
	var patch []operation
	flag := func(name, value string) {
		patch = append(patch, operation{"add", "/spec/containers/0/command/-", "--" + name + "=" + value})
	}
	flag("cluster-signing-cert-file", file(path.Join(dir, "ca-signing.crt"), pem.EncodeToMemory(first)))
	if cross := ca[fleet.CrossCertKey].Reveal(); len(cross) > 0 {
		if w.signingDuration() > oldSigned {
			flag("cluster-signing-duration", oldSigned.String())
		}
		after = fmt.Sprintf("cat %s >> %s", file(path.Join(dir, "ca-cross.crt"), cross), path.Join(dir, "apiserver.crt"))
	}
	patches := &w.spec.JoinConfiguration.Patches
	if w.in.Join == fleet.JoinInit {
		patches = &w.spec.InitConfiguration.Patches
	}
	patches.Directory = cmp.Or(patches.Directory, patchesDir)
	content, err := json.Marshal(patch)
	file(path.Join(patches.Directory, signerPatch), content)
	return files, after, err
}

// signingDuration is how long what kube-controller-manager signs lasts; a year
// by default, as with Kubernetes.
func (w *writer) signingDuration() time.Duration {
	for _, a := range w.spec.ClusterConfiguration.ControllerManager.ExtraArgs {
		if d, err := time.ParseDuration(*cmp.Or(a.Value, new(string))); a.Name == "cluster-signing-duration" && err == nil {
			return d
		}
	}
	return 365 * 24 * time.Hour
}

// checkRotatable returns what in c's manifests prevents a rotation of the CA
// of the cluster: settings that fix trusted certificates, which a rotation would
// not change.
func checkRotatable(c *fleet.Cluster) error {
	spec, err := specOf(c.ControlPlane.Bootstrap)
	if err != nil {
		return err
	}
	conf := spec.ClusterConfiguration
	for _, x := range []struct {
		field string
		args  []bootstrapv1.Arg
		own   func(string) bool
	}{
		{"controllerManager", conf.ControllerManager.ExtraArgs, func(name string) bool {
			return name == "root-ca-file" || name == "client-ca-file" || strings.HasPrefix(name, "cluster-signing-") && name != "cluster-signing-duration"
		}},
		{"apiServer", conf.APIServer.ExtraArgs, func(name string) bool { return name == "client-ca-file" || name == "tls-cert-file" }},
	} {
		for _, a := range x.args {
			if x.own(a.Name) {
				return fmt.Errorf("clusterConfiguration.%s.extraArgs: %s sets which CA is trusted: remove it before the CA is rotated", x.field, a.Name)
			}
		}
	}
	for _, p := range append([]fleet.Pool{c.ControlPlane}, c.Workers...) {
		spec, err := specOf(p.Bootstrap)
		if err != nil {
			return fmt.Errorf("pool %s: %w", p.Name, err)
		}
		join := spec.JoinConfiguration
		d := join.Discovery
		file := d.File.IsDefined() && (!d.File.KubeConfig.IsDefined() || len(d.File.KubeConfig.Cluster.CertificateAuthorityData) > 0)
		if len(d.BootstrapToken.CACertHashes) > 0 || file {
			return fmt.Errorf("pool %s: joinConfiguration.discovery names the CA that machines trust when they join: leave it out, so that they find the new one", p.Name)
		}
		for _, a := range join.NodeRegistration.KubeletExtraArgs {
			if a.Name == "rotate-certificates" && a.Value != nil && *a.Value == "false" {
				return fmt.Errorf("pool %s: joinConfiguration.nodeRegistration.kubeletExtraArgs: kubelets must renew their certificates, and rotate-certificates is false", p.Name)
			}
		}
	}
	return nil
}

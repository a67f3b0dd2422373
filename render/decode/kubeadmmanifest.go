package decode

import (
	"k8s.io/apimachinery/pkg/util/validation/field"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"

	"fairlead.dev/fleet"
)

// kubeadm is the distribution whose kinds are Cluster API's own.
const kubeadm = "kubeadm"

// kubeadmManifest returns c, which is at path of its object, as pools have it.
func kubeadmManifest(c *bootstrapv1.KubeadmConfigSpec, path *field.Path) *fleet.BootstrapManifest {
	m := &fleet.BootstrapManifest{Path: path.String(), Spec: c, Hashed: madeFrom(c)}
	add := func(at *field.Path, name, key string) {
		if name != "" {
			m.Secrets = append(m.Secrets, fleet.SecretRef{Field: at.String(), Name: name, Key: key})
		}
	}
	for i, f := range c.Files {
		add(path.Child("files").Index(i).Child("contentFrom", "secret"), f.ContentFrom.Secret.Name, f.ContentFrom.Secret.Key)
	}
	for i, u := range c.Users {
		add(path.Child("users").Index(i).Child("passwdFrom", "secret"), u.PasswdFrom.Secret.Name, u.PasswdFrom.Secret.Key)
	}
	return m
}

// madeFrom returns the part of c that a machine is made from: without what is only for joining,
// what changes in the running cluster, and kubeadm's defaults.
// Source: Cluster API, controlplane/kubeadm/pkg/filters.go.
func madeFrom(c *bootstrapv1.KubeadmConfigSpec) bootstrapv1.KubeadmConfigSpec {
	out := *c.DeepCopy()
	out.ClusterConfiguration.ControlPlaneEndpoint = ""
	out.ClusterConfiguration.DNS = bootstrapv1.DNS{}
	out.JoinConfiguration.Discovery = bootstrapv1.Discovery{}
	out.InitConfiguration.Timeouts.ControlPlaneComponentHealthCheckSeconds = nil
	out.JoinConfiguration.Timeouts.ControlPlaneComponentHealthCheckSeconds = nil
	if out.Format == bootstrapv1.CloudConfig {
		out.Format = ""
	}
	for _, r := range []*bootstrapv1.NodeRegistrationOptions{&out.InitConfiguration.NodeRegistration, &out.JoinConfiguration.NodeRegistration} {
		if r.ImagePullPolicy == "IfNotPresent" {
			r.ImagePullPolicy = ""
		}
	}
	if j := out.JoinConfiguration.ControlPlane; j != nil && *j == (bootstrapv1.JoinControlPlane{}) {
		out.JoinConfiguration.ControlPlane = nil
	}
	return out
}

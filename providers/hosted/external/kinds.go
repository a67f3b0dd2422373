package external

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/kinds"
)

// Kind is what spec.controlPlaneRef of a Cluster names.
const Kind = "ExternalControlPlane"

// Spec is the spec of an ExternalControlPlane: a control plane that somebody else keeps.
type Spec struct {
	// Version is the version of Kubernetes that it is expected to serve. Pools follow
	// the one that it serves in fact.
	Version string `json:"version,omitempty"`
	// ControlPlaneEndpoint is where machines reach it. It may stand in the Cluster, or in the
	// object of its infrastructure, instead.
	ControlPlaneEndpoint Endpoint `json:"controlPlaneEndpoint,omitzero"`
	// KubeconfigRef is the Secret in Git, in the namespace of the Cluster, that leads into
	// it; without it, <cluster>-kubeconfig in Git or in the secret store.
	KubeconfigRef *SecretRef `json:"kubeconfigRef,omitempty"`
}

// Endpoint is host and port of an API server; the port is 6443 by default.
type Endpoint struct {
	Host string `json:"host,omitempty"`
	Port int32  `json:"port,omitempty"`
}

// SecretRef names a Secret and a key in it, which is "value" by default.
type SecretRef struct {
	Name string `json:"name"`
	Key  string `json:"key,omitempty"`
}

// Kinds returns the kinds of this package.
func Kinds() []fleet.Kind {
	return []fleet.Kind{kinds.Of(fleet.Kind{
		Distribution: "kubeadm", Role: fleet.HostedControlPlaneKind, Group: "fairlead.dev", Kind: Kind,
		Limited: map[string]string{"spec.version": "the expected version; pools follow the version of the API server"},
	}, kinds.Objects(normalise, "v1alpha1"))}
}

// normalise is a kinds.Normaliser.
func normalise(_ metav1.Object, at *field.Path, in *Spec) (any, field.ErrorList) {
	spec := *in
	var errs field.ErrorList
	e, endpoint := &spec.ControlPlaneEndpoint, at.Child("controlPlaneEndpoint")
	switch {
	case e.Host == "" && e.Port != 0:
		errs = append(errs, field.Required(endpoint.Child("host"), "a port alone is no endpoint"))
	case e.Host != "" && !isHost(e.Host):
		errs = append(errs, field.Invalid(endpoint.Child("host"), e.Host, "must be an IP address or a DNS name"))
	case e.Host != "" && e.Port == 0:
		e.Port = 6443
	}
	if e.Port < 0 || e.Port > 65535 {
		errs = append(errs, field.Invalid(endpoint.Child("port"), e.Port, "must be between 1 and 65535"))
	}
	m := &fleet.HostedManifest{Version: spec.Version, Endpoint: fleet.Endpoint(*e), External: true}
	if r := spec.KubeconfigRef; r != nil {
		if r.Name == "" {
			errs = append(errs, field.Required(at.Child("kubeconfigRef", "name"), "the Secret with the kubeconfig"))
		}
		if r.Key == "" {
			r.Key = fleet.KubeconfigKey
		}
		m.Secrets = []fleet.SecretRef{{Field: "spec.kubeconfigRef.name", Name: r.Name, Key: r.Key}}
	}
	m.Spec = spec
	return m, errs
}

func isHost(s string) bool {
	return len(validation.IsValidIP(nil, s)) == 0 || len(validation.IsDNS1123Subdomain(strings.ToLower(s))) == 0
}

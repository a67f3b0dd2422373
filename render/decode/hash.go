package decode

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"fairlead.dev/fleet"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
)

// templateSchema is the version of what goes into a template hash. Hashes of
// different schemas are never compared, so a new one rolls nothing.
const templateSchema = "1"

// templateContent is what a machine is made from: a change of it makes machines
// outdated. Names of templates, labels, annotations, taints, timeouts and
// numbers of machines are not in it. Zero values leave no trace, so that a
// field which a type gains later changes no hash.
type templateContent struct {
	Version        string                        `json:"version"`
	Bootstrap      bootstrapv1.KubeadmConfigSpec `json:"bootstrap,omitzero"`
	Infrastructure string                        `json:"infrastructure"` // kind
	Spec           json.RawMessage               `json:"spec,omitempty"`
	FailureDomain  string                        `json:"failureDomain,omitempty"`
}

// templateHash returns the hash of the content of p.
func templateHash(p *fleet.Pool) fleet.TemplateHash {
	gvk := p.Infrastructure.GVK
	sum := sha256.Sum256(marshal(templateContent{
		Version:        p.Version,
		Bootstrap:      essential(&p.Bootstrap),
		Infrastructure: groupKind(gvk.Group, gvk.Kind),
		Spec:           p.Infrastructure.Spec,
		FailureDomain:  p.FailureDomain,
	}))
	return fleet.TemplateHash(templateSchema + "-" + hex.EncodeToString(sum[:10]))
}

// essential returns c without what does not make a machine different: what is
// only for the way into the cluster, what is changed in the running cluster,
// and values that are the same as none.
// Source: Cluster API, controlplane/kubeadm/pkg/filters.go.
func essential(c *bootstrapv1.KubeadmConfigSpec) bootstrapv1.KubeadmConfigSpec {
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

// digest returns an identity of all that was decoded of c, but for the
// revision and the files it came from.
func digest(c *fleet.Cluster) string {
	plain := *c
	plain.Revision, plain.Digest = fleet.Revision{}, ""
	plain.Secrets = nil
	secrets := make(map[string]map[string][]byte) // a Secret hides itself from JSON
	add := func(k fleet.Key, data fleet.SecretData) {
		content := make(map[string][]byte, len(data))
		for key, value := range data {
			content[key] = value.Reveal()
		}
		secrets[k.String()] = content
	}
	for name, data := range c.Secrets {
		add(fleet.Key{Namespace: c.Key.Namespace, Name: name}, data)
	}
	part := func(o *fleet.Object) {
		for k, data := range o.Secrets {
			add(k, data)
		}
		o.File, o.Secrets = "", nil
	}
	part(&plain.Infrastructure)
	part(&plain.ControlPlane.Infrastructure)
	plain.Companions = slices.Clone(c.Companions)
	for i := range plain.Companions {
		part(&plain.Companions[i])
	}
	plain.Workers = slices.Clone(c.Workers)
	for i := range plain.Workers {
		part(&plain.Workers[i].Infrastructure)
	}
	plain.Topology = anonymous(c.Topology, part)
	h := sha256.New()
	h.Write(marshal(plain))
	h.Write(marshal(secrets))
	return hex.EncodeToString(h.Sum(nil))
}

// canonicalJSON returns v as JSON with sorted keys and no spaces: equal content,
// equal bytes.
func canonicalJSON(v any) (json.RawMessage, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("cannot be written as JSON: %w", err)
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var plain any
	if err := d.Decode(&plain); err != nil {
		return nil, fmt.Errorf("cannot be read as JSON: %w", err)
	}
	return json.Marshal(plain)
}

// marshal returns v as JSON. It is for values that have a JSON form: what was
// decoded from JSON, and structs of such values.
func marshal(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("decode: cannot marshal %T: %v", v, err))
	}
	return b
}

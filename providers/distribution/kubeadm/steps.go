package kubeadm

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/distribution/kubeadm/inside"
)

// Steps implements providers.Distribution. kubeadm join makes the control plane of what
// it reads in kubeadm-config, of the version that it finds; workers read it as well, and
// one of a newer kubeadm, left by a rollout that was taken back, lets none join. As long
// as nothing was ever rolled out it is as kubeadm init wrote it. Kube-proxy must not be
// newer than an API server.
// Source: Cluster API, controlplane/kubeadm/reconcilers/kubeadmcontrolplane/update.go;
// Kubernetes, version skew policy.
func (Distribution) Steps(c *fleet.Cluster, w *fleet.Workload) []fleet.Step {
	p, k := &c.ControlPlane, w.Applied
	var out []fleet.Step
	if s, due := configStep(p, k); due {
		out = append(out, s)
	}
	if k != nil && k.Marks[inside.SyncAddons] != addonsMark(p) {
		out = append(out, fleet.Step{
			Name: inside.SyncAddons, When: fleet.AfterControlPlane,
			Reason: "kube-proxy and CoreDNS follow the control plane to " + p.Version,
		})
	}
	return out
}

// configStep returns the step that brings kubeadm-config in line, and whether it is due.
func configStep(p *fleet.Pool, k *fleet.Applied) (s fleet.Step, due bool) {
	s = fleet.Step{Name: inside.SyncConfig, When: fleet.BeforeJoin}
	switch {
	case k == nil:
		s.Reason = "no machine can join: kubeadm-config is gone"
	case k.Marks[inside.SyncConfig] == configMark(p):
		return s, false
	case k.Version == "":
		s.Reason = "no machine can join: kubeadm-config names no version"
	case k.Version != p.Version:
		s.Reason = fmt.Sprintf("machines join with version %s → %s", k.Version, p.Version)
	default:
		s.Reason, s.Rollout = "machines join with another configuration", k.Marks[inside.SyncConfig] == ""
	}
	return s, true
}

// Apply implements providers.Distribution.
func (d Distribution) Apply(ctx context.Context, a providers.Access, c *fleet.Cluster, e fleet.Endpoint, name string) error {
	p := &c.ControlPlane
	switch name {
	case inside.SyncConfig:
		config, err := clusterConfigurationOf(c, e)
		if err != nil {
			return err
		}
		return d.inside.SyncConfig(ctx, a, config, configMark(p))
	case inside.SyncAddons:
		spec, err := specOf(p.Bootstrap)
		if err != nil {
			return fleet.Errorf(fleet.Invalid, "bring kube-proxy and CoreDNS of cluster "+c.Key.String()+" in line", "%w", err)
		}
		return d.inside.SyncAddons(ctx, a, *p, spec.ClusterConfiguration, addonsMark(p))
	}
	return fleet.Errorf(fleet.Invalid, "apply to cluster "+c.Key.String(), "kubeadm has no step %q", name)
}

// configMark identifies what kubeadm-config has to say for machines of p, a control
// plane, to join. It is written into clusters: it never changes with a version of
// Fairlead.
func configMark(p *fleet.Pool) string {
	return fleet.DigestOf(p.Version, object(p.Bootstrap.Field("clusterConfiguration")))
}

// addonsMark identifies what kube-proxy and CoreDNS of the cluster of p, a control plane,
// have to be. It never changes with a version of Fairlead either.
func addonsMark(p *fleet.Pool) string {
	var c struct {
		ImageRepository string          `json:"imageRepository"`
		DNS             json.RawMessage `json:"dns"`
	}
	_ = json.Unmarshal(object(p.Bootstrap.Field("clusterConfiguration")), &c) // what was decoded is JSON
	return fleet.DigestOf(p.Version, c.ImageRepository, object(c.DNS), p.SkipKubeProxy, p.SkipCoreDNS)
}

// Marks returns the marks of a cluster whose control plane p is in line.
func Marks(p *fleet.Pool) (config, addons string) { return configMark(p), addonsMark(p) }

// object returns the JSON object data, or one without fields where there is none.
func object(data json.RawMessage) json.RawMessage {
	if data == nil {
		return json.RawMessage("{}")
	}
	return data
}

// Registered implements providers.Distribution.
func (Distribution) Registered(p fleet.Pool) (map[string]string, []corev1.Taint) {
	var join bootstrapv1.NodeRegistrationOptions
	_ = json.Unmarshal(p.Bootstrap.Field("joinConfiguration", "nodeRegistration"), &join) // none says nothing
	labels := make(map[string]string)
	for _, arg := range join.KubeletExtraArgs {
		if arg.Name != "node-labels" || arg.Value == nil {
			continue
		}
		for part := range strings.SplitSeq(*arg.Value, ",") {
			if key, value, ok := strings.Cut(strings.TrimSpace(part), "="); ok {
				labels[key] = value
			}
		}
	}
	if join.Taints == nil {
		return labels, nil
	}
	return labels, *join.Taints
}

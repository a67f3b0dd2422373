package decode

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/version"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"

	"fairlead.dev/fleet"
)

// hashedKubeadm returns what of the configuration of p counts in hashes of schema 2, as JSON:
// what another machine of p would be made of. Nil: nothing.
func hashedKubeadm(p *fleet.Pool) json.RawMessage {
	return kubeadmPart(p, hashedSpec)
}

// kubeadmPart returns what part returns of the configuration of p, as JSON. Nil: nothing.
func kubeadmPart(p *fleet.Pool, part func(bootstrapv1.KubeadmConfigSpec, *fleet.Pool) bootstrapv1.KubeadmConfigSpec) json.RawMessage {
	if p.Bootstrap.Spec == nil {
		return nil
	}
	var c bootstrapv1.KubeadmConfigSpec
	if err := json.Unmarshal(p.Bootstrap.Spec, &c); err != nil {
		panic(fmt.Sprintf("decode: %v", err)) // it was made of the type
	}
	c = part(c, p)
	if data := marshal(&c); string(data) != "{}" {
		return data
	}
	return nil
}

// hashedSpec returns c without what a machine that joins is not made of, and with one form of
// what means the same. Machines that ran kubeadm init are compared in the same way.
// Source: Cluster API, controlplane/kubeadm/pkg/filters.go.
func hashedSpec(c bootstrapv1.KubeadmConfigSpec, p *fleet.Pool) bootstrapv1.KubeadmConfigSpec {
	c = madeFrom(&c)
	c.InitConfiguration = bootstrapv1.InitConfiguration{}
	if p.Role == fleet.RoleControlPlane {
		normalizeClusterConfiguration(&c.ClusterConfiguration, p.Version)
	} else {
		c.ClusterConfiguration = bootstrapv1.ClusterConfiguration{}
	}
	r := &c.JoinConfiguration.NodeRegistration
	r.KubeletExtraArgs = sortedArgs(r.KubeletExtraArgs)
	if r.Taints != nil {
		taints := slices.Clone(*r.Taints)
		slices.SortStableFunc(taints, func(a, b corev1.Taint) int {
			return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Effect, b.Effect))
		})
		r.Taints = &taints
	}
	c.Files = slices.Clone(c.Files)
	for i := range c.Files {
		c.Files[i].Append = orNil(c.Files[i].Append)
	}
	c.Files = sortedByKey(c.Files, func(f bootstrapv1.File) string { return f.Path })
	c.Users = slices.Clone(c.Users)
	for i := range c.Users {
		c.Users[i].Inactive = orNil(c.Users[i].Inactive)
	}
	c.DiskSetup.Partitions = slices.Clone(c.DiskSetup.Partitions)
	for i := range c.DiskSetup.Partitions {
		c.DiskSetup.Partitions[i].Layout = orNil(c.DiskSetup.Partitions[i].Layout)
	}
	c.Ignition.ContainerLinuxConfig.Strict = orNil(c.Ignition.ContainerLinuxConfig.Strict)
	return c
}

// normalizeClusterConfiguration gives c, of a control plane of Kubernetes, one form.
func normalizeClusterConfiguration(c *bootstrapv1.ClusterConfiguration, kubernetes string) {
	for _, list := range []*[]bootstrapv1.Arg{&c.APIServer.ExtraArgs, &c.ControllerManager.ExtraArgs, &c.Scheduler.ExtraArgs, &c.Etcd.Local.ExtraArgs} {
		*list = sortedArgs(*list)
	}
	for _, list := range []*[]bootstrapv1.HostPathMount{&c.APIServer.ExtraVolumes, &c.ControllerManager.ExtraVolumes, &c.Scheduler.ExtraVolumes} {
		volumes := slices.Clone(*list)
		for i := range volumes {
			volumes[i].ReadOnly = orNil(volumes[i].ReadOnly)
		}
		*list = sortedByKey(volumes, func(v bootstrapv1.HostPathMount) string { return v.Name })
	}
	for _, list := range []**[]bootstrapv1.EnvVar{&c.APIServer.ExtraEnvs, &c.ControllerManager.ExtraEnvs, &c.Scheduler.ExtraEnvs, &c.Etcd.Local.ExtraEnvs} {
		if *list != nil && len(**list) == 0 {
			*list = nil
		}
	}
	if v, err := version.ParseSemantic(kubernetes); err == nil {
		gates, _ := fleet.KubeadmGates(c.FeatureGates, v.Minor())
		always, _ := fleet.KubeadmGates(nil, v.Minor())
		gates = maps.Clone(gates)
		maps.DeleteFunc(gates, func(name string, on bool) bool { same, ok := always[name]; return ok && same == on })
		if c.FeatureGates = nil; len(gates) > 0 {
			c.FeatureGates = gates
		}
	}
}

// sortedArgs returns args in the order of their names.
func sortedArgs(args []bootstrapv1.Arg) []bootstrapv1.Arg {
	return sortedByKey(args, func(a bootstrapv1.Arg) string { return a.Name })
}

// sortedByKey returns list in the order of its keys. Entries of one key keep their order, which may
// mean something: the first of several issuers signs.
func sortedByKey[T any](list []T, key func(T) string) []T {
	out := slices.Clone(list)
	slices.SortStableFunc(out, func(a, b T) int { return cmp.Compare(key(a), key(b)) })
	return out
}

// orNil returns b, or nil if it is false: that means the same in the fields that it is used for.
func orNil(b *bool) *bool {
	if b == nil || !*b {
		return nil
	}
	return b
}

package decode

import (
	"slices"
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/all"
)

// registered returns the kinds of all providers and distributions that Fairlead is built with.
func registered(t *testing.T) []fleet.Kind {
	r, err := all.Registry()
	if err != nil {
		t.Fatal(err)
	}
	return r.Kinds()
}

// providerSubjects are the objects of K3s, RKE2, Metal3 and of control planes elsewhere whose
// fields are changed, in each version.
func providerSubjects() []subject {
	var out []subject
	for _, version := range []string{"v1beta2", "v1beta1"} {
		for _, names := range [][3]string{{"KThreesControlPlane", "KThreesConfig", "k3s-"}, {"RKE2ControlPlane", "RKE2Config", "rke2-"}} {
			plane, config, overlay := names[0], names[1], names[2]+version
			only := "Cluster DevCluster DevMachineTemplate Secret " + plane
			out = append(out,
				subject{kind: plane + ".controlplane.cluster.x-k8s.io", version: version, overlay: overlay, only: only},
				subject{kind: config + "Template.bootstrap.cluster.x-k8s.io", version: version, overlay: overlay, only: only + " MachineDeployment " + config + "Template"},
				subject{kind: config + ".bootstrap.cluster.x-k8s.io", version: version, overlay: overlay, only: only + " Machine DevMachine " + config},
			)
		}
		// All of a Metal3DataTemplate counts as this part of it does.
		out = append(out,
			subject{kind: "Metal3DataTemplate.infrastructure.cluster.x-k8s.io", version: version, overlay: "metal3-" + version, below: "spec.metaData.strings."},
			subject{kind: "Metal3RemediationTemplate.infrastructure.cluster.x-k8s.io", version: version, overlay: "metal3-" + version, below: "spec."},
		)
	}
	return append(out, subject{kind: "ExternalControlPlane.fairlead.dev", version: "v1alpha1", overlay: "hosted", below: "spec."})
}

// distributionMutations are those of the kinds of K3s, RKE2, Metal3 and of control planes elsewhere.
func distributionMutations() []mutation {
	const (
		missing = "which the overlay does not hold"
		inside  = "references do not leave it"
	)
	out := []mutation{
		{field: ".agentConfig.nodeLabels", to: []any{"a=b"}},
		{field: ".agentConfig.nodeTaints", to: []any{"a=b:NoSchedule"}},
		{field: ".agentConfig.airGappedChecksum", to: "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
		{field: ".agentConfig.format", to: "ignition", problem: "is not a value"},
		{field: ".serverConfig.httpsListenPort", to: "7443"},
		{field: ".serverConfig.disableCloudController", to: false},
		{field: ".contentFrom.secret.namespace", problem: inside},

		{field: "KThreesControlPlane spec.version", to: "v1.34.2+k3s1"},
		{field: "RKE2ControlPlane spec.version", to: "v1.34.2+rke2r1"},
		{field: "RKE2ControlPlane spec.registrationMethod", to: "address", problem: "with registrationMethod address"},
		{field: "RKE2ControlPlane spec.registrationAddress", given: "spec: {registrationMethod: address, registrationAddress: 10.0.0.9}"},
		{field: "RKE2ControlPlane spec.rolloutStrategy.type", to: "OnDelete", problem: "is not a value"},
		{field: "RKE2ControlPlane spec.rolloutStrategy.rollingUpdate.maxSurge", given: "spec: {replicas: 3}", to: 0},
	}
	const leads = "spec: {kubeconfigRef: {name: s, key: a}}"
	out = append(out,
		mutation{field: "ExternalControlPlane spec.version", to: "v1.35.0"},
		mutation{field: "ExternalControlPlane spec.kubeconfigRef.name", given: leads, to: "t"},
		mutation{field: "ExternalControlPlane spec.kubeconfigRef.key", given: leads, to: "b"},
		mutation{field: "Metal3RemediationTemplate spec.template.spec.strategy.type", to: "Other", problem: "Unsupported value"},
		mutation{field: "Metal3RemediationTemplate spec.template.spec.strategy.timeout", to: "301s"},
		mutation{field: "Metal3DataTemplate spec.metaData.strings.value", given: "spec: {metaData: {strings: [{key: a, value: b}]}}"},
	)
	for _, kind := range []string{"KThreesControlPlane", "RKE2ControlPlane"} {
		out = append(out,
			mutation{field: kind + " metadata.annotations", to: map[string]any{"cluster.x-k8s.io/paused": ""}},
			mutation{field: kind + " spec.replicas", to: 3},
		)
	}
	const elsewhere = "spec: {machineTemplate: {infrastructureRef: null}, infrastructureRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: DevMachineTemplate, name: m}}"
	for _, of := range [][2]string{{"KThreesControlPlane spec.infrastructureTemplate", ""}, {"RKE2ControlPlane spec.infrastructureRef", elsewhere}} {
		ref, given := of[0], of[1]
		out = append(out,
			mutation{field: ref + ".name", given: given, to: "other"},
			mutation{field: ref + ".kind", given: given, problem: missing},
			mutation{field: ref + ".namespace", given: given, problem: inside},
			mutation{field: ref + ".apiVersion", given: given, to: "other.x-k8s.io/v1beta1", problem: missing},
		)
	}
	return out
}

// keepsFlags reports whether the distribution of a cluster says of after that servers are made
// with what the cluster was made with, as before says.
func keepsFlags(before, after []fleet.Cluster) bool {
	if len(before) != 1 || len(after) != 1 {
		return false
	}
	d, err := all.Distributions(nil).Of(&after[0])
	if err != nil {
		return false
	}
	program, ok := d.(interface {
		Flags(c *fleet.Cluster) map[string]string
	})
	if !ok {
		return false
	}
	made := &fleet.Workload{Made: &fleet.Made{Flags: program.Flags(&before[0])}}
	return slices.ContainsFunc(d.Steps(&after[0], made), func(s fleet.Step) bool { return s.When == fleet.Never })
}

package api_test

import (
	"testing"

	"fairlead.dev/providers/infrastructure/docker/api"
	"fairlead.dev/test/run/kindstest"
)

// TestSpecs: what is written is normalised, or refused with the field.
func TestSpecs(t *testing.T) {
	const balancer = "loadBalancer:\n  imageRepository: kindest\n  imageTag: v20230606-42a2262b\n"
	for reason, tc := range map[string]struct{ kind, version, spec, want, wrong string }{
		"a cluster":               {"DockerCluster", "v1beta2", "{}", balancer, ""},
		"domains of v1beta1":      {"DockerCluster", "v1beta1", "{failureDomains: {b: {controlPlane: true}, a: {}}}", "failureDomains:\n- controlPlane: false\n  name: a\n- controlPlane: true\n  name: b\n" + balancer, ""},
		"domains of v1beta2":      {"DockerCluster", "v1beta2", "{failureDomains: [{name: b, controlPlane: true}, {name: a}]}", "failureDomains:\n- controlPlane: false\n  name: a\n- controlPlane: true\n  name: b\n" + balancer, ""},
		"a domain twice":          {"DockerCluster", "v1beta2", "{failureDomains: [{name: a}, {name: a}]}", "", "spec.failureDomains[1].name"},
		"an endpoint":             {"DockerCluster", "v1beta2", "{controlPlaneEndpoint: {host: 10.0.0.7}}", "", "spec.controlPlaneEndpoint.host"},
		"an endpoint that exists": {"DockerCluster", "v1beta2", "{loadBalancer: {disable: true, imageRepository: a, imageTag: b}, controlPlaneEndpoint: {host: 10.0.0.7}}", "controlPlaneEndpoint:\n  host: 10.0.0.7\n  port: 6443\nloadBalancer:\n  disable: true\n  imageRepository: a\n  imageTag: b\n", ""},
		"no endpoint":             {"DockerCluster", "v1beta2", "{loadBalancer: {disable: true}}", "", "spec.controlPlaneEndpoint.host"},
		"a template":              {"DockerClusterTemplate", "v1beta2", "{loadBalancer: {disable: true}}", "loadBalancer:\n  disable: true\n  imageRepository: kindest\n  imageTag: v20230606-42a2262b\n", ""},
		"a machine":               {"DockerMachineTemplate", "v1beta2", "{}", "bootstrapTimeout: 5m0s\n", ""},
		"a machine alone":         {"DockerMachine", "v1beta1", "{customImage: a, bootstrapTimeout: 60s, extraMounts: [{hostPath: /a, containerPath: /b}], bootstrapped: true}", "bootstrapTimeout: 1m0s\ncustomImage: a\nextraMounts:\n- containerPath: /b\n  hostPath: /a\n", ""},
		"a DevCluster":            {"DevCluster", "v1beta2", "{backend: {docker: {}}}", "backend:\n  docker:\n    loadBalancer:\n      imageRepository: kindest\n      imageTag: v20230606-42a2262b\n", ""},
		"a DevCluster of v1beta1": {"DevCluster", "v1beta1", "{controlPlaneEndpoint: {host: 10.0.0.7}, backend: {docker: {failureDomains: {a: {}}, loadBalancer: {disable: true, imageRepository: a, imageTag: b}}}}", "backend:\n  docker:\n    failureDomains:\n    - controlPlane: false\n      name: a\n    loadBalancer:\n      disable: true\n      imageRepository: a\n      imageTag: b\ncontrolPlaneEndpoint:\n  host: 10.0.0.7\n  port: 6443\n", ""},
		"a DevCluster's endpoint": {"DevCluster", "v1beta2", "{controlPlaneEndpoint: {host: 10.0.0.7}, backend: {docker: {}}}", "", "spec.controlPlaneEndpoint.host"},
		"a DevCluster's domain":   {"DevClusterTemplate", "v1beta2", "{backend: {docker: {failureDomains: [{name: a}, {name: a}]}}}", "", "spec.template.spec.backend.docker.failureDomains[1].name"},
		"no backend":              {"DevCluster", "v1beta2", "{}", "backend:\n  docker:\n    loadBalancer:\n      imageRepository: kindest\n      imageTag: v20230606-42a2262b\n", ""},
		"a machine's backend":     {"DevMachine", "v1beta2", "{backend: {}}", "backend:\n  docker:\n    bootstrapTimeout: 5m0s\n", ""},
		"a DevMachine":            {"DevMachineTemplate", "v1beta1", "{backend: {docker: {preLoadImages: [a], bootstrapTimeout: 60s}}}", "backend:\n  docker:\n    bootstrapTimeout: 1m0s\n    preLoadImages:\n    - a\n", ""},
		"no image":                {"DevMachineTemplate", "v1beta1", "{backend: {docker: {preLoadImages: ['']}}}", "", "spec.template.spec.backend.docker.preLoadImages[0]"},
		"a pool":                  {"DockerMachinePool", "v1beta1", "{providerID: a, providerIDList: [b], template: {customImage: a}}", "bootstrapTimeout: 5m0s\ncustomImage: a\n", ""},
		"a pool's path":           {"DockerMachinePoolTemplate", "v1beta2", "{template: {extraMounts: [{hostPath: a, containerPath: /b}]}}", "", "spec.template.spec.template.extraMounts[0].hostPath"},
		"a DevMachinePool":        {"DevMachinePool", "v1beta2", "{providerID: a, backend: {}}", "backend:\n  docker:\n    bootstrapTimeout: 5m0s\n", ""},
		"a DevMachinePool's path": {"DevMachinePoolTemplate", "v1beta2", "{backend: {docker: {preLoadImages: ['']}}}", "", "spec.template.spec.backend.docker.preLoadImages[0]"},
		"no absolute path":        {"DockerMachineTemplate", "v1beta2", "{extraMounts: [{hostPath: a, containerPath: /b}]}", "", "spec.template.spec.extraMounts[0].hostPath"},
		"no path":                 {"DockerMachineTemplate", "v1beta2", "{extraMounts: [{hostPath: /a}]}", "", "spec.template.spec.extraMounts[0].containerPath"},
		"no time":                 {"DockerMachineTemplate", "v1beta2", "{bootstrapTimeout: 0s}", "", "spec.template.spec.bootstrapTimeout"},
	} {
		spec, errs := kindstest.Normalised(t, kindstest.Kind(t, api.Kinds(), tc.kind), tc.version, tc.spec, nil)
		if kindstest.Check(t, kindstest.Text(errs), tc.wrong, reason); tc.wrong != "" {
			continue
		}
		if got := kindstest.YAML(t, spec); got != tc.want {
			t.Errorf("%s: got\n%swant\n%s", reason, got, tc.want)
		}
	}
}

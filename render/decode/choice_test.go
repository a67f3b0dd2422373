package decode_test

import (
	"strings"
	"testing"

	docker "fairlead.dev/providers/infrastructure/docker/api"
	"fairlead.dev/providers/infrastructure/inmemory"
	"fairlead.dev/render"
	"fairlead.dev/render/decode"
)

// TestChoice: a kind that two providers have is of the one that an object chooses by its backend, and of docker
// without one. An object that chooses both, or another than its cluster, is a problem.
func TestChoice(t *testing.T) {
	kinds := append(docker.Kinds(), inmemory.Kinds()...)
	for reason, tc := range map[string]struct {
		cluster, machine string
		provider         string
		wrong            string // field and part of the message; empty: nothing is wrong
	}{
		"docker":               {"docker: {}", "docker: {customImage: a}", "docker", ""},
		"in memory":            {"inMemory: {}", "inMemory: {vm: {provisioning: {startupDuration: 1s}}}", "inmemory", ""},
		"both":                 {"docker: {}, inMemory: {}", "docker: {}", "", "spec.backend.inMemory: is not supported: the object has backend.docker"},
		"none":                 {"", "", "docker", ""},
		"another than cluster": {"inMemory: {}", "docker: {}", "", "refers to DevMachineTemplate of the provider docker"},
		"a field of the other": {"docker: {}", "docker: {vm: {}}", "", "spec.template.spec.backend.docker.vm: unknown field"},
		"a field of docker":    {"inMemory: {}", "inMemory: {customImage: a}", "", "spec.template.spec.backend.inMemory.customImage: unknown field"},
	} {
		t.Run(reason, func(t *testing.T) {
			text := strings.NewReplacer("CLUSTER", tc.cluster, "MACHINE", tc.machine).Replace(choiceManifests)
			var objects []render.Object
			for doc := range strings.SplitSeq(text, "\n---\n") {
				objects = append(objects, render.Object{File: "all.yaml", YAML: []byte(doc)})
			}
			clusters, problems := decode.New("f", kinds).Decode("clusters/eu-1", objects)
			var said []string
			for _, p := range problems {
				said = append(said, p.Field+": "+p.Message)
			}
			switch all := strings.Join(said, "\n"); {
			case tc.wrong != "" && !strings.Contains(all, tc.wrong):
				t.Errorf("problems %q, want %q", all, tc.wrong)
			case tc.wrong == "" && (all != "" || len(clusters) != 1 || clusters[0].Provider != tc.provider):
				t.Errorf("problems %q, clusters %v, want one of %s", all, clusters, tc.provider)
			}
		})
	}
}

const choiceManifests = `
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: eu-1, namespace: prod}
spec:
  clusterNetwork: {pods: {cidrBlocks: [192.168.0.0/16]}, services: {cidrBlocks: [10.96.0.0/12]}}
  controlPlaneRef: {apiGroup: controlplane.cluster.x-k8s.io, kind: KubeadmControlPlane, name: eu-1-cp}
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: DevCluster, name: eu-1}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DevCluster
metadata: {name: eu-1, namespace: prod}
spec: {backend: {CLUSTER}}
---
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: KubeadmControlPlane
metadata: {name: eu-1-cp, namespace: prod}
spec:
  replicas: 1
  version: v1.34.1
  machineTemplate: {spec: {infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: DevMachineTemplate, name: m}}}
  kubeadmConfigSpec: {clusterConfiguration: {encryptionAlgorithm: ECDSA-P256}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DevMachineTemplate
metadata: {name: m, namespace: prod}
spec: {template: {spec: {backend: {MACHINE}}}}
`

package all_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/all"
	"fairlead.dev/providers/conformance"
	"fairlead.dev/providers/infrastructure/inmemory"
	"fairlead.dev/providers/workload"
	"fairlead.dev/render"
	"fairlead.dev/render/decode"
)

// A distribution is one that is built in, and what people write to have it.
type distribution struct {
	kind         string // of its control plane
	older, newer string
	manifests    string // of the control plane, and of the bootstrap configuration of workers
	bootstrap    string // kind of that
}

func distributions() map[string]distribution {
	return map[string]distribution{
		"kubeadm": {kind: "KubeadmControlPlane", older: "v1.33.5", newer: "v1.34.1", bootstrap: "KubeadmConfigTemplate", manifests: `
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: KubeadmControlPlane
metadata: {name: eu-1-cp, namespace: prod}
spec:
  replicas: 3
  version: v1.33.5
  machineTemplate: {spec: {infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: DevMachineTemplate, name: m}}}
  kubeadmConfigSpec: {clusterConfiguration: {encryptionAlgorithm: ECDSA-P256}}
---
apiVersion: bootstrap.cluster.x-k8s.io/v1beta2
kind: KubeadmConfigTemplate
metadata: {name: w, namespace: prod}
spec: {template: {spec: {}}}
`},
		"k3s": {kind: "KThreesControlPlane", older: "v1.33.5+k3s1", newer: "v1.34.1+k3s1", bootstrap: "KThreesConfigTemplate", manifests: `
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: KThreesControlPlane
metadata: {name: eu-1-cp, namespace: prod}
spec:
  replicas: 3
  version: v1.33.5+k3s1
  machineTemplate: {infrastructureRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: DevMachineTemplate, name: m}}
  kthreesConfigSpec: {serverConfig: {cloudProviderName: ""}}
---
apiVersion: bootstrap.cluster.x-k8s.io/v1beta2
kind: KThreesConfigTemplate
metadata: {name: w, namespace: prod}
spec: {template: {spec: {serverConfig: {cloudProviderName: ""}}}}
`},
		"rke2": {kind: "RKE2ControlPlane", older: "v1.33.5+rke2r1", newer: "v1.34.1+rke2r1", bootstrap: "RKE2ConfigTemplate", manifests: `
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: RKE2ControlPlane
metadata: {name: eu-1-cp, namespace: prod}
spec:
  replicas: 3
  version: v1.33.5+rke2r1
  machineTemplate: {spec: {infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: DevMachineTemplate, name: m}}}
  registrationMethod: control-plane-endpoint
  serverConfig: {cloudProviderName: external, disableComponents: {kubernetesComponents: [cloudController]}}
---
apiVersion: bootstrap.cluster.x-k8s.io/v1beta2
kind: RKE2ConfigTemplate
metadata: {name: w, namespace: prod}
spec: {template: {spec: {}}}
`},
	}
}

const clusterManifests = `
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: eu-1, namespace: prod}
spec:
  clusterNetwork: {pods: {cidrBlocks: [192.168.0.0/16]}, services: {cidrBlocks: [10.96.0.0/12]}}
  controlPlaneRef: {apiGroup: controlplane.cluster.x-k8s.io, kind: %[1]s, name: eu-1-cp}
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: DevCluster, name: eu-1}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DevCluster
metadata: {name: eu-1, namespace: prod}
spec: {backend: {inMemory: {}}}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineDeployment
metadata: {name: eu-1-md-0, namespace: prod}
spec:
  clusterName: eu-1
  replicas: 1
  template:
    spec:
      clusterName: eu-1
      version: %[2]s
      bootstrap: {configRef: {apiGroup: bootstrap.cluster.x-k8s.io, kind: %[3]s, name: w}}
      infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: DevMachineTemplate, name: m}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DevMachineTemplate
metadata: {name: m, namespace: prod}
spec: {template: {spec: {backend: {inMemory: {vm: {provisioning: {startupDuration: "10s"}}, etcd: {provisioning: {startupDuration: "2s"}}}}}}}
---
`

// cluster returns what the manifests of d say.
func (d distribution) cluster(t testing.TB) fleet.Cluster {
	t.Helper()
	text := fmt.Sprintf(clusterManifests, d.kind, d.older, d.bootstrap) + d.manifests
	var objects []render.Object
	for doc := range strings.SplitSeq(text, "\n---\n") {
		objects = append(objects, render.Object{File: "all.yaml", YAML: []byte(doc)})
	}
	clusters, problems := decode.New("conformance", kinds(t)).Decode("clusters/eu-1", objects)
	if len(problems) > 0 || len(clusters) != 1 {
		t.Fatalf("decoded %d clusters with problems %v", len(clusters), problems)
	}
	return clusters[0]
}

func kinds(t testing.TB) []fleet.Kind {
	t.Helper()
	r, err := all.Registry()
	if err != nil {
		t.Fatal(err)
	}
	return r.Kinds()
}

// options are those of the suite for d, on clouds in memory.
func (d distribution) options(t testing.TB) conformance.DistributionOptions {
	c := d.cluster(t)
	return conformance.DistributionOptions{
		Older: d.older, Newer: d.newer, Around: synctest.Test,
		Cluster: func() fleet.Cluster {
			out := c
			out.Workers = slices.Clone(c.Workers)
			return out
		},
		New: func(t testing.TB) conformance.World {
			net := inmemory.NewPipeNetwork()
			cloud := inmemory.NewCloud(inmemory.CloudOptions{Listen: net.Listen})
			client := workload.New(workload.Options{Dial: net.DialContext})
			t.Cleanup(func() {
				client.Close()
				cloud.Close()
				time.Sleep(2 * time.Minute) // what is still on its way ends
			})
			return conformance.World{
				Infrastructure: inmemory.NewProvider(cloud, time.Second), Workload: client, Distribution: all.Distributions(client)[d.kind],
				Power: func(t testing.TB, id fleet.ProviderID, on bool) {
					t.Helper()
					set := cloud.StopVM
					if on {
						set = cloud.StartVM
					}
					_, vm, _ := strings.Cut(string(id), cloud.ID()+"/")
					if err := set(t.Context(), vm); err != nil {
						t.Fatal(err)
					}
				},
			}
		},
	}
}

// TestDistributions holds every distribution against the suite.
func TestDistributions(t *testing.T) {
	for name, d := range distributions() {
		t.Run(name, func(t *testing.T) { conformance.RunDistribution(t, d.options(t)) })
	}
}

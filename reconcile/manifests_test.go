package reconcile_test

import (
	"fmt"
	"strings"
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/inmemory"
	"fairlead.dev/render"
	"fairlead.dev/render/decode"
)

const manifests = `
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata:
  name: eu-1
  namespace: prod
  annotations: {fairlead.dev/delete: "%[4]v"}
spec:
  clusterNetwork: {pods: {cidrBlocks: [192.168.0.0/16]}, services: {cidrBlocks: [10.96.0.0/12]}}
  controlPlaneRef: {apiGroup: controlplane.cluster.x-k8s.io, kind: KubeadmControlPlane, name: eu-1-cp}
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: DevCluster, name: eu-1}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DevCluster
metadata: {name: eu-1, namespace: prod}
spec: {backend: {inMemory: {}}}
---
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: KubeadmControlPlane
metadata: {name: eu-1-cp, namespace: prod}
spec:
  replicas: %[1]d
  version: %[3]s
  machineTemplate: {spec: {infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: DevMachineTemplate, name: m}}}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineDeployment
metadata: {name: eu-1-md-0, namespace: prod}
spec:
  clusterName: eu-1
  replicas: %[2]d
  template:
    spec:
      clusterName: eu-1
      version: %[3]s
      bootstrap: {configRef: {apiGroup: bootstrap.cluster.x-k8s.io, kind: KubeadmConfigTemplate, name: w}}
      infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: DevMachineTemplate, name: m}
---
apiVersion: bootstrap.cluster.x-k8s.io/v1beta2
kind: KubeadmConfigTemplate
metadata: {name: w, namespace: prod}
spec: {template: {spec: {joinConfiguration: {nodeRegistration: {criSocket: unix:///run/containerd/containerd.sock}}}}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DevMachineTemplate
metadata: {name: m, namespace: prod}
spec:
  template:
    spec:
      backend:
        inMemory:
          vm: {provisioning: {startupDuration: "10s"}}
          node: {provisioning: {startupDuration: "5s"}}
          apiServer: {provisioning: {startupDuration: "2s"}}
          etcd: {provisioning: {startupDuration: "2s"}}
`

// A clusterSpec is what Git asks for.
type clusterSpec struct {
	controlPlanes, workers int
	version                string
	gone                   bool
}

func (w clusterSpec) cluster(t testing.TB) *fleet.Cluster {
	t.Helper()
	return decoded(t, w.manifests())
}

func (w clusterSpec) manifests() string {
	return fmt.Sprintf(manifests, w.controlPlanes, w.workers, w.version, w.gone)
}

func decoded(t testing.TB, yaml string) *fleet.Cluster {
	t.Helper()
	var objects []render.Object
	for doc := range strings.SplitSeq(yaml, "\n---\n") {
		objects = append(objects, render.Object{File: "all.yaml", YAML: []byte(doc)})
	}
	clusters, problems := decode.New("test", inmemory.Kinds()).Decode("clusters/eu-1", objects)
	if len(problems) > 0 || len(clusters) != 1 {
		t.Fatalf("decoded %d clusters with problems %v", len(clusters), problems)
	}
	return &clusters[0]
}

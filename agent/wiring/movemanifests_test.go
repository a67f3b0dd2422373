package wiring

import (
	"strings"
	"sync"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/inmemory"
	"fairlead.dev/render"
	"fairlead.dev/render/decode"
)

// decodedClusters are those of the fleet, decoded once.
var decodedClusters = sync.OnceValue(func() []fleet.Cluster {
	var out []fleet.Cluster
	for _, k := range allKeys() {
		var objects []render.Object
		text := strings.NewReplacer("NAMESPACE", k.Namespace, "NAME", k.Name).Replace(clusterManifests)
		for doc := range strings.SplitSeq(text, "\n---\n") {
			objects = append(objects, render.Object{File: "all.yaml", YAML: []byte(doc)})
		}
		clusters, problems := decode.New("harbour", inmemory.Kinds()).Decode("clusters/"+k.Name, objects)
		if len(problems) > 0 {
			panic(problems[0].String())
		}
		out = append(out, clusters...)
	}
	return out
})

const clusterManifests = `
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: NAME, namespace: NAMESPACE}
spec:
  clusterNetwork: {pods: {cidrBlocks: [192.168.0.0/16]}, services: {cidrBlocks: [10.96.0.0/12]}}
  controlPlaneRef: {apiGroup: controlplane.cluster.x-k8s.io, kind: KubeadmControlPlane, name: NAME-cp}
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: DevCluster, name: NAME}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DevCluster
metadata: {name: NAME, namespace: NAMESPACE}
spec: {backend: {inMemory: {}}}
---
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: KubeadmControlPlane
metadata: {name: NAME-cp, namespace: NAMESPACE}
spec:
  replicas: 1
  version: v1.34.1
  machineTemplate: {spec: {infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: DevMachineTemplate, name: m}}}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineDeployment
metadata: {name: NAME-md-0, namespace: NAMESPACE}
spec:
  clusterName: NAME
  replicas: 1
  template:
    spec:
      clusterName: NAME
      version: v1.34.1
      bootstrap: {configRef: {apiGroup: bootstrap.cluster.x-k8s.io, kind: KubeadmConfigTemplate, name: w}}
      infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: DevMachineTemplate, name: m}
---
apiVersion: bootstrap.cluster.x-k8s.io/v1beta2
kind: KubeadmConfigTemplate
metadata: {name: w, namespace: NAMESPACE}
spec: {template: {spec: {joinConfiguration: {nodeRegistration: {criSocket: unix:///run/containerd/containerd.sock}}}}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DevMachineTemplate
metadata: {name: m, namespace: NAMESPACE}
spec: {template: {spec: {backend: {inMemory: {vm: {provisioning: {startupDuration: 5s}}}}}}}
`

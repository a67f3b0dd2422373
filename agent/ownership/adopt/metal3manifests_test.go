package adopt_test

import "strings"

// metal3Manifests is the cluster of manifests on bare metal.
var metal3Manifests = func() string {
	docs := strings.Split(strings.ReplaceAll(manifests, "DevCluster", "Metal3Cluster"), "\n---\n")
	for i, d := range docs {
		switch {
		case strings.Contains(d, "kind: Metal3Cluster\n"):
			docs[i] = metal3Cluster
		case strings.Contains(d, "kind: DevMachineTemplate\n"):
			docs[i] = metal3MachineTemplate
		}
	}
	return strings.ReplaceAll(strings.Join(docs, "\n---\n"), "DevMachineTemplate", "Metal3MachineTemplate")
}()

const metal3Cluster = `
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: Metal3Cluster
metadata: {name: eu-1}
spec: {cloudProviderEnabled: false}
---
apiVersion: ipam.metal3.io/v1alpha1
kind: IPPool
metadata: {name: nodes}
spec: {pools: [{start: 10.7.0.10, end: 10.7.0.20}], prefix: 24, gateway: 10.7.0.1, namePrefix: nodes}
---
apiVersion: ipam.metal3.io/v1alpha1
kind: IPPool
metadata: {name: of-others}
spec: {pools: [{start: 10.8.0.10, end: 10.8.0.20}], prefix: 24, namePrefix: of-others}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: Metal3DataTemplate
metadata: {name: nodes}
spec:
  clusterName: eu-1
  metaData:
    objectNames: [{key: name, object: machine}]
    indexes: [{key: number, offset: 1}]
    ipAddressesFromPool: [{key: address, name: nodes, kind: IPPool, apiGroup: ipam.metal3.io}]
`

const metal3MachineTemplate = `
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: Metal3MachineTemplate
metadata: {name: eu-1}
spec:
  nodeReuse: false
  template:
    spec:
      automatedCleaningMode: disabled
      dataTemplate: {name: nodes}
      hostSelector: {matchLabels: {rack: a}}
      image: {url: "http://10.0.0.1/node.raw", checksum: "0000000000000000000000000000000000000000000000000000000000000000", checksumType: sha256, diskFormat: raw}
`

const anyCRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %s.%s}
spec:
  group: %s
  names: {kind: %s, listKind: %sList, plural: %s, singular: %s}
  scope: Namespaced
  versions:
    - name: v1alpha1
      served: true
      storage: true
      subresources: {status: {}}
      schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

package api_test

import (
	"strings"
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/vsphere/api"
	"fairlead.dev/render"
	"fairlead.dev/render/decode"
)

// zoned is a cluster with zones: a and b of its vCenter, c of another one, and d that its
// selector does not select.
const zoned = `
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: c, namespace: prod}
spec:
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: VSphereCluster, name: c}
  controlPlaneRef: {apiGroup: controlplane.cluster.x-k8s.io, kind: KubeadmControlPlane, name: c}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: VSphereCluster
metadata: {name: c, namespace: prod}
spec:
  server: https://VC.example.com/sdk
  thumbprint: "aa:01:02:03:04:05:06:07:08:09:0a:0b:0c:0d:0e:0f:10:11:12:13"
  controlPlaneEndpoint: {host: 10.0.0.10}
  identityRef: {kind: VSphereClusterIdentity, name: team}
  failureDomainSelector: {matchLabels: {env: prod}}
---
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: KubeadmControlPlane
metadata: {name: c, namespace: prod}
spec:
  version: v1.34.1
  replicas: 3
  machineTemplate: {spec: {infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: VSphereMachineTemplate, name: c}}}
  kubeadmConfigSpec: {}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: VSphereMachineTemplate
metadata: {name: c, namespace: prod}
spec:
  template:
    spec:
      template: /DC0/vm/ubuntu
      datacenter: DC9
      folder: of-machine
      resourcePool: of-machine
      datastore: of-machine
      network:
        devices:
        - {networkName: front, dhcp4: true, nameservers: [10.0.0.2]}
        - {networkName: back, dhcp4: true, mtu: 9000}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: VSphereDeploymentZone
metadata: {name: b, labels: {env: prod}}
spec: {server: "vc.example.com:443", failureDomain: fd-b, controlPlane: false}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: VSphereDeploymentZone
metadata: {name: a, labels: {env: prod}}
spec: {failureDomain: fd-a, placementConstraint: {folder: of-zone, resourcePool: of-zone}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: VSphereDeploymentZone
metadata: {name: c, labels: {env: prod}}
spec: {server: other.example.com, failureDomain: fd-b}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: VSphereDeploymentZone
metadata: {name: d}
spec: {server: vc.example.com, failureDomain: fd-b}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: VSphereFailureDomain
metadata: {name: fd-a}
spec:
  region: {name: eu, type: Datacenter, tagCategory: k8s-region, autoConfigure: false}
  zone: {name: eu-a, type: ComputeCluster, tagCategory: k8s-zone}
  topology:
    datacenter: DC0
    computeCluster: C0
    datastore: of-zone
    networkConfigurations:
    - {networkName: zone-front, dhcp4: false, addressesFromPools: [{kind: GlobalInClusterIPPool, name: pool}]}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: VSphereFailureDomain
metadata: {name: fd-b}
spec:
  region: {name: eu, type: Datacenter, tagCategory: k8s-region}
  zone: {name: eu-b, type: HostGroup, tagCategory: k8s-zone}
  topology:
    datacenter: DC1
    computeCluster: C1
    hosts: {vmGroupName: vms, hostGroupName: hosts}
    networks: [one, two]
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: VSphereClusterIdentity
metadata: {name: team}
spec: {secretName: vcenter, allowedNamespaces: {selector: {matchLabels: {team: a}}}}
---
apiVersion: v1
kind: Namespace
metadata: {name: prod, labels: {team: a}}
---
apiVersion: ipam.cluster.x-k8s.io/v1alpha2
kind: GlobalInClusterIPPool
metadata: {name: pool}
spec: {addresses: [10.1.0.20-10.1.0.99], prefix: 24, gateway: 10.1.0.1}
`

// decoded decodes text, changed, as an overlay with one cluster.
func decoded(t *testing.T, text string, change ...string) (*fleet.Cluster, []fleet.Problem) {
	t.Helper()
	var objects []render.Object
	for doc := range strings.SplitSeq(strings.NewReplacer(change...).Replace(text), "\n---\n") {
		objects = append(objects, render.Object{File: "f.yaml", YAML: []byte(doc)})
	}
	clusters, problems := decode.New("f", api.Kinds()).Decode("o", objects)
	if len(clusters) != 1 {
		return nil, problems
	}
	return &clusters[0], problems
}

func cluster(t *testing.T, change ...string) (*fleet.Cluster, *api.VSphereClusterSpec) {
	t.Helper()
	c, problems := decoded(t, zoned, change...)
	if len(problems) > 0 || c == nil {
		t.Fatalf("decoding: %v", problems)
	}
	s, err := api.ReadCluster(c.Infrastructure)
	if err != nil {
		t.Fatal(err)
	}
	return c, s
}

package adopt_test

import (
	"strings"
)

// openStackManifests is the cluster of manifests on OpenStack.
var openStackManifests = func() string {
	docs := strings.Split(strings.ReplaceAll(manifests, "DevCluster", "OpenStackCluster"), "\n---\n")
	for i, d := range docs {
		switch {
		case strings.Contains(d, "kind: OpenStackCluster\n"):
			docs[i] = openStackCluster
		case strings.Contains(d, "kind: DevMachineTemplate\n"):
			docs[i] = openStackMachineTemplate
		}
	}
	return strings.ReplaceAll(strings.Join(docs, "\n---\n"), "DevMachineTemplate", "OpenStackMachineTemplate")
}()

const openStackCluster = `
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: OpenStackCluster
metadata: {name: eu-1}
spec:
  identityRef: {type: Secret, name: cloud-config, cloudName: openstack}
  managedSubnets: [{cidr: 10.6.0.0/24}]
  managedSecurityGroups: {}
  apiServer: {managedLoadBalancer: {enabled: true}}
  tags: [team-web]
`

const openStackMachineTemplate = `
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: OpenStackMachineTemplate
metadata: {name: eu-1}
spec:
  template:
    spec:
      identityRef: {type: Secret, name: cloud-config, cloudName: openstack}
      flavor: {filter: {name: m1.small}}
      image: {filter: {name: ubuntu}}
      rootVolume: {sizeGiB: 10}
`

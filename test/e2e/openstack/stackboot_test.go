package openstack_test

import (
	"encoding/base64"
	"net"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/inmemory"
	ost "fairlead.dev/providers/infrastructure/openstack/openstacktest"
)

// twoProjects is a cluster with workers in the project of the identity Spare, if any.
const twoProjects = `
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata:
  name: eu-1
  namespace: prod
  annotations: {fairlead.dev/delete: "{{.Delete}}", fairlead.dev/forget-place: "{{.Forget}}"}
spec:
  clusterNetwork: {pods: {cidrBlocks: [192.168.0.0/16]}, services: {cidrBlocks: [10.96.0.0/12]}}
  controlPlaneRef: {apiGroup: controlplane.cluster.x-k8s.io, kind: KubeadmControlPlane, name: cp}
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: OpenStackCluster, name: eu-1}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: OpenStackCluster
metadata: {name: eu-1, namespace: prod}
spec:
  identityRef: {name: home, cloudName: openstack}
  managedSubnets: [{cidr: 10.6.0.0/24}]
  managedSecurityGroups: {}
  apiServer: {managedLoadBalancer: {}}
---
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: KubeadmControlPlane
metadata: {name: cp, namespace: prod}
spec:
  replicas: 1
  version: v1.34.1
  machineTemplate: {spec: {infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: OpenStackMachineTemplate, name: home}}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: OpenStackMachineTemplate
metadata: {name: home, namespace: prod}
spec: {template: {spec: {flavor: {filter: {name: m1.small}}, image: {filter: {name: ubuntu}}}}}
---
apiVersion: bootstrap.cluster.x-k8s.io/v1beta2
kind: KubeadmConfigTemplate
metadata: {name: w, namespace: prod}
spec: {template: {spec: {joinConfiguration: {nodeRegistration: {criSocket: unix:///run/containerd/containerd.sock}}}}}
{{- range .Pools}}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineDeployment
metadata: {name: {{.Name}}, namespace: prod}
spec:
  clusterName: eu-1
  replicas: 2
  template:
    spec:
      clusterName: eu-1
      version: v1.34.1
      bootstrap: {configRef: {apiGroup: bootstrap.cluster.x-k8s.io, kind: KubeadmConfigTemplate, name: w}}
      infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: OpenStackMachineTemplate, name: {{.Name}}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: OpenStackMachineTemplate
metadata: {name: {{.Name}}, namespace: prod}
spec:
  template:
    spec:
      identityRef: {name: {{.Identity}}, cloudName: openstack}
      flavor: {filter: {name: m1.small}}
      image: {filter: {name: ubuntu}}
      ports: [{network: {filter: {name: theirs}}, enablePortSecurity: false}]
{{- end}}
{{- range $name, $yaml := .Secrets}}
---
apiVersion: v1
kind: Secret
metadata: {name: {{$name}}, namespace: prod}
data: {clouds.yaml: {{$yaml}}}
{{- end}}
`

// boot brings the in-memory machines in line with the servers.
func (s *stack) boot() {
	s.Helper()
	there := make(map[string]bool)
	for _, o := range s.cloud.Objects(ost.Servers) {
		there[o.ID()] = true
		if s.booted[o.ID()] || o.String("status") != "ACTIVE" {
			continue
		}
		s.booted[o.ID()] = true
		data, err := base64.StdEncoding.DecodeString(o.String("OS-EXT-SRV-ATTR:user_data"))
		if err != nil {
			s.Fatal(err)
		}
		spec := inmemory.VMSpec{ID: o.ID(), Name: o.String("name"), Version: "v1.34.1", UserData: data, Provider: fleet.ProviderID("openstack:///" + o.ID())}
		endpoint, _, err := inmemory.BootEndpoint(spec)
		if err != nil {
			s.Fatal(err)
		}
		if s.networks[endpoint] == "" {
			host, _, err := net.SplitHostPort(endpoint)
			if err != nil {
				s.Fatal(err)
			}
			n, err := s.boots.CreateNetwork(s.Context(), inmemory.NetworkSpec{Name: "eu-1", Endpoint: fleet.Endpoint{Host: host, Port: 6443}})
			if err != nil {
				s.Fatal(err)
			}
			s.networks[endpoint] = n.ID
		}
		spec.Network = s.networks[endpoint]
		if _, err := s.boots.CreateVM(s.Context(), spec); err != nil {
			s.Fatal(err)
		}
	}
	for id := range s.booted {
		if !there[id] {
			if err := s.boots.DeleteVM(s.Context(), id); err != nil && fleet.KindOf(err) != fleet.NotFound {
				s.Fatal(err)
			}
			delete(s.booted, id)
		}
	}
}

package main

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

const namespace = "default"

// fleetOf returns the objects of cluster i: one control-plane machine and one worker, as the
// clusters of benchfleet have, and nothing in the simulated cloud takes time. The controller
// of a DevCluster panics if that has no annotation.
func fleetOf(i int) ([]*unstructured.Unstructured, error) {
	out, err := objects(fmt.Sprintf(`apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: %[1]s}
spec:
  clusterNetwork:
    pods: {cidrBlocks: [192.168.0.0/16]}
    services: {cidrBlocks: [10.96.0.0/12]}
  controlPlaneRef: {apiGroup: controlplane.cluster.x-k8s.io, kind: KubeadmControlPlane, name: %[1]s-cp}
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: DevCluster, name: %[1]s}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DevCluster
metadata: {name: %[1]s, annotations: {bench: ""}}
spec: {backend: {inMemory: {}}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DevMachineTemplate
metadata: {name: %[1]s}
spec:
  template:
    spec:
      backend:
        inMemory:
          vm: {provisioning: {startupDuration: 0s}}
          node: {provisioning: {startupDuration: 0s}}
          apiServer: {provisioning: {startupDuration: 0s}}
          etcd: {provisioning: {startupDuration: 0s}}
---
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: KubeadmControlPlane
metadata: {name: %[1]s-cp}
spec:
  replicas: 1
  version: %[2]s
  machineTemplate:
    spec:
      infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: DevMachineTemplate, name: %[1]s}
---
apiVersion: bootstrap.cluster.x-k8s.io/v1beta2
kind: KubeadmConfigTemplate
metadata: {name: %[1]s}
spec:
  template:
    spec:
      joinConfiguration:
        nodeRegistration:
          criSocket: unix:///var/run/containerd/containerd.sock
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineDeployment
metadata: {name: %[1]s-md}
spec:
  clusterName: %[1]s
  replicas: 1
  template:
    spec:
      clusterName: %[1]s
      version: %[2]s
      bootstrap:
        configRef: {apiGroup: bootstrap.cluster.x-k8s.io, kind: KubeadmConfigTemplate, name: %[1]s}
      infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: DevMachineTemplate, name: %[1]s}
`, fmt.Sprintf("c%04d", i), "v1.34.1"))
	for _, o := range out {
		o.SetNamespace(namespace)
	}
	return out, err
}

// createFleet creates n clusters, some at a time.
func createFleet(ctx context.Context, c dynamic.Interface, n int) error {
	const atOnce = 10
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(atOnce)
	for i := range n {
		g.Go(func() error {
			objects, err := fleetOf(i)
			if err != nil {
				return err
			}
			for _, o := range objects {
				if err := create(ctx, c, o); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return g.Wait()
}

// running returns how many machines run and have a node.
func running(ctx context.Context, c dynamic.Interface) (n int, err error) {
	machines := c.Resource(schema.GroupVersionResource{Group: "cluster.x-k8s.io", Version: "v1beta2", Resource: "machines"})
	list, err := machines.Namespace(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return 0, err
	}
	for _, m := range list.Items {
		phase, _, _ := unstructured.NestedString(m.Object, "status", "phase")
		node, _, _ := unstructured.NestedString(m.Object, "status", "nodeRef", "name")
		if phase == "Running" && node != "" {
			n++
		}
	}
	return n, nil
}

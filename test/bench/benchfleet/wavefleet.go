package main

import (
	"fmt"
	"strings"
	"time"
)

// A ring is a stage of the fleet: clusters up to an index, of which so many may be changed at
// once.
type ring struct {
	name   string
	to     int
	limit  int
	atOnce string // as fleet.yaml says it
}

// rings are the five stages of a fleet of n clusters.
func rings(n int) []ring {
	out := []ring{
		{name: "canary", to: max(2, n*5/100), limit: max(1, n/200)},
		{name: "early", to: n * 15 / 100, limit: max(2, n/100)},
		{name: "third", to: n * 40 / 100, limit: max(3, n/40)},
		{name: "fourth", to: n * 70 / 100, limit: max(4, n/25)},
		{name: "last", to: n, limit: (n - n*70/100) / 4, atOnce: "25%"},
	}
	for i, r := range out {
		if r.atOnce == "" {
			out[i].atOnce = fmt.Sprint(r.limit)
		}
	}
	return out
}

// ringOf returns the index of the ring of cluster i.
func ringOf(all []ring, i int) int {
	for at, r := range all {
		if i < r.to {
			return at
		}
	}
	return len(all) - 1
}

// waveDeadline is after how long a cluster of a fleet of n has failed.
func waveDeadline(n int) time.Duration {
	return max(20*time.Second, time.Duration(n)*60*time.Millisecond)
}

// waveConfig is fleet.yaml of a fleet of n clusters.
func waveConfig(n int) string {
	var b strings.Builder
	b.WriteString("apiVersion: fairlead.dev/v1alpha1\nkind: Fleet\nspec:\n  clusters: {include: [\"clusters/**\", \"classes/**\"]}\n  rollout:\n    stages:\n")
	for _, r := range rings(n) {
		fmt.Fprintf(&b, "    - {name: %[1]s, select: {matchLabels: {ring: %[1]s}}, atOnce: %[2]s, deadline: %[3]s}\n", r.name, r.atOnce, waveDeadline(n))
	}
	return b.String()
}

// waveCluster is a cluster of the class. Machines of one with a startup take that time to start
// once the class is changed.
func waveCluster(name, ring, startup string) map[string]string {
	variables := ""
	if startup != "" {
		variables = fmt.Sprintf("\n    variables: [{name: startup, value: %s}]", startup)
	}
	return map[string]string{
		"kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [cluster.yaml]\n",
		"cluster.yaml": fmt.Sprintf(`apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata:
  name: %s
  namespace: default
  labels: {ring: %s}
spec:
  clusterNetwork:
    pods: {cidrBlocks: [192.168.0.0/16]}
    services: {cidrBlocks: [10.96.0.0/12]}
  topology:
    classRef: {name: bench, namespace: classes}
    version: %s
    controlPlane: {replicas: 1}
    workers:
      machineDeployments: [{class: worker, name: md, replicas: 1}]%s
`, name, ring, oldVersion, variables),
	}
}

// waveClass is the class; the changed one makes other machines.
func waveClass(changed bool) map[string]string {
	patches := ""
	if changed {
		patches = `
  patches:
  - name: startup
    definitions:
    - selector:
        apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
        kind: DevMachineTemplate
        matchResources: {controlPlane: true, machineDeploymentClass: {names: ["*"]}}
      jsonPatches:
      - {op: add, path: /spec/template/spec/backend/inMemory/vm/provisioning/startupDuration, valueFrom: {variable: startup}}`
	}
	return map[string]string{
		"kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nnamespace: classes\nresources: [class.yaml]\n",
		"class.yaml": `apiVersion: cluster.x-k8s.io/v1beta2
kind: ClusterClass
metadata: {name: bench}
spec:
  infrastructure:
    templateRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: DevClusterTemplate, name: bench}
  controlPlane:
    templateRef: {apiVersion: controlplane.cluster.x-k8s.io/v1beta2, kind: KubeadmControlPlaneTemplate, name: bench}
    machineInfrastructure:
      templateRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: DevMachineTemplate, name: bench}
    healthCheck: {checks: {nodeStartupTimeoutSeconds: 60}} # what does not start is given up before it is mended
  workers:
    machineDeployments:
    - class: worker
      bootstrap:
        templateRef: {apiVersion: bootstrap.cluster.x-k8s.io/v1beta2, kind: KubeadmConfigTemplate, name: bench}
      infrastructure:
        templateRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: DevMachineTemplate, name: bench}
  variables:
  - name: startup
    schema: {openAPIV3Schema: {type: string, default: 1ms}}` + patches + `
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DevClusterTemplate
metadata: {name: bench}
spec: {template: {spec: {backend: {inMemory: {}}}}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DevMachineTemplate
metadata: {name: bench}
spec: {template: {spec: {backend: {inMemory: {vm: {provisioning: {startupDuration: "0s"}}}}}}}
---
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: KubeadmControlPlaneTemplate
metadata: {name: bench}
spec: {template: {spec: {kubeadmConfigSpec: {clusterConfiguration: {}}}}}
---
apiVersion: bootstrap.cluster.x-k8s.io/v1beta2
kind: KubeadmConfigTemplate
metadata: {name: bench}
spec:
  template:
    spec:
      joinConfiguration:
        nodeRegistration: {criSocket: unix:///var/run/containerd/containerd.sock}
`,
	}
}

// waveFiles are the class and clusters [from, to) of a fleet of n.
func waveFiles(n, from, to int, changed bool, slow map[int]string) map[string]string {
	files := map[string]string{"fleet.yaml": waveConfig(n)}
	for path, content := range waveClass(changed) {
		files["classes/bench/"+path] = content
	}
	all := rings(n)
	for i := from; i < to; i++ {
		for path, content := range waveCluster(name(i), all[ringOf(all, i)].name, slow[i]) {
			files["clusters/"+name(i)+"/"+path] = content
		}
	}
	return files
}

package pivot_test

import (
	"slices"
	"strings"
	"testing"

	"fairlead.dev/agent"
	"fairlead.dev/agent/ownership"
	"fairlead.dev/fleet"
)

// ofK3s are the files of prod/eu-1 as a cluster of K3s.
func ofK3s() map[string]string {
	return map[string]string{
		"clusters/prod/eu-1/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nnamespace: prod\nresources: [cluster.yaml]\n",
		"clusters/prod/eu-1/cluster.yaml": `
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: eu-1}
spec:
  controlPlaneRef: {apiGroup: controlplane.cluster.x-k8s.io, kind: KThreesControlPlane, name: eu-1-cp}
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: DevCluster, name: eu-1}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DevCluster
metadata: {name: eu-1}
spec: {backend: {inMemory: {}}}
---
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: KThreesControlPlane
metadata: {name: eu-1-cp}
spec:
  replicas: 1
  version: v1.33.5+k3s1
  machineTemplate: {infrastructureRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: DevMachineTemplate, name: eu-1}}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineDeployment
metadata: {name: eu-1-md-0}
spec:
  clusterName: eu-1
  replicas: 1
  template:
    spec:
      clusterName: eu-1
      version: v1.33.5+k3s1
      bootstrap: {configRef: {apiGroup: bootstrap.cluster.x-k8s.io, kind: KThreesConfigTemplate, name: eu-1}}
      infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: DevMachineTemplate, name: eu-1}
---
apiVersion: bootstrap.cluster.x-k8s.io/v1beta2
kind: KThreesConfigTemplate
metadata: {name: eu-1}
spec: {template: {spec: {}}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DevMachineTemplate
metadata: {name: eu-1}
spec: {template: {spec: {backend: {inMemory: {}}}}}
`,
	}
}

// ofRKE2 are the same files of a cluster of RKE2.
func ofRKE2() map[string]string {
	files := ofK3s()
	for name, text := range files {
		files[name] = strings.NewReplacer("KThrees", "RKE2", "+k3s1", "+rke2r1",
			"machineTemplate: {infrastructureRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: DevMachineTemplate, name: eu-1}}",
			"machineTemplate: {spec: {infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: DevMachineTemplate, name: eu-1}}}\n"+
				"  registrationMethod: control-plane-endpoint",
		).Replace(text)
	}
	return files
}

// TestPivotOfK3s moves a fleet with a cluster of K3s into its home and back: its server
// token and its two authorities go with it, and no machine is touched.
func TestPivotOfK3s(t *testing.T) { pivotOf(t, ofK3s()) }

// TestPivotOfRKE2 does so with RKE2, whose members are asked for at a port of their own.
func TestPivotOfRKE2(t *testing.T) { pivotOf(t, ofRKE2()) }

// pivotOf moves the fleet with these files into its home and back.
func pivotOf(t *testing.T, files map[string]string) {
	t.Helper()
	w := newWorldOf(t, files)
	stop := w.local(agent.Options{})
	w.await("two clusters", w.provisioned)
	stop()
	before := w.machines()
	w.kubelet.start()
	for _, home := range []bool{true, false} {
		if _, err := w.move(home, ""); err != nil {
			t.Fatal(err)
		}
		owner := map[bool]string{true: ownership.AgentOf(away()), false: laptop}[home]
		if s := w.status(); s.Owner.Agent != owner || s.Next != (fleet.Succession{}) {
			t.Fatalf("the owner is %+v, the succession %+v; want %s", s.Owner, s.Next, owner)
		}
		w.await("a calm fleet", w.provisioned)
		if got := w.machines(); !slices.Equal(got, before) {
			t.Fatalf("the machines became %v, they were %v", got, before)
		}
	}
	if len(w.foreign) > 0 {
		t.Fatalf("somebody acted who did not own the fleet: %v", w.foreign)
	}
}

package decode

import (
	"testing"

	"fairlead.dev/fleet"

	"fairlead.dev/render"
	"github.com/google/go-cmp/cmp"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

func TestConvertedByHand(t *testing.T) {
	d := New("f", nil)
	read := func(manifest string) any {
		t.Helper()
		o := d.read("x", render.Object{YAML: []byte(manifest)})
		for _, p := range o.problems {
			t.Fatal(p)
		}
		return o.value
	}
	ref := func(group, kind, name string) clusterv1.ContractVersionedObjectReference {
		return clusterv1.ContractVersionedObjectReference{APIGroup: group, Kind: kind, Name: name}
	}
	ten := int32(600)
	cluster := read(`
apiVersion: cluster.x-k8s.io/v1beta1
kind: Cluster
metadata: {name: a}
spec:
  controlPlaneRef: {apiVersion: c.io/v1, kind: C, name: c}
  infrastructureRef: {apiVersion: i.io/v1, kind: I, name: i}
`).(*clusterv1.Cluster)
	if diff := cmp.Diff(ref("c.io", "C", "c"), cluster.Spec.ControlPlaneRef); diff != "" {
		t.Errorf("controlPlaneRef: -want +got:\n%s", diff)
	}
	if diff := cmp.Diff(ref("i.io", "I", "i"), cluster.Spec.InfrastructureRef); diff != "" {
		t.Errorf("infrastructureRef: -want +got:\n%s", diff)
	}
	deployment := read(`
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineDeployment
metadata: {name: a}
spec:
  clusterName: a
  minReadySeconds: 600
  template:
    spec:
      clusterName: a
      version: 1.34.1
      bootstrap: {configRef: {apiVersion: b.io/v1, kind: B, name: b}}
      infrastructureRef: {apiVersion: i.io/v1, kind: I, name: i}
`).(*clusterv1.MachineDeployment).Spec.Template.Spec
	if diff := cmp.Diff(ref("b.io", "B", "b"), deployment.Bootstrap.ConfigRef); diff != "" {
		t.Errorf("configRef: -want +got:\n%s", diff)
	}
	if diff := cmp.Diff(ref("i.io", "I", "i"), deployment.InfrastructureRef); diff != "" {
		t.Errorf("infrastructureRef: -want +got:\n%s", diff)
	}
	if diff := cmp.Diff(&ten, deployment.MinReadySeconds); diff != "" {
		t.Errorf("minReadySeconds: -want +got:\n%s", diff)
	}
	controlPlane := read(`
apiVersion: controlplane.cluster.x-k8s.io/v1beta1
kind: KubeadmControlPlane
metadata: {name: a}
spec:
  version: 1.34.1
  machineTemplate: {infrastructureRef: {apiVersion: i.io/v1, kind: I, name: i}}
  kubeadmConfigSpec:
    clusterConfiguration: {apiServer: {timeoutForControlPlane: 10m}}
    joinConfiguration: {discovery: {timeout: 10m}}
`).(*fleet.ControlPlaneManifest).Object.(*controlplanev1.KubeadmControlPlane).Spec
	if diff := cmp.Diff(ref("i.io", "I", "i"), controlPlane.MachineTemplate.Spec.InfrastructureRef); diff != "" {
		t.Errorf("infrastructureRef: -want +got:\n%s", diff)
	}
	timeouts := [3]*int32{
		controlPlane.KubeadmConfigSpec.InitConfiguration.Timeouts.ControlPlaneComponentHealthCheckSeconds,
		controlPlane.KubeadmConfigSpec.JoinConfiguration.Timeouts.ControlPlaneComponentHealthCheckSeconds,
		controlPlane.KubeadmConfigSpec.JoinConfiguration.Timeouts.TLSBootstrapSeconds,
	}
	if diff := cmp.Diff([3]*int32{&ten, &ten, &ten}, timeouts); diff != "" {
		t.Errorf("timeouts: -want +got:\n%s", diff)
	}
	template := specOf(read(`
apiVersion: bootstrap.cluster.x-k8s.io/v1beta1
kind: KubeadmConfigTemplate
metadata: {name: a}
spec: {template: {spec: {joinConfiguration: {discovery: {timeout: 10m}}}}}
`))
	if diff := cmp.Diff(&ten, template.JoinConfiguration.Timeouts.TLSBootstrapSeconds); diff != "" {
		t.Errorf("timeout: -want +got:\n%s", diff)
	}
}

package all_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/providers/all"
)

func TestRegistry(t *testing.T) {
	r, err := all.Registry()
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"aws", "azure", "docker", "hosts", "inmemory", "maas", "metal3", "openstack", "vsphere"}, r.Names()); d != "" {
		t.Errorf("names: %s", d)
	}
	var kinds []string
	for _, k := range r.Kinds() {
		kinds = append(kinds, k.Provider+k.Distribution+" "+k.Kind)
	}
	if d := cmp.Diff([]string{
		"aws AWSCluster", "aws AWSClusterTemplate", "aws AWSMachine", "aws AWSMachineTemplate", "aws AWSMachinePool",
		"aws AWSManagedCluster", "aws AWSManagedClusterTemplate", "aws AWSManagedMachinePool", "aws AWSFargateProfile",
		"aws AWSClusterRoleIdentity", "aws AWSClusterStaticIdentity", "aws AWSClusterControllerIdentity",
		"azure AzureCluster", "azure AzureClusterTemplate", "azure AzureMachine", "azure AzureMachineTemplate", "azure AzureMachinePool",
		"azure AzureManagedCluster", "azure AzureManagedClusterTemplate", "azure AzureManagedMachinePool", "azure AzureManagedMachinePoolTemplate", "azure AzureClusterIdentity",
		"docker DockerCluster", "docker DockerClusterTemplate", "docker DevCluster", "docker DevClusterTemplate", "docker DockerMachine", "docker DockerMachineTemplate", "docker DevMachine", "docker DevMachineTemplate",
		"docker DockerMachinePool", "docker DockerMachinePoolTemplate", "docker DevMachinePool", "docker DevMachinePoolTemplate",
		"hosts HostCluster", "hosts HostClusterTemplate", "hosts HostMachine", "hosts HostMachineTemplate", "hosts HostPool", "hosts Host",
		"inmemory InClusterIPPool", "inmemory GlobalInClusterIPPool", "inmemory DevCluster", "inmemory DevClusterTemplate", "inmemory DevMachineTemplate", "inmemory DevMachine", "inmemory DevMachinePool",
		"maas MaasCluster", "maas MaasClusterTemplate", "maas MaasMachine", "maas MaasMachineTemplate",
		"metal3 Metal3Cluster", "metal3 Metal3ClusterTemplate", "metal3 Metal3MachineTemplate", "metal3 Metal3DataTemplate", "metal3 IPPool", "metal3 BareMetalHost",
		"metal3 HostFirmwareSettings", "metal3 HostFirmwareComponents", "metal3 Metal3RemediationTemplate", "metal3 InClusterIPPool", "metal3 GlobalInClusterIPPool",
		"openstack OpenStackCluster", "openstack OpenStackClusterTemplate", "openstack OpenStackMachineTemplate", "openstack OpenStackMachine",
		"openstack OpenStackClusterIdentity", "openstack OpenStackFloatingIPPool", "openstack Image",
		"vsphere VSphereCluster", "vsphere VSphereClusterTemplate", "vsphere VSphereMachine", "vsphere VSphereMachineTemplate",
		"vsphere VSphereClusterIdentity", "vsphere VSphereFailureDomain", "vsphere VSphereDeploymentZone",
		"vsphere InClusterIPPool", "vsphere GlobalInClusterIPPool",
		"k3s KThreesControlPlane", "k3s KThreesControlPlaneTemplate", "k3s KThreesConfig", "k3s KThreesConfigTemplate",
		"rke2 RKE2ControlPlane", "rke2 RKE2ControlPlaneTemplate", "rke2 RKE2Config", "rke2 RKE2ConfigTemplate",
		"kubeadm ExternalControlPlane", "eks AWSManagedControlPlane", "eks AWSManagedControlPlaneTemplate", "eks NodeadmConfig", "eks NodeadmConfigTemplate", "aks AzureManagedControlPlane", "aks AzureManagedControlPlaneTemplate",
	}, kinds); d != "" {
		t.Errorf("kinds: %s", d)
	}
}

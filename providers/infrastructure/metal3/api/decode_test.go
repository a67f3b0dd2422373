package api_test

import (
	"testing"

	"fairlead.dev/providers/infrastructure/metal3/api"
	"fairlead.dev/test/run/kindstest"
)

// TestKindsThatAreRefused: what a controller of Metal3 writes, or what nothing here does, is
// refused by its name with the way out.
func TestKindsThatAreRefused(t *testing.T) {
	const capm3, ipam, bmo = "infrastructure.cluster.x-k8s.io/v1beta2", "ipam.metal3.io/v1alpha1", "metal3.io/v1alpha1"
	kindstest.Refused(t, api.Kinds(), [][3]string{
		{capm3, "Metal3Machine", "use a Metal3MachineTemplate"},
		{"infrastructure.cluster.x-k8s.io/v1beta1", "Metal3Machine", "use a Metal3MachineTemplate"},
		{capm3, "Metal3Data", "keep the Metal3DataTemplate"},
		{capm3, "Metal3DataClaim", "keep the Metal3DataTemplate"},
		{capm3, "Metal3Remediation", "MachineHealthCheck"},
		{ipam, "IPClaim", "preAllocations of the IPPool"},
		{ipam, "IPAddress", "preAllocations of the IPPool"},
		{bmo, "HardwareData", "found by its inspection"},
		{bmo, "FirmwareSchema", "remove it from the overlay"},
		{bmo, "PreprovisioningImage", "remove it from the overlay"},
		{bmo, "HostClaim", "use a Metal3MachineTemplate"},
		{bmo, "HostDeployPolicy", "remove it from the overlay"},
		{bmo, "HostUpdatePolicy", "remove it from the overlay"},
		{bmo, "HostNetworkAttachment", "do it by hand"},
		{bmo, "BareMetalSwitch", "do it by hand"},
		{bmo, "BMCEventSubscription", "remove it from the overlay"},
		{bmo, "DataImage", "put what it holds into the image"},
	}...)
}

// TestFieldsThatAreRefused: a field that is known and not honoured is refused with the way out.
func TestFieldsThatAreRefused(t *testing.T) {
	const host = "apiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata: {name: h, namespace: default}\n" +
		"spec:\n  online: true\n  bmc: {address: 'redfish://10.0.0.5', credentialsName: h}\n  "
	const machine = "apiVersion: infrastructure.cluster.x-k8s.io/v1beta2\nkind: Metal3MachineTemplate\nmetadata: {name: m, namespace: default}\n" +
		"spec: {template: {spec: {image: {url: 'http://a/b', checksum: 'http://a/c'}, "
	for _, tc := range []struct{ object, hint string }{
		{host + "consumerRef: {name: m}", "a host is claimed by Fairlead"},
		{host + "image: {url: 'http://a/b'}", "a host is claimed by Fairlead"},
		{host + "userData: {name: u}", "a host is claimed by Fairlead"},
		{host + "networkData: {name: u}", "a host is claimed by Fairlead"},
		{host + "metaData: {name: u}", "a host is claimed by Fairlead"},
		{host + "customDeploy: {method: m}", "a host is claimed by Fairlead"},
		{host + "taints: [{key: a, effect: NoSchedule}]", "into the MachineDeployment"},
		{host + "firmware: {sriovEnabled: true}", "HostFirmwareSettings"},
		{host + "hardwareProfile: unknown", "architecture and rootDeviceHints"},
		{host + "networkInterfaces: [{name: eth0}]", "do it by hand"},
		{machine + "providerID: x}}}", "leave the field out"},
		{machine + "failureDomain: x}}}", "failureDomain into the MachineDeployment"},
		{machine + "userData: {name: x}}}}", "bootstrap configuration"},
		{machine + "metaData: {name: x}}}}", "Metal3DataTemplate"},
		{machine + "networkData: {name: x}}}}", "Metal3DataTemplate"},
	} {
		kindstest.Problem(t, api.Kinds(), tc.object+"\n", tc.hint)
	}
}

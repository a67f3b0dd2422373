// Package api holds the kinds that people write for machines on bare metal: those of Cluster
// API's provider Metal3 (Metal3Cluster, Metal3MachineTemplate, Metal3DataTemplate and so on,
// in v1beta1 and v1beta2), the hosts of its inventory (BareMetalHost and its firmware), and
// pools of addresses. It knows no SDK.
//
// A fleet.Object's Spec holds the spec of the newest version, whichever was read, with
// defaults filled in; [ReadCluster] and its siblings read it back. Each field is honoured or
// refused with the reason and what to write instead.
//
// A machine template names a Metal3DataTemplate. What that says is written into the spec of
// the machine ([MachineSpec]), so that another one of the same content replaces nothing.
//
// The address of a BMC says which driver Ironic speaks to it with:
//
//	bmc, err := api.ParseBMC(host.BMC.Address, !host.BMC.DisableCertificateVerification)
//	...
//	bmc.DriverInfo(username, password)
package api

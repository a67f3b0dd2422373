// Package api holds the kinds that people write for machines that exist already:
// HostCluster, HostMachineTemplate, HostPool and Host. They are Fairlead's own;
// their shape follows Cluster API's contracts for infrastructure.
//
// A fleet.Object's Spec holds a HostClusterSpec, a HostMachineSpec, a HostPoolSpec
// or a HostSpec, with defaults filled in; ReadCluster and its siblings read it back.
package api

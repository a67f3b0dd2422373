// Package vsphere is the infrastructure provider for machines on vSphere, as Cluster API's provider
// vSphere: clones of templates in a vCenter. It combines its packages:
//
//	api       the kinds in Git: VSphereCluster, VSphereMachineTemplate, …
//	vcenter   all requests to a vCenter
//	machine   the specification of a VM, and its next step: pure
//
// All state is in vCenter. An observation is one listing per vCenter and account, which all clusters
// there share. A machine is requested with one call. The steps after the clone are Upkeep, which
// EnsureInfrastructure does: no task is stored, so that a new agent continues where the last one
// ended. Names of VMs are unique in a folder of vCenter, so that nothing is created twice.
//
// Machines share nothing in vCenter. A cluster exists if it has machines, or once this process has
// found everything that its machines need.
package vsphere

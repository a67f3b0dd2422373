// Package vsphere is the infrastructure provider for machines on vSphere, as Cluster API's
// provider vSphere makes them: clones of templates in a vCenter. It puts together what its
// rooms do:
//
//	api       the kinds that people write: VSphereCluster, VSphereMachineTemplate, …
//	vcenter   everything that speaks to a vCenter
//	machine   what a VM is made of, and what is next to be done to it: pure
//
// What it knows is in vCenter. A look is one listing per vCenter and account, which all
// clusters there share. A machine is asked for with one call, and what follows on the clone
// is Upkeep, which EnsureInfrastructure does: no task is stored, so an agent that starts anew
// goes on where the last one ended. Names of VMs are unique in a folder of vCenter, so that
// nothing is made twice.
//
// Machines share nothing in vCenter. That there is a cluster is known by its machines, and by
// this process from the moment that it found everything which the machines need.
package vsphere

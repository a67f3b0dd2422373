// Package metal3 is the infrastructure provider for machines on bare metal, as Cluster API's
// provider Metal3: hosts of an inventory, to which Ironic writes images. It combines its packages:
//
//	api      the kinds in Git: Metal3Cluster, Metal3MachineTemplate, BareMetalHost, …
//	ironic   all requests to an Ironic
//	host     the next step of a host: pure
//	machine  the data of a machine, and of it for Ironic: pure
//
// The inventory is in Git, the state of hosts in Ironic. An observation is one listing per Ironic
// and account, which all clusters there share. EnsureInfrastructure takes the next step of each
// host that may take one, so that a new agent continues where the last one ended.
//
// A machine is created by one request, the claim of a host, with all its data: Ironic gives a host
// to one machine, and a machine one host. Later steps are Upkeep.
//
// If Ironic does not know a host, this proves nothing: it may have lost its database. If the cluster
// remembers a machine on it (see fleet.Residence), the machine is shown, and its host is enrolled and
// adopted again while it runs.
package metal3

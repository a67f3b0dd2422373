// Package metal3 is the infrastructure provider for machines on bare metal, as Cluster API's
// provider Metal3 makes them: hosts of an inventory, to which Ironic writes images. It puts
// together what its rooms do:
//
//	api      the kinds that people write: Metal3Cluster, Metal3MachineTemplate, BareMetalHost, …
//	ironic   everything that speaks to an Ironic
//	host     what is next to be done to a host: pure
//	machine  what a machine is told of itself, and Ironic of it: pure
//
// The inventory is in Git, what is known of it in Ironic. A look is one listing per Ironic and
// account, which all clusters there share. EnsureInfrastructure takes the next step of each
// host that may take one, so an agent that starts anew goes on where the last one ended.
//
// A machine is made by one request, the claim of a host, with all that it is to boot with:
// Ironic gives a host to one machine, and a machine one host. What follows on the claim is
// Upkeep.
//
// That Ironic does not know a host proves nothing: it may have lost its database. Where the
// cluster is remembered to have a machine on it (see fleet.Residence), the machine is shown,
// and its host is enrolled and adopted again as it runs.
package metal3

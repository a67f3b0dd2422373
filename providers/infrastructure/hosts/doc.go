// Package hosts is the infrastructure provider for machines that exist already and
// are reached over SSH. It puts together what its rooms do:
//
//	api       the kinds that people write: HostCluster, HostMachineTemplate, HostPool, Host
//	remote    scripts on hosts over SSH
//	host      what is kept on a host: claims, notes, how far a machine is
//	userdata  user data, as steps for a host
//	haproxy   the configuration of load balancers
//
// What it knows is on the hosts. A claim on a host says whose it is, and the other
// hosts of the pool hold a note of it, so that a host which does not answer is
// neither forgotten nor taken for free: see roster.go.
package hosts

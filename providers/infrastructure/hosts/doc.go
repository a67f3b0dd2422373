// Package hosts is the infrastructure provider for existing machines, which it reaches over SSH. It
// combines its packages:
//
//	api       the kinds in Git: HostCluster, HostMachineTemplate, HostPool, Host
//	remote    scripts on hosts over SSH
//	host      what is stored on a host: claims, notes, progress of a machine
//	userdata  user data, as steps for a host
//	haproxy   the configuration of load balancers
//
// All state is on the hosts. A claim on a host names its owner, and the other hosts of the pool have
// a note of it, so that a host that does not answer neither loses its machine nor counts as free: see
// roster.go.
package hosts

// Package openstack is the infrastructure provider for OpenStack. It puts
// together what its rooms do:
//
//	api      the kinds that people write: OpenStackCluster, OpenStackMachineTemplate, …
//	cloud    projects, snapshots of them, marks of ownership, errors
//	network  what the machines of a cluster share
//	image    images that Glance makes for them
//	machine  servers with their parts
//
// Every look of every cluster of a project is served from one snapshot, which is
// as old as a tick at most; see package cloud.
package openstack

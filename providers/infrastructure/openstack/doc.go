// Package openstack is the infrastructure provider for OpenStack. It combines its packages:
//
//	api      the kinds in Git: OpenStackCluster, OpenStackMachineTemplate, …
//	cloud    projects, snapshots of them, marks of ownership, errors
//	network  the shared infrastructure of a cluster
//	image    images that Glance imports
//	machine  servers with their parts
//
// All observations of clusters of a project share one snapshot, which is at most one tick old; see
// package cloud.
package openstack

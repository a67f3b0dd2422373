// Package api holds the kinds that people write for OpenStack: Go structs with
// the JSON fields of the OpenStack provider of Cluster API, their defaults, what
// may be wrong with them, and what of them is refused. It knows no SDK.
//
// Objects of v1beta1 are turned into v1beta2, so that everything else knows one
// model: a fleet.Object's Spec holds an OpenStackClusterSpec, an
// OpenStackMachineSpec, an OpenStackClusterIdentitySpec or an
// OpenStackFloatingIPPoolSpec, with defaults filled in. ReadCluster and its
// siblings read it back.
package api

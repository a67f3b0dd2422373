// Package api holds the kinds that people write for machines on vSphere: those of Cluster
// API's provider vSphere that speak to a vCenter (VSphereCluster, VSphereMachineTemplate,
// VSphereFailureDomain and so on), in v1beta1 and v1beta2, and pools of addresses. It knows
// no SDK.
//
// A fleet.Object's Spec holds the spec of v1beta2, whichever version was read, with defaults
// filled in; [ReadCluster] and its siblings read it back. Each field is honoured or refused
// with the reason and what to write instead.
//
// Where a machine goes is said in three places: its deployment zone, its own spec, and its
// cluster. [FindZone] finds the first, and [Zone.Place] puts them together:
//
//	zone, err := api.FindZone(c, cluster, r.FailureDomain)
//	...
//	spec, err := zone.Place(cluster, machine)
package api

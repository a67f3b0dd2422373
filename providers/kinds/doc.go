// Package kinds declares API kinds: what the objects of a kind look like in each version, and how
// they become the spec of the newest version.
//
// A provider has a struct for each spec, and a validator whose methods check specs, fill in
// their defaults, and convert specs of older versions:
//
//	kinds.Of(fleet.Kind{Provider: "toys", Role: fleet.InfrastructureCluster, Group: "toys.example", Kind: "ToyCluster"},
//		kinds.Objects(kinds.Checked((*validator).cluster), "v1beta2"),
//		kinds.Objects(kinds.Converted((*validator).convertCluster, (*validator).cluster), "v1beta1"))
package kinds

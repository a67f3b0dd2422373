// Package scaffold makes what a fleet repository, and a cluster in it, begins with, from
// the example fleets.
//
//	t, err := scaffold.Of("openstack")
//	files, err := t.Cluster(scaffold.Cluster{Key: key, Flavor: "ha", Values: values})
//
// What it guarantees:
//
//   - Files are texts of the examples, with their comments, and with other values in the
//     lines that set variables. Nothing is parsed and written again.
//   - A value that in the example stands for one of a person's own, such as an address of
//     the ranges for documentation, has to be given.
//   - It writes nothing: the caller does, and renders the result to see that it is right.
package scaffold

// Package rancher is what K3s and RKE2 have in common, of which RKE2 is made: secrets, the
// tokens that servers and agents join with, user data, and how members of etcd are listed
// and leave.
//
// It follows their sources. It has not yet run on the real thing: what it has met is the
// in-memory cloud, which follows the same sources.
//
// # What it guarantees
//
// The server token is made once and stored. Servers alone are given it, and the keys of
// CAs the first server alone. A worker joins by a bootstrap token of its own, and
// pins the CA of the cluster.
//
// A member that was asked to leave has left when Members does not list it. Members that
// cannot be told for certain are not told: a server without a quorum gives the kind
// Unavailable.
//
//	d := rancher.New(rancher.Program{Name: "k3s", …}, client)
package rancher

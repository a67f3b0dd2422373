// Package k3s is the distribution of clusters with a KThreesControlPlane: the kinds of
// Cluster API's provider for K3s, and what machines of theirs are set up with. The rest is
// what K3s and RKE2 have in common, in package rancher.
//
// It follows the sources of K3s. It has not yet run on the real thing.
//
//	d := k3s.New(workload.New(workload.Options{}))
package k3s

// Package rke2 is the distribution of clusters with an RKE2ControlPlane: the kinds of
// Cluster API's provider for RKE2, and what machines of theirs are set up with. The rest is
// what K3s and RKE2 have in common, in package rancher.
//
// It follows the sources of RKE2. It has not yet run on the real thing.
//
//	d := rke2.New(workload.New(workload.Options{}))
package rke2

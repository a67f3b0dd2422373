// Package autoscaler lets cluster-autoscaler scale pools of workers: it serves
// the autoscaler's cloud provider "externalgrpc". A group of nodes is a pool that
// Git leaves to be scaled; what the autoscaler decides becomes a number on the
// status branch, by the same code as people's requests.
//
// An autoscaler works for one cluster, and its client certificate says for which:
// it has the URI fairlead://NAMESPACE/NAME, and is signed by an authority that
// the server was told of. Of other clusters the autoscaler sees nothing.
package autoscaler

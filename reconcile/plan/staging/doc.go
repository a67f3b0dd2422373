// Package staging decides which version each pool of a cluster of a ClusterClass is to
// have now, on the way to the version that Git asks for. It is pure, and remembers
// nothing: the versions of the machines that are there say how far the cluster is.
//
//	s := staging.New(cluster, machines)
//	now := s.Cluster()             // with its pools in their desired state at this step
//	why := s.Holds("eu-1-md-0")    // why no machine of that pool is replaced yet
package staging

package agent

import (
	"fairlead.dev/fleet"
)

var (
	keyA = fleet.Key{Namespace: "prod", Name: "a"}
	keyB = fleet.Key{Namespace: "prod", Name: "b"}
	keyC = fleet.Key{Namespace: "prod", Name: "c"}
)

func revision(n string) fleet.Revision { return fleet.Revision{Ref: "main", Digest: "sha1:" + n} }

// clusterOf returns cluster k at revision rev with that content.
func clusterOf(k fleet.Key, rev, content string) fleet.Cluster {
	return fleet.Cluster{Key: k, Overlay: "clusters/" + k.String(), Revision: revision(rev), Digest: content, Provider: "inmemory"}
}

func fleetOf(rev string, prune fleet.Prune, clusters ...fleet.Cluster) fleet.Fleet {
	return fleet.Fleet{ID: "f", Revision: revision(rev), Clusters: clusters, Config: fleet.Config{Prune: prune}}
}

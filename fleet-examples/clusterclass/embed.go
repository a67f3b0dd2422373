// Package clusterclass holds the example fleet of one ClusterClass.
package clusterclass

import "embed"

// Files returns the example: fleet.yaml, the class and clusters.
func Files() embed.FS { return files }

//go:embed README.md fleet.yaml classes clusters
var files embed.FS

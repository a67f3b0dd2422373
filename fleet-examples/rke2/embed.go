// Package rke2 holds the example fleet of RKE2.
package rke2

import "embed"

// Files returns the example: fleet.yaml and clusters.
func Files() embed.FS { return files }

//go:embed README.md fleet.yaml clusters
var files embed.FS

// Package k3s holds the example fleet of K3s.
package k3s

import "embed"

// Files returns the example: fleet.yaml and clusters.
func Files() embed.FS { return files }

//go:embed README.md fleet.yaml clusters
var files embed.FS

// Package mixed holds the example fleet with workers of two providers, for tests of it.
package mixed

import "embed"

// Files returns the example: fleet.yaml and clusters.
func Files() embed.FS { return files }

//go:embed README.md fleet.yaml clusters
var files embed.FS

// Package azure holds the example fleet on Azure, for tests of it.
package azure

import "embed"

// Files returns the example: fleet.yaml, bases and clusters.
func Files() embed.FS { return files }

//go:embed README.md fleet.yaml bases clusters
var files embed.FS

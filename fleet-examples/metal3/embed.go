// Package metal3 holds the example fleet on bare metal, for tests of it.
package metal3

import "embed"

// Files returns the example: fleet.yaml, hosts, bases and clusters.
func Files() embed.FS { return files }

//go:embed README.md fleet.yaml hosts bases clusters
var files embed.FS

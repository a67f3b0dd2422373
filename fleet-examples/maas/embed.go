// Package maas holds the example fleet on MAAS, for tests of it.
package maas

import "embed"

// Files returns the example: fleet.yaml, bases and clusters.
func Files() embed.FS { return files }

//go:embed README.md fleet.yaml bases clusters
var files embed.FS

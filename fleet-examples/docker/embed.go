// Package docker holds the example fleet on Docker, for tests of it.
package docker

import "embed"

// Files returns the example: fleet.yaml, bases and clusters.
func Files() embed.FS { return files }

//go:embed README.md fleet.yaml bases clusters
var files embed.FS

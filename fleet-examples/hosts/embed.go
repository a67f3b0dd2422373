// Package hosts holds the example fleet on machines that exist, for tests of it.
package hosts

import "embed"

// Files returns the example: fleet.yaml, pools, bases, components and clusters.
func Files() embed.FS { return files }

//go:embed README.md fleet.yaml pools bases components clusters
var files embed.FS

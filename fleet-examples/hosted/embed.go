// Package hosted holds the example fleet of a cluster whose control plane somebody else keeps,
// for tests of it.
package hosted

import "embed"

// Files returns the example: fleet.yaml and clusters.
func Files() embed.FS { return files }

//go:embed README.md fleet.yaml clusters
var files embed.FS

// Package inmemory holds the example fleet on the in-memory infrastructure, for
// the demonstration that pushes it to a repository of its own.
package inmemory

import "embed"

// Files returns the example: fleet.yaml, bases and clusters.
func Files() embed.FS { return files }

//go:embed README.md fleet.yaml bases clusters
var files embed.FS

// Package vsphere holds the example fleet on vSphere, for tests of it.
package vsphere

import "embed"

// Files returns the example: fleet.yaml, bases, components and clusters.
func Files() embed.FS { return files }

//go:embed README.md fleet.yaml bases components clusters
var files embed.FS

// Package openstack holds the example fleet on OpenStack, for tests that bring
// it up.
package openstack

import "embed"

// Files returns the example: fleet.yaml, bases, components, classes
// and clusters.
func Files() embed.FS { return files }

//go:embed README.md fleet.yaml bases components classes clusters
var files embed.FS

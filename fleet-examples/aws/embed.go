// Package aws holds the example fleet on AWS, for tests of it.
package aws

import "embed"

// Files returns the example: fleet.yaml, bases, components and clusters.
func Files() embed.FS { return files }

//go:embed README.md fleet.yaml bases components clusters
var files embed.FS

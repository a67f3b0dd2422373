// Package cli tests the program from outside. Scripts that need programs besides Git are in
// test/system/cli/programs: they alone run again where these appear.
package cli

import (
	"os"
	"testing"

	"fairlead.dev/test/system/cli/script"
)

func TestMain(m *testing.M) { script.Main(m) }

func TestScripts(t *testing.T) { script.Run(t, "testdata/script") }

// TestAutoscaler runs the cluster-autoscaler that $FAIRLEAD_CLUSTER_AUTOSCALER names
// against an agent: `make test-autoscaler`. docs/guides/clusters/autoscaler.md says how it is built.
func TestAutoscaler(t *testing.T) {
	if os.Getenv("FAIRLEAD_CLUSTER_AUTOSCALER") == "" {
		t.Skip("FAIRLEAD_CLUSTER_AUTOSCALER names no cluster-autoscaler")
	}
	script.Run(t, "testdata/autoscaler")
}

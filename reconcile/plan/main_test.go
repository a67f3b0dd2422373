package plan_test

import (
	"flag"
	"os"
	"testing"

	"fairlead.dev/test/run/short"
)

// TestMain lets the properties try the same worlds each time, so that a change
// that fails is a change that broke something. -rapid.seed=0 tries new ones.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.seed", "1"); err != nil {
		panic(err)
	}
	short.Flag("rapid.checks", "20")
	os.Exit(m.Run())
}

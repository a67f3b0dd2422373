package kubeadm_test

import (
	"flag"
	"os"
	"testing"
)

// TestMain lets the properties try the same texts each time, so that a change
// that fails is a change that broke something. -rapid.seed=0 tries new ones.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.seed", "1"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

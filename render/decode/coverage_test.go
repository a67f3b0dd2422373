package decode_test

import (
	"flag"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/providers/all"
	"fairlead.dev/render/decode"
)

var update = flag.Bool("update", false, "write docs/reference/coverage.md")

// TestCoverage keeps docs/reference/coverage.md in line with the tables. Run
// "go generate ./render/decode" to write it.
func TestCoverage(t *testing.T) {
	const file = "../../docs/reference/coverage.md"
	registry, err := all.Registry()
	if err != nil {
		t.Fatal(err)
	}
	got := decode.New("", registry.Kinds()).Coverage()
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("docs/reference/coverage.md is out of date: run go generate ./render/decode\n-want +got:\n%s", diff)
	}
}

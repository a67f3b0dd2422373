package api_test

import (
	"strings"
	"testing"

	"fairlead.dev/providers/infrastructure/azure/api"
	"fairlead.dev/test/run/kindstest"
)

// TestCoverage: each field is honoured, refused or without effect, and what is refused is known.
func TestCoverage(t *testing.T) {
	count, refused := map[string]int{}, map[string]bool{}
	for _, f := range kindstest.Coverage(t, api.Kinds()) {
		if !strings.HasPrefix(f.Kind, "Azure") {
			continue
		}
		count[f.Status]++
		if f.Status == "refused" && f.Kind == "AzureCluster" {
			refused[f.Path] = true
		}
	}
	for _, path := range []string{"spec.extendedLocation"} {
		if !refused[path] {
			t.Errorf("%s is not refused: is it honoured by now?", path)
		}
	}
	if count["honoured"] < 200 {
		t.Errorf("fields are %v: are all kinds there?", count)
	}
	t.Logf("fields are %v", count)
}

package api_test

import (
	"strings"
	"testing"

	"fairlead.dev/providers/infrastructure/azure/api"
	"fairlead.dev/test/run/kindstest"
)

// TestCoverage: each field is honoured, refused or without effect, and few are refused.
func TestCoverage(t *testing.T) {
	count := map[string]int{}
	for _, f := range kindstest.Coverage(t, api.Kinds()) {
		if !strings.HasPrefix(f.Kind, "Azure") {
			continue
		}
		count[f.Status]++
	}
	if count["honoured"] < 600 || count["refused"] > 20 {
		t.Errorf("fields are %v: are all kinds there?", count)
	}
	t.Logf("fields are %v", count)
}

package decode

import (
	"testing"

	"fairlead.dev/providers/all"
)

// TestCoverageOfClusterAPI: at least 97 % of the fields of Cluster API's own kinds are honoured.
func TestCoverageOfClusterAPI(t *testing.T) {
	registry, err := all.Registry()
	if err != nil {
		t.Fatal(err)
	}
	kinds, sum := New("", registry.Kinds()).counts()
	for _, c := range kinds {
		t.Logf("%s: %d fields, %d honoured, %d without effect, %d refused", c.kind, c.total(), c.honoured, c.unused, c.refused)
	}
	if sum.permille() < 970 {
		t.Errorf("%d of %d fields are honoured, want 97 %%", sum.honoured, sum.total())
	}
}

package workload

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"
)

// TestInventoryName: each name that a ClusterResourceSet may have gives the inventory a name that
// API servers take, and no two sets share one.
func TestInventoryName(t *testing.T) {
	seen := map[string]string{}
	for _, set := range []string{
		"cni", strings.Repeat("a", 231), strings.Repeat("a", 232), strings.Repeat("a", 252) + "b", strings.Repeat("a", 252) + "c",
		strings.Repeat("a", 213) + "." + strings.Repeat("a", 39),
	} {
		name := inventoryName(set)
		if errs := validation.IsDNS1123Subdomain(name); len(errs) > 0 {
			t.Errorf("set of %d characters: %q: %v", len(set), name, errs)
		}
		if other, ok := seen[name]; ok {
			t.Errorf("sets %q and %q share %q", other, set, name)
		}
		seen[name] = set
	}
	if got := inventoryName("cni"); got != "fairlead-resource-set-cni" {
		t.Errorf("name %q", got)
	}
}

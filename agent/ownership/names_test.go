package ownership_test

import (
	"testing"

	"fairlead.dev/agent/ownership"
	"fairlead.dev/fleet"
)

// TestParseOwner: an owner is named with its epoch.
func TestParseOwner(t *testing.T) {
	for _, text := range []string{"", "dead", "@1", "dead@", "dead@0", "dead@x"} {
		if _, err := ownership.ParseOwner(text); err == nil {
			t.Errorf("%q is taken for an owner", text)
		}
	}
	if o, err := ownership.ParseOwner("a@b@7"); err != nil || o != (fleet.Owner{Agent: "a@b", Epoch: 7}) {
		t.Errorf("got %v, %v", o, err)
	}
}

// TestNames: the name of an agent tells where it lives.
func TestNames(t *testing.T) {
	for _, k := range []fleet.Key{{Namespace: "ops", Name: "home"}, {Namespace: "a", Name: "b.c"}, {Namespace: "a-b", Name: "c"}, {Namespace: "a", Name: "b-c"}} {
		if got, ok := ownership.HomeOf(ownership.AgentOf(k)); !ok || got != k {
			t.Errorf("%s becomes %s, %v", k, got, ok)
		}
	}
	for _, name := range []string{"laptop", "home.", "home.ops", "home..x", "fairlead.ops.home"} {
		if k, ok := ownership.HomeOf(name); ok {
			t.Errorf("%q is taken for an agent in %s", name, k)
		}
	}
}

package lab

import (
	"context"
	"strings"
	"testing"
)

func TestNames(t *testing.T) {
	t.Setenv("FAIRLEAD_LAB", "/somewhere")
	for _, name := range []string{"e2e", "a", "lab12345"} {
		if l, err := place(name); err != nil || l.dir != "/somewhere/labs/"+name {
			t.Errorf("%s: %+v, %v", name, l, err)
		}
	}
	if l, err := place(""); err != nil || l.Name != "default" {
		t.Errorf("no name: %+v, %v", l, err)
	}
	for _, name := range []string{"E2E", "../x", "a-b", "123", "muchtoolong"} {
		if _, err := place(name); err == nil {
			t.Errorf("%q is a name of a lab", name)
		}
	}
	if _, err := Up(context.Background(), Options{Machines: 151}); err == nil || !strings.Contains(err.Error(), "150") {
		t.Errorf("151 machines: %v", err)
	}
}

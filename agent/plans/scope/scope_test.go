package scope

import "testing"

func TestHas(t *testing.T) {
	for _, c := range []struct {
		scope   Scope
		overlay string
		want    bool
	}{
		{All, "clusters/prod/eu-1", true},
		{"clusters/prod", "clusters/prod/eu-1", true},
		{"clusters/prod/eu-1", "clusters/prod/eu-1", true},
		{"clusters/prod", "clusters/production", false},
		{"clusters/prod/eu-1/values.yaml", "clusters/prod/eu-1", false},
	} {
		if got := c.scope.Has(c.overlay); got != c.want {
			t.Errorf("%q has %q: %v, want %v", c.scope, c.overlay, got, c.want)
		}
	}
}

package fleet

import "testing"

// Whoever says a number of machines, it has an upper bound.
func TestBound(t *testing.T) {
	for name, tc := range map[string]struct {
		scaling Scaling
		n, want int
	}{
		"Within":  {Scaling{Min: 1, Max: 5}, 3, 3},
		"Above":   {Scaling{Min: 1, Max: 5}, 9, 5},
		"Below":   {Scaling{Min: 2, Max: 5}, 0, 2},
		"NoMax":   {Scaling{}, 7, 7},
		"TooMany": {Scaling{}, 2_000_000_000, 10_000},
	} {
		if got := tc.scaling.Bound(tc.n); got != tc.want {
			t.Errorf("%s: got %d, want %d", name, got, tc.want)
		}
	}
}

package wiring

import "testing"

func TestNumbers(t *testing.T) {
	for want, list := range map[string][]int{"none": nil, "3": {3}, "3, 4": {3, 4}, "0 to 2, 7, 9 to 11": {0, 1, 2, 7, 9, 10, 11}} {
		if got := numbers(list); got != want {
			t.Errorf("%v is %q, want %q", list, got, want)
		}
	}
}

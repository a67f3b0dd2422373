package short

import (
	"slices"
	"testing"
)

func TestForms(t *testing.T) {
	items := []int{0, 1, 2, 3, 4, 5, 6}
	t.Setenv("FAIRLEAD_TEST_ALL", "")
	if got := Of(t, 3, items); !slices.Equal(got, []int{0, 2, 4}) || Number(t, 3, 40) != 3 || !Form(t) {
		t.Errorf("short form: %v, want three of the items, and three tries", got)
	}
	if got := Of(t, 9, items); !slices.Equal(got, items) {
		t.Errorf("short form of more items than there are: %v, want all", got)
	}
	t.Setenv("FAIRLEAD_TEST_ALL", "1")
	if got := Of(t, 3, items); !slices.Equal(got, items) || Number(t, 3, 40) != 40 || Form(t) {
		t.Errorf("whole form: %v, want all items, and 40 tries", got)
	}
}

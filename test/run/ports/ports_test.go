package ports

import "testing"

// TestFree: the system gives a port again, and Free does not.
func TestFree(t *testing.T) {
	seen := make(map[string]bool)
	for range 2000 {
		address, err := Free()
		if err != nil || seen[address] {
			t.Fatalf("%s a second time, %v", address, err)
		}
		seen[address] = true
	}
}

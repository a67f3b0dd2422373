package workload

import (
	"errors"
	"testing"
)

// TestTogether: which of failed reads is told does not depend on which failed first.
func TestTogether(t *testing.T) {
	first, second := errors.New("first"), errors.New("second")
	failed := make(chan struct{})
	err := together(
		func() error { return nil },
		func() error { <-failed; return first },
		func() error { defer close(failed); return second },
	)
	if !errors.Is(err, first) {
		t.Errorf("told is %v, want %v", err, first)
	}
	if err := together(func() error { return nil }); err != nil {
		t.Errorf("told is %v, and nothing failed", err)
	}
}

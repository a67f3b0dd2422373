package backoff_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/agent/loop/backoff"
)

// TestNew: waits double up to the most.
func TestNew(t *testing.T) {
	b, got := backoff.New(5*time.Second, time.Minute), []time.Duration(nil)
	for range 7 {
		got = append(got, b.Step()/time.Second)
	}
	if want := []time.Duration{5, 10, 20, 40, 60, 60, 60}; !slices.Equal(got, want) {
		t.Errorf("got %d, want %d", got, want)
	}
	if got := backoff.New(time.Second, time.Millisecond).Step(); got != time.Millisecond {
		t.Errorf("the first wait is longer than the most: %s", got)
	}
}

// TestSleep: a sleep ends with its context.
func TestSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if !backoff.Sleep(ctx, 30*time.Second) {
			t.Error("a sleep ends early")
		}
		began := time.Now()
		if backoff.Sleep(ctx, time.Hour) || time.Since(began) != 30*time.Second {
			t.Errorf("a sleep goes on for %s", time.Since(began))
		}
	})
}

// TestJitter: a wait is at most a tenth shorter or longer.
func TestJitter(t *testing.T) {
	for range 1000 {
		if d := backoff.Jitter(time.Second); d < 900*time.Millisecond || d > 1100*time.Millisecond {
			t.Fatal(d)
		}
	}
}

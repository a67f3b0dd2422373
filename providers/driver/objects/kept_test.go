package objects_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/objects"
)

// TestKept: a Secret is asked for once in a while, an error is asked for again.
func TestKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked, fails := 0, false
		store := objects.Kept(func(context.Context, fleet.Key) (fleet.SecretData, error) {
			if asked++; fails {
				return nil, errors.New("sealed")
			}
			return fleet.SecretData{}, nil
		}, 10*time.Second)
		get := func(k fleet.Key, want int, fail bool) {
			t.Helper()
			if _, err := store(t.Context(), k); asked != want || (err != nil) != fail {
				t.Errorf("after %s it was asked %d times, %v, want %d", time.Now().Format(time.TimeOnly), asked, err, want)
			}
		}
		a, b := fleet.Key{Namespace: "prod", Name: "a"}, fleet.Key{Namespace: "prod", Name: "b"}
		get(a, 1, false)
		get(a, 1, false)
		get(b, 2, false)
		time.Sleep(10 * time.Second)
		get(a, 3, false)
		time.Sleep(10 * time.Second)
		fails = true
		get(a, 4, true)
		get(a, 5, true)
		fails = false
		get(a, 6, false)
	})
	if objects.Kept(nil, time.Second) != nil {
		t.Error("no store is one")
	}
}

package fleet_test

import (
	"testing"

	"fairlead.dev/fleet"
)

// TestAnswers: a Secret that a provider answers is filled in, and one of Git stays.
func TestAnswers(t *testing.T) {
	own := fleet.SecretData{"a": fleet.NewSecret([]byte("of Git"))}
	c := &fleet.Cluster{Secrets: map[string]fleet.SecretData{"answered": fleet.AnsweredLater([]string{"a", "b"}), "own": own}}
	answer := fleet.SecretData{"a": fleet.NewSecret([]byte("of the provider"))}
	got := c.WithAnswers(map[string]fleet.SecretData{"answered": answer, "own": answer, "other": answer})
	if text := string(got.Secrets["answered"]["a"].Reveal()); text != "of the provider" {
		t.Errorf("an answered Secret has %q", text)
	}
	if text := string(got.Secrets["own"]["a"].Reveal()); text != "of Git" {
		t.Errorf("a Secret of Git has %q", text)
	}
	if len(got.Secrets) != 2 {
		t.Errorf("Secrets %v, want those of before", got.Secrets)
	}
	if text := string(c.Secrets["answered"]["a"].Reveal()); text == "of the provider" {
		t.Error("the definition was changed")
	}
}

package fleet_test

import (
	"testing"

	"fairlead.dev/fleet"
)

// TestSecretMovesWhileAChangeWaits: a Secret moves from Git to the secret store, or the other way, while a change waits.
func TestSecretMovesWhileAChangeWaits(t *testing.T) {
	k := fleet.Key{Namespace: "prod", Name: "s"}
	git := func(v string) fleet.Object {
		return fleet.Object{Secrets: map[fleet.Key]fleet.SecretData{k: fleet.NewSecretData(map[string][]byte{"p": []byte(v)})}}
	}
	stored := fleet.Object{Stored: []fleet.Key{k}}
	a, b := &fleet.Cluster{Infrastructure: git("leaked")}, &fleet.Cluster{Infrastructure: stored}
	if got := a.WhileWaiting(b).Infrastructure; len(got.Secrets) > 0 || len(got.Stored) != 1 {
		t.Errorf("Git to store: still used: %s; stored %v", got.Secrets[k]["p"].Reveal(), got.Stored)
	}
	a, b = &fleet.Cluster{Infrastructure: stored}, &fleet.Cluster{Infrastructure: git("new")}
	if got := a.WhileWaiting(b).Infrastructure; string(got.Secrets[k]["p"].Reveal()) != "new" || len(got.Stored) > 0 {
		t.Errorf("store to Git: %v, stored %v", got.Secrets, got.Stored)
	}
}

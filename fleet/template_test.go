package fleet_test

import (
	"testing"

	"fairlead.dev/fleet"
)

// TestANewSchemaIsNoChange: what an agent noted of a pool in the schema of hashes before the newest
// one is about the same pool, and nothing comes in waves because a schema was added.
func TestANewSchemaIsNoChange(t *testing.T) {
	before := fleet.Pool{Name: "cp", Template: "2-aa", Former: []fleet.TemplateHash{"1-aa"}}
	now := fleet.Pool{Name: "cp", Template: "3-bb", Former: []fleet.TemplateHash{"2-aa", "1-aa"}}
	tries := []fleet.PoolRetry{{Pool: "cp", Template: before.Template, Tries: 3}}
	if got := fleet.RetryOf(tries, &now); got.Tries != 3 {
		t.Errorf("%d tries are remembered, want 3", got.Tries)
	}
	other := now
	other.Former = []fleet.TemplateHash{"2-cc", "1-aa"}
	if got := fleet.RetryOf(tries, &other); got.Tries != 0 {
		t.Errorf("%d tries of another template are remembered", got.Tries)
	}
	digest := func(p fleet.Pool) string { return (&fleet.Cluster{ControlPlane: p}).RolloutDigest() }
	if digest(now) != digest(before) {
		t.Error("the cluster comes in waves since a schema was added")
	}
	if digest(other) == digest(before) {
		t.Error("another template does not come in waves")
	}
}

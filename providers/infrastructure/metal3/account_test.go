package metal3_test

import (
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/metal3/metal3test"
)

// bmc has Git say another password of the BMC of m1.
func (w *world) bmc(password string) {
	w.c.Companions[0].Secrets = map[fleet.Key]fleet.SecretData{{Namespace: w.namespace, Name: "m1-bmc"}: secretOf(map[string]string{"username": metal3test.BMCUser, "password": password})}
}

// mark is what driver_info of m1 says of its account.
func (w *world) mark() any {
	w.Helper()
	info, _ := w.node("m1")["driver_info"].(map[string]any)
	return info["fairlead_account"]
}

// TestMarkSaysNothingOfTheAccount: by what Fairlead writes into a node nobody can try passwords.
func TestMarkSaysNothingOfTheAccount(t *testing.T) {
	t.Parallel()
	w := doubled(t, "m1")
	w.until(&w.c, "available", allFree)
	before := w.mark()
	w.bmc("another")
	w.hosts["m1"].SetPassword("another")
	w.ResetCalls()
	w.until(&w.c, "told", func(i fleet.Infrastructure) bool { return len(w.changes()) > 0 && len(i.Upkeep) == 0 })
	if before != "told" || w.mark() != "told" {
		t.Errorf("the marks of two accounts are %v and %v", before, w.mark())
	}
}

// TestMarkOfAnEarlierVersion: a node with a checksum in its mark is left alone by an agent that starts,
// and has none when its account is told again.
func TestMarkOfAnEarlierVersion(t *testing.T) {
	t.Parallel()
	w := doubled(t, "m1")
	c := &w.c
	w.until(c, "available", allFree)
	w.set("m1", "driver_info/fairlead_account", "d6108d")
	w.p = w.provider()
	w.pause()
	if got := w.observe(c); len(got.Upkeep) > 0 {
		t.Errorf("an agent that starts plans %q", got.Upkeep)
	}
	w.bmc("another")
	w.hosts["m1"].SetPassword("another")
	w.until(c, "told", func(fleet.Infrastructure) bool { return w.mark() == "told" })
}

// TestAccountChangedWhileNobodyRan: an agent that starts finds an account in Git that Ironic does not
// have: what Ironic shows of it at once, a password when the BMC refuses the old one.
func TestAccountChangedWhileNobodyRan(t *testing.T) {
	t.Parallel()
	w := doubled(t, "m1")
	c := &w.c
	w.create(c, worker)
	w.bmc("another")
	w.p = w.provider()
	w.hosts["m1"].SetPassword("another")
	w.until(c, "refused", func(i fleet.Infrastructure) bool { return machineOf(i, worker).Silent })
	w.until(c, "heard again", func(i fleet.Infrastructure) bool { return !machineOf(i, worker).Silent })

	w.set("m1", "driver_info/deploy_iso", "http://old/ramdisk.iso")
	w.p = w.provider()
	w.pause()
	if got := w.observe(c); len(got.Upkeep) != 1 || got.Upkeep[0] != "tell Ironic how its BMC is reached now: host "+w.namespace+"/m1" {
		t.Errorf("upkeep is %q", got.Upkeep)
	}
}

package ironic_test

import (
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/metal3/ironic"
	"fairlead.dev/providers/infrastructure/metal3/metal3test"
)

// TestVerifyFails: a BMC that refuses the account, and one that does not answer, leave the
// host in enroll. Another account is another attempt.
func TestVerifyFails(t *testing.T) {
	t.Parallel()
	i, c := world(t)
	ctx := t.Context()
	h := i.AddHost("account")
	h.SetPassword("another")
	s := spec(h)
	s.DriverInfo["redfish_password"] = "account-pw"
	must(t, func() error { return c.Create(ctx, s) })
	must(t, func() error { return c.Manage(ctx, s.UUID) })
	n := await(t, c, "account", "refused", func(n ironic.Node) bool { return n.State == ironic.Enroll && n.Failure() != nil })
	failed(t, n, fleet.Unauthorized)
	must(t, func() error { return c.Configure(ctx, s.UUID, h.DriverInfo(), nil) })
	must(t, func() error { return c.Manage(ctx, s.UUID) })
	if n := reach(t, c, "account", ironic.Manageable); n.Failure() != nil {
		t.Errorf("verified: %v", n.Failure())
	}

	silent := i.AddHost("silent")
	fault := i.FailHosts(metal3test.HostFault{Host: "silent", At: metal3test.AtRequest})
	defer fault.End()
	must(t, func() error { return c.Create(ctx, spec(silent)) })
	must(t, func() error { return c.Manage(ctx, "metal~silent") })
	n = await(t, c, "silent", "unreachable", func(n ironic.Node) bool { return n.State == ironic.Enroll && n.Failure() != nil })
	failed(t, n, fleet.Unavailable)
}

// failed fails where the failure of n is of another kind.
func failed(t *testing.T, n ironic.Node, want fleet.ErrorKind) {
	t.Helper()
	err := n.Failure()
	t.Logf("%s: %v", n.State, err)
	if err == nil || fleet.KindOf(err) != want {
		t.Errorf("%s: the failure is of kind %s, want %s: %v", n.State, fleet.KindOf(err), want, err)
	}
}

// TestDeployFails: each way in which a deployment ends in deploy failed keeps the claim, and
// the next one goes well.
func TestDeployFails(t *testing.T) {
	t.Parallel()
	i, c := world(t)
	ctx, h := t.Context(), available(t, i, c, "deploy-fails")
	m := claim(i, "deploy-fails-0")
	with := func(key, value string) ironic.Claim {
		out := m
		out.Info = map[string]any{}
		for k, v := range m.Info {
			out.Info[k] = v
		}
		out.Info[key] = value
		return out
	}
	for _, test := range []struct {
		name  string
		claim ironic.Claim
		at    metal3test.At
		kind  fleet.ErrorKind
	}{
		{"disk", m, metal3test.AtWrite, fleet.Unknown},
		{"boot loader", m, metal3test.AtBootloader, fleet.Unknown},
		{"checksum", with("image_os_hash_value", "00"), "", fleet.Invalid},
	} {
		must(t, func() error { _, err := c.Claim(ctx, "metal~deploy-fails", test.claim); return err })
		end := func() {}
		if test.at != "" {
			end = i.FailHosts(metal3test.HostFault{Host: h.Name(), At: test.at}).End
		}
		must(t, func() error { return c.Deploy(ctx, "metal~deploy-fails", "") })
		n := reach(t, c, "deploy-fails", ironic.DeployFailed)
		failed(t, n, test.kind)
		if n.Instance != m.Instance {
			t.Errorf("%s: the claim is gone", test.name)
		}
		end()
	}
	must(t, func() error { _, err := c.Claim(ctx, "metal~deploy-fails", m); return err })
	must(t, func() error { return c.Deploy(ctx, "metal~deploy-fails", "") })
	if n := reach(t, c, "deploy-fails", ironic.Active); n.Failure() != nil {
		t.Errorf("deployed in the end: %v", n.Failure())
	}
}

// TestRamdiskIsSilent: a ramdisk that never calls ends in deploy failed after its time, with
// power on.
func TestRamdiskIsSilent(t *testing.T) {
	t.Parallel()
	i, c := own(t, metal3test.Options{Silence: 5 * time.Second})
	h := available(t, i, c, "mute")
	must(t, func() error { _, err := c.Claim(t.Context(), "metal~mute", claim(i, "mute-0")); return err })
	defer i.FailHosts(metal3test.HostFault{Host: h.Name(), At: metal3test.AtBoot}).End()
	must(t, func() error { return c.Deploy(t.Context(), "metal~mute", "") })
	n := reach(t, c, "mute", ironic.DeployFailed)
	failed(t, n, fleet.Unknown)
	if n.Power != ironic.PowerOn || h.State().Running != metal3test.Nothing {
		t.Errorf("the host: %s, %+v", n.Power, h.State())
	}
}

// TestCleanFails: the way back is out of maintenance, manage, provide.
func TestCleanFails(t *testing.T) {
	t.Parallel()
	i, c := world(t)
	ctx, h := t.Context(), enrolled(t, i, c, "clean-fails")
	fault := i.FailHosts(metal3test.HostFault{Host: h.Name(), At: metal3test.AtClean})
	must(t, func() error { return c.Provide(ctx, "metal~clean-fails") })
	n := reach(t, c, "clean-fails", ironic.CleanFailed)
	failed(t, n, fleet.Unknown)
	if !n.Maintenance || n.Fault != ironic.CleanFault {
		t.Errorf("not in maintenance: %+v", n)
	}
	fault.End()
	must(t, func() error { return c.UnsetMaintenance(ctx, "metal~clean-fails") })
	must(t, func() error { return c.Manage(ctx, "metal~clean-fails") })
	reach(t, c, "clean-fails", ironic.Manageable)
	must(t, func() error { return c.Provide(ctx, "metal~clean-fails") })
	if n := reach(t, c, "clean-fails", ironic.Available); n.Failure() != nil {
		t.Errorf("available: %v", n.Failure())
	}
}

// TestPower: Ironic's view of power heals by itself, it switches back on what somebody
// switched off, and BMCs that lie are found out.
func TestPower(t *testing.T) {
	t.Parallel()
	i, c := world(t)
	ctx, h := t.Context(), deployed(t, i, c, "power")

	boots := h.State().Boots
	h.Press(false)
	await(t, c, "power", "on again", func(n ironic.Node) bool { return h.State().Boots > boots && n.Power == ironic.PowerOn })

	silent := i.FailHosts(metal3test.HostFault{Host: h.Name(), At: metal3test.AtRequest})
	n := await(t, c, "power", "in fault", func(n ironic.Node) bool { return n.Fault == ironic.PowerFault })
	failed(t, n, fleet.Unavailable)
	if n.Power != ironic.PowerUnknown || !n.Maintenance || n.State != ironic.Active {
		t.Errorf("silent: %+v", n)
	}
	silent.End()
	n = await(t, c, "power", "healed", func(n ironic.Node) bool { return n.Fault == "" && n.Power == ironic.PowerOn })
	if n.Maintenance || n.Failure() != nil {
		t.Errorf("healed: %+v", n)
	}

	must(t, func() error { return c.Power(ctx, "metal~power", ironic.Off) })
	await(t, c, "power", "off", func(n ironic.Node) bool { return n.Power == ironic.PowerOff && !h.State().On })

	lie := i.FailHosts(metal3test.HostFault{Host: h.Name(), At: metal3test.AtPower, Lie: true})
	must(t, func() error { return c.Power(ctx, "metal~power", ironic.On) })
	await(t, c, "power", "said to be on", func(n ironic.Node) bool { return n.Power == ironic.PowerOn })
	if h.State().On {
		t.Error("the BMC did not lie")
	}
	lie.End()
	must(t, func() error { return c.Power(ctx, "metal~power", ironic.Reboot) })
	await(t, c, "power", "running", func(ironic.Node) bool { return h.State().Running == metal3test.OnDisk })
}

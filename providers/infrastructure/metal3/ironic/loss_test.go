package ironic_test

import (
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/metal3/ironic"
	"fairlead.dev/providers/infrastructure/metal3/metal3test"
)

// TestLostDatabase: an Ironic without its database lists nothing and says nothing of it. The
// host is enrolled, claimed and adopted again while its machine runs on.
func TestLostDatabase(t *testing.T) {
	t.Parallel()
	i, c := own(t, metal3test.Options{})
	h := deployed(t, i, c, "lost")
	before := h.State()
	if err := i.LoseDatabase(t.Context()); err != nil {
		t.Fatal(err)
	}
	if list, err := c.List(t.Context()); err != nil || len(list) != 0 {
		t.Fatalf("an empty Ironic lists %v, %v", list, err)
	}
	must(t, func() error { return c.Create(t.Context(), spec(h)) })
	must(t, func() error { return c.Manage(t.Context(), "metal~lost") })
	if n := reach(t, c, "lost", ironic.Manageable); n.Power != ironic.PowerOn {
		t.Errorf("a host that runs: %+v", n)
	}
	m := claim(i, "on-lost")
	must(t, func() error { _, err := c.Claim(t.Context(), "metal~lost", m); return err })
	must(t, func() error { return c.Adopt(t.Context(), "metal~lost") })
	if n := reach(t, c, "lost", ironic.Active); n.Instance != m.Instance {
		t.Errorf("adopted: %+v", n)
	}
	if diff := gocmp.Diff(before, h.State()); diff != "" {
		t.Errorf("the machine (-before +after):\n%s", diff)
	}
}

// TestFailedRelease: where the BMC does not answer, Ironic forgets whose the host is while
// the machine runs on. Its extra tells, and to release it again works when the BMC is back.
func TestFailedRelease(t *testing.T) {
	t.Parallel()
	i, c := world(t)
	h := deployed(t, i, c, "failed-release")
	silent := i.FailHosts(metal3test.HostFault{Host: h.Name(), At: metal3test.AtRequest})
	defer silent.End()
	must(t, func() error { return c.Undeploy(t.Context(), "metal~failed-release") })
	n := reach(t, c, "failed-release", ironic.Error)
	if extra, _ := n.Extra["fairlead"].(map[string]any); n.Instance != "" || len(n.Info) != 0 || extra["machine"] != "on-failed-release" {
		t.Errorf("a release that failed: %+v", n)
	}
	if s := h.State(); !s.On || s.Running != metal3test.OnDisk {
		t.Errorf("the machine: %+v", s)
	}
	if err := n.Failure(); fleet.KindOf(err) != fleet.Unavailable {
		t.Errorf("the failure: %v", err)
	}
	silent.End()
	await(t, c, "failed-release", "out of maintenance", func(n ironic.Node) bool { return !n.Maintenance })
	must(t, func() error { return c.Undeploy(t.Context(), "metal~failed-release") })
	reach(t, c, "failed-release", ironic.Available)
	if h.State().On {
		t.Errorf("the machine runs on: %+v", h.State())
	}
}

// TestCrashInDeploying: an Ironic that ends while it deploys gives up, keeps the claim, and
// deploys again. One that ends while it waits for the ramdisk goes on.
func TestCrashInDeploying(t *testing.T) {
	t.Parallel()
	i, c := own(t, metal3test.Options{})
	h := available(t, i, c, "crash")
	m := claim(i, "crash-0")
	must(t, func() error { _, err := c.Claim(t.Context(), "metal~crash", m); return err })
	slow := i.FailHosts(metal3test.HostFault{Host: h.Name(), At: metal3test.AtRequest, Delay: time.Hour})
	must(t, func() error { return c.Deploy(t.Context(), "metal~crash", "") })
	for slow.Done() == 0 {
		pause(t)
	}
	crash(t, i)
	slow.End()
	n := reach(t, c, "crash", ironic.DeployFailed)
	wantError(t, n.Failure(), fleet.Unavailable, "cannot deploy host metal~crash: The deploying state can't be resumed by conductor lab. Moving to fail state.")
	if n.Instance != m.Instance {
		t.Errorf("the claim is gone: %+v", n)
	}
	held := i.FailHosts(metal3test.HostFault{Host: h.Name(), At: metal3test.AtWrite, Hold: true})
	must(t, func() error { return c.Deploy(t.Context(), "metal~crash", "") })
	for held.Done() == 0 {
		pause(t)
	}
	reach(t, c, "crash", ironic.DeployWait)
	crash(t, i)
	held.End()
	reach(t, c, "crash", ironic.Active)
}

// crash ends Ironic and starts it again.
func crash(t *testing.T, i *metal3test.Ironic) {
	t.Helper()
	i.Crash()
	if err := i.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
}

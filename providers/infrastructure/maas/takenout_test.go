package maas_test

import (
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/maas/api"
	"fairlead.dev/providers/infrastructure/maas/maastest"
)

// TestReleasedWithoutBMC: a host whose BMC is broken is taken out of MAAS while its machine is being deleted. The machine
// is gone.
func TestReleasedWithoutBMC(t *testing.T) {
	within(t, 2, func(w *world) {
		w.c.Workers[0].Infrastructure = w.template("md-0", func(s *api.MaasMachineSpec) { s.EraseDisks = api.EraseNever })
		m := w.create(&w.c, "m-0")
		host := systemID(m.ProviderID)
		w.Change(host, func(m *maastest.Machine, h *maastest.Host) {
			h.NoBMC = true
			m.Status, m.Power = maastest.FailedReleasing, "error"
		})
		time.Sleep(settle)
		if got := machineOf(w.observe(&w.c), "m-0"); got.State != fleet.MachineDeleting || !got.Silent {
			w.Errorf("%+v", got)
		}
		w.Restore(nil)
		time.Sleep(settle)
		if got := machineOf(w.observe(&w.c), "m-0"); got.Name != "" {
			w.Errorf("after its host was taken out of MAAS the machine is %+v", got)
		}
	})
}

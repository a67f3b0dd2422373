package conformance

import (
	"math/rand/v2"
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
)

// failedMachine: one that will never run says so, and why, and can be deleted.
func failedMachine(t testing.TB, o Options) {
	b := newBench(t, o)
	if !b.has("FailBoot", o.FailBoot != nil) {
		return
	}
	b.ensure(b.c)
	o.FailBoot(t, b.p)
	b.create(b.c, "m-0")
	for range rounds {
		b.settle()
		if b.machine("m-0").State == fleet.MachineFailed {
			break
		}
	}
	if m := b.machine("m-0"); m.State != fleet.MachineFailed || m.Message == "" {
		t.Errorf("machine that failed = %+v, want state Failed and a message that says why", m)
	}
	b.remove("m-0")
	b.wantMachines(b.c, "one that failed is deleted as any other")
}

// refused checks that a machine with user data u is refused, and not made.
func (b *bench) refused(what string, u providers.UserData) {
	b.t.Helper()
	b.ensure(b.c)
	r := b.request(b.c, "m-0")
	r.UserData = u
	wantKind(b.t, "CreateMachine with user data "+what, b.p.CreateMachine(b.t.Context(), "op-m-0", r), fleet.Invalid)
	b.settle()
	b.wantMachines(b.c, "what was refused was not made")
}

func userDataOfAnotherFormat(t testing.TB, o Options) {
	newBench(t, o).refused("that nobody reads", providers.UserData{Format: "papyrus", Content: fleet.NewSecret([]byte("…"))})
}

// userDataTooLarge: what does not fit is refused with words, and never cut off.
func userDataTooLarge(t testing.TB, o Options) {
	b := newBench(t, o)
	if !b.has("UserDataLimit", o.UserDataLimit > 0) {
		return
	}
	text := []byte("#cloud-config\n# ")
	chance := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // what no compression makes smaller
	for len(text) < 2*o.UserDataLimit {
		text = append(text, byte('!'+chance.IntN(90)))
	}
	b.refused("that is too large", providers.UserData{Format: "cloud-config", Content: fleet.NewSecret(append(text, '\n'))})
}

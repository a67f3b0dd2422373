package ha

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"fairlead.dev/test/lab/kube"
)

// calmEvery is how long disturbances last at a time: a fleet that is never at rest shows
// nothing.
const calmEvery = time.Minute

// TestSoak disturbs three replicas for FAIRLEAD_HA_SOAK. Replicas are killed at any time and while they create a machine, stopped for less and more than
// their Lease lasts, ended and started. The API server goes away, and people push. After
// each minute all come back, and everything has to be as in Git: never two machines with
// one name, never two replicas that act at the same time, and no control-plane machine
// replaced.
func TestSoak(t *testing.T) {
	length, err := time.ParseDuration(os.Getenv("FAIRLEAD_HA_SOAK"))
	if err != nil {
		t.Skip("make soak-ha runs it")
	}
	seed := uint64(time.Now().UnixNano())
	if s := os.Getenv("FAIRLEAD_HA_SEED"); s != "" {
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	fmt.Printf("soak: FAIRLEAD_HA_SEED=%d\n", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	w := newWorldIn(t, kube.Start(t, kube.Own()))
	names := []string{"r0", "r1", "r2"}
	for _, n := range names {
		w.startReplica(n)
	}
	w.push(1)
	w.converged("the fleet is made")
	control := w.controlPlanes()
	done := map[string]int{}
	for end := time.Now().Add(length); time.Now().Before(end) && !t.Failed(); {
		for calm := time.Now().Add(calmEvery); time.Now().Before(calm); {
			done[w.disturb(r, names)]++
			time.Sleep(time.Duration(r.IntN(3000)) * time.Millisecond)
		}
		for _, n := range names {
			w.revive(n)
		}
		w.push(1 + r.IntN(4))
		w.converged("bad days are over")
		if now := w.controlPlanes(); !maps.Equal(now, control) {
			t.Errorf("machines of control planes were %v and are %v", control, now)
		}
		done["calm"]++
		fmt.Printf("soak: %s: %v\n", t.Name(), done)
	}
}

// disturb does one bad thing, and returns its name.
func (w *world) disturb(r *rand.Rand, names []string) string {
	n := names[r.IntN(len(names))]
	_, runs := w.replicas[n]
	switch r.IntN(8) {
	case 0:
		if runs {
			w.signal(n, syscall.SIGKILL)
			return "kills"
		}
	case 1:
		if runs {
			w.signal(n, syscall.SIGCONT) // a process that is stopped does not end
			w.end(n, syscall.SIGTERM)
			return "ends"
		}
	case 2:
		if runs {
			w.signal(n, syscall.SIGSTOP)
			return "stops"
		}
	case 3:
		if leader := w.leader(); w.replicas[leader] != nil {
			w.signal(leader, []syscall.Signal{syscall.SIGKILL, syscall.SIGSTOP}[r.IntN(2)])
			return "leaders"
		}
	case 4:
		w.kube.Down()
		time.Sleep(time.Duration(r.IntN(8000)) * time.Millisecond)
		w.kube.Up()
		return "outages"
	case 5, 6:
		w.push(1 + r.IntN(4))
		return "pushes"
	}
	w.revive(n)
	return "revived"
}

// controlPlanes returns the ids of machines of control planes by name.
func (w *world) controlPlanes() map[string]string {
	w.t.Helper()
	m, err := w.machines(w.t.Context())
	w.must(err)
	for _, name := range slices.Collect(maps.Keys(m)) {
		if !strings.Contains(name, "-cp-") {
			delete(m, name)
		}
	}
	if len(m) != clusters {
		w.t.Fatalf("%d machines of control planes in %v", len(m), m)
	}
	return m
}

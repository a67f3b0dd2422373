package reconcile_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/inmemory"
	"fairlead.dev/test/run/short"
)

// life takes a cluster through creation, scaling, an upgrade and deletion.
func life(w *world) {
	defer w.cloud.Close()
	w.reach(clusterSpec{3, 2, "v1.33.5", false}, fleet.PhaseProvisioned)
	if n := len(w.ours()); n != 5 {
		w.t.Fatalf("created %d machines, want 5", n)
	}
	w.reach(clusterSpec{3, 3, "v1.33.5", false}, fleet.PhaseProvisioned)
	before := map[string]bool{}
	for _, vm := range w.ours() {
		before[vm.ID] = true
	}
	w.checkVersion("v1.33.5")
	w.reach(clusterSpec{3, 3, "v1.34.1", false}, fleet.PhaseProvisioned)
	w.checkVersion("v1.34.1")
	after := w.ours()
	if len(after) != 6 {
		w.t.Fatalf("have %d machines after the upgrade, want 6", len(after))
	}
	for _, vm := range after {
		if before[vm.ID] {
			w.t.Fatalf("machine %s was not replaced", vm.Name)
		}
	}
	w.reach(clusterSpec{3, 3, "v1.34.1", true}, fleet.PhaseDeleted)
	w.nothingLeft()
}

// TestLife takes a cluster through its life without a crash.
func TestLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		life(w)
		t.Logf("a life makes %d calls, before and after each of which an agent may crash", w.calls)
	})
}

// TestLifeOnIgnition takes a cluster of machines that Ignition configures
// through its life: their commands fill in the name that each joins with.
func TestLifeOnIgnition(t *testing.T) {
	const spec = `{
    format: ignition,
    ignition: {containerLinuxConfig: {additionalConfig: "systemd: {units: [{name: kubeadm.service, dropins: [{name: 10-flatcar.conf, contents: \"[Service]\\nEnvironmentFile=/run/metadata/flatcar\\n\"}]}]}"}},
    initConfiguration: {nodeRegistration: {name: "${COREOS_OPENSTACK_HOSTNAME}"}},
    joinConfiguration: {nodeRegistration: {name: "${COREOS_OPENSTACK_HOSTNAME}"}},
    preKubeadmCommands: [
      "export COREOS_OPENSTACK_HOSTNAME=${COREOS_OPENSTACK_HOSTNAME%.*}",
      envsubst < /etc/kubeadm.yml > /etc/kubeadm.yml.tmp, mv /etc/kubeadm.yml.tmp /etc/kubeadm.yml]}`
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.edit = strings.NewReplacer(
			"joinConfiguration: {nodeRegistration: {criSocket: unix:///run/containerd/containerd.sock}}", strings.TrimSuffix(strings.TrimPrefix(spec, "{"), "}"),
			"  machineTemplate:", "  kubeadmConfigSpec: "+spec+"\n  machineTemplate:")
		nodes := 0
		w.reported = func(r fleet.Report) {
			for _, m := range r.Machines {
				if m.Node != "" && m.Node != string(m.Machine.Name) {
					t.Fatalf("machine %s joined as %s", m.Machine.Name, m.Node)
				} else if m.Node != "" {
					nodes++
				}
			}
		}
		life(w)
		if nodes == 0 {
			t.Error("no machine was seen with its Node")
		}
	})
}

// TestCrashSweep crashes the agent at one call of a cluster's life: before it
// was sent or before its answer was heard. A new agent that knows nothing must
// come to the same end, with one machine per name at every moment, nothing left
// over and nothing foreign touched.
//
// FAIRLEAD_SWEEP=all tries every call; otherwise every eleventh is tried, and in the short
// form every forty-first.
func TestCrashSweep(t *testing.T) {
	calls := 0
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		life(w)
		calls = w.calls
	})
	step := 1
	if os.Getenv("FAIRLEAD_SWEEP") != "all" {
		step = short.Number(t, 41, 11)
	}
	for n := 1; n <= calls; n += step {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, n)
				life(w)
				if w.crashes != 1 {
					t.Fatalf("crashed %d times, want 1", w.crashes)
				}
			})
		})
	}
}

// TestLostAnswers loses answers and requests all through a cluster's life, and
// has listings fail. A timeout is not a no: nothing is made twice.
func TestLostAnswers(t *testing.T) {
	for _, every := range short.Of(t, 2, []int{1, 2, 3, 4}) {
		t.Run(fmt.Sprint(every), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.upset = func(pass int, f *inmemory.Faults) {
					f.LoseAnswers, f.LoseRequests, f.FailListings = 0, 0, 0
					if pass%every == 0 {
						f.LoseAnswers = 1
					}
					if pass%(every+2) == 0 {
						f.LoseRequests = 1
					}
					if pass%7 == 0 {
						f.FailListings = 1
					}
				}
				life(w)
			})
		})
	}
}

// TestSlowCalls has each creation of a machine reach the cloud only after more
// than a settle window, and its answer get lost: what is sent late surfaces late.
func TestSlowCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.slow = func(call string) {
			if strings.HasPrefix(call, "create server") {
				time.Sleep(settle + time.Second)
				f, _ := w.cloud.Faults(t.Context())
				f.LoseAnswers = 1
				if err := w.cloud.SetFaults(t.Context(), f); err != nil {
					t.Error(err)
				}
			}
		}
		life(w)
	})
}

// TestQuota has the cloud refuse machines until a person raises the quota.
func TestQuota(t *testing.T) {
	span := time.Duration(short.Number(t, 15, 60)) * time.Minute
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		started := time.Now()
		reported := false
		w.reported = func(r fleet.Report) {
			reported = reported || strings.Contains(r.Failure, "quota exceeded for instances")
		}
		w.upset = func(_ int, f *inmemory.Faults) {
			f.Quota = len(w.foreign) + 2
			if time.Since(started) > span {
				f.Quota = 0
			}
		}
		life(w)
		if !reported {
			t.Error("the cloud's own words did not reach the report")
		}
	})
}

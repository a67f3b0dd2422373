package reconcile_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/inmemory"
)

// TestLooksInAnHour: a cluster of which something is expected to happen is looked
// at every ten seconds, and any other as often as one that is provisioned, whatever
// there is to tell of it.
func TestLooksInAnHour(t *testing.T) {
	for name, c := range map[string]struct {
		change      func(w *world, c *fleet.Cluster)
		least, most int
		reported    string
	}{
		"provisioned": {func(*world, *fleet.Cluster) {}, 6, 8, ""},
		"paused":      {func(_ *world, c *fleet.Cluster) { c.Paused = true }, 6, 8, "cluster is paused"},
		"suspended": {func(_ *world, c *fleet.Cluster) {
			c.Suspension = &fleet.Suspension{Reason: "moving"}
		}, 6, 8, "cluster is suspended: moving"},
		"a pool is paused": {func(_ *world, c *fleet.Cluster) { c.Workers[0].Paused = true }, 6, 8, "pool eu-1-md-0 is paused"},
		"the control plane is paused": {
			func(_ *world, c *fleet.Cluster) { c.ControlPlane.Paused = true }, 6, 8, "control plane eu-1-cp is paused",
		},
		"a worker lost a tag": {func(w *world, _ *fleet.Cluster) {
			for _, v := range w.ours() {
				if v.Tags[fleet.TagRole] == "worker" {
					delete(v.Tags, fleet.TagTemplate)
					if err := w.cloud.SetTags(w.t.Context(), v.ID, v.Tags); err != nil {
						w.t.Fatal(err)
					}
				}
			}
		}, 6, 8, "machine eu-1-md-0-"},
		"the credentials lead elsewhere": {func(w *world, _ *fleet.Cluster) { w.elsewhere() }, 6, 8, "the API server at "},
		"a machine has no power": {func(w *world, _ *fleet.Cluster) {
			if err := w.cloud.StopVM(w.t.Context(), w.ours()[0].ID); err != nil {
				w.t.Fatal(err)
			}
		}, 300, 370, "the API server does not answer: "},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				defer w.cloud.Close()
				defer func(c *inmemory.Cloud) { c.Close() }(w.cloud)
				wanted := clusterSpec{1, 1, "v1.33.5", false}
				w.reach(wanted, fleet.PhaseProvisioned)
				desired := wanted.cluster(t)
				c.change(w, desired)
				a := w.start()
				defer a.workload.Close()
				time.Sleep(settle)
				w.passWithMemory(a, desired) // after it nothing is new
				looks := 0
				var reported []string
				for began := time.Now(); time.Since(began) < time.Hour; looks++ {
					res := w.passWithMemory(a, desired)
					reported = res.Report.Waiting
					pause := 10 * time.Minute
					if res.After > 0 {
						pause = min(pause, res.After)
					}
					time.Sleep(pause)
				}
				if looks < c.least || looks > c.most {
					t.Errorf("%d looks in an hour, want %d to %d; it is told %q", looks, c.least, c.most, reported)
				}
				if c.reported == "" && len(reported) > 0 || c.reported != "" && (len(reported) != 1 || !strings.HasPrefix(reported[0], c.reported)) {
					t.Errorf("told %q, want %q", reported, c.reported)
				}
			})
		})
	}
}

package reconcile_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/inmemory"
	"fairlead.dev/reconcile"
	"fairlead.dev/test/run/short"
)

// dwell makes passes for d with an agent that knows nothing but what was remembered,
// as the next agent does, and returns the last result and all that was done.
func (w *world) dwell(c *fleet.Cluster, remembered fleet.Residence, d time.Duration) (last reconcile.Result, done []string) {
	w.t.Helper()
	a := w.start()
	defer a.workload.Close()
	for began := time.Now(); time.Since(began) < d; {
		last = a.r.Pass(a.ctx, c, fleet.Memory{Residence: remembered})
		remembered = last.Report.Residence
		for _, action := range last.Plan.Actions {
			done = append(done, action.String())
		}
		time.Sleep(min(max(last.After, 500*time.Millisecond), 10*time.Second))
	}
	return last, done
}

// elsewhere has the credentials lead to a cloud that is empty, until back is called.
func (w *world) elsewhere() (empty *inmemory.Cloud, back func()) {
	here := w.cloud
	empty = inmemory.NewCloud(inmemory.CloudOptions{ID: "elsewhere", Listen: w.net.Listen})
	w.cloud = empty
	return empty, func() {
		w.cloud = here
		empty.Close()
	}
}

// TestAnotherPlace: the credentials of a live cluster lead to another project, of a
// cluster with workers and one without, with the status branch and with it lost, with
// an API server that answers and one that does not. Nothing is made there, nothing is
// forgotten, and back in the right project the plan is empty. Where deletion is
// wished, secrets stay as long as something remembers or answers.
func TestAnotherPlace(t *testing.T) {
	span := time.Duration(short.Number(t, 6, 20)) * time.Minute
	for name, c := range map[string]struct {
		workers               int
		lost, silent, deleted bool
	}{
		"remembered":                       {workers: 1},
		"remembered, without workers":      {},
		"remembered, out of reach":         {workers: 1, silent: true},
		"remembered, deletion":             {workers: 1, deleted: true, silent: true},
		"the status branch lost":           {workers: 1, lost: true},
		"the same, without workers":        {lost: true},
		"the same, out of reach":           {workers: 1, lost: true, silent: true},
		"the status branch lost, deletion": {workers: 1, lost: true, deleted: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				wanted := clusterSpec{3, c.workers, "v1.33.5", false}
				w := newWorld(t)
				here := w.cloud
				defer here.Close()
				var reported fleet.Report
				w.reported = func(r fleet.Report) { reported = r }
				w.reach(wanted, fleet.PhaseProvisioned)
				home := reported.Residence
				if home.Place().ID != "in-memory cloud sweep" || home.ControlPlane != "Initialized" || home.Endpoint != reported.Endpoint {
					t.Fatalf("it lives in %+v", home)
				}
				before, machines := w.kept(), w.ours()
				empty, back := w.elsewhere()
				known := home
				if c.lost {
					known = fleet.Residence{}
				}
				if c.silent {
					w.cut = true
				}
				wanted.gone = c.deleted
				last, done := w.dwell(decoded(t, wanted.manifests()), known, span)
				if len(done) > 0 {
					t.Errorf("there is done: %q", done)
				}
				if n, _ := empty.Networks(t.Context(), nil); len(n) > 0 {
					t.Errorf("there was made: %+v", n)
				}
				if after := w.kept(); after != before {
					t.Errorf("the secrets changed")
				}
				if last.Report.Phase == "Provisioned" || last.Report.Phase == "Deleted" {
					t.Errorf("it is told to be %s", last.Report.Phase)
				}
				if text := strings.Join(last.Report.Waiting, "\n"); !strings.Contains(text, "in-memory cloud elsewhere") {
					t.Errorf("it waits for %q", text)
				}
				w.cut = false
				back()
				wanted.gone = false
				last, done = w.dwell(decoded(t, wanted.manifests()), last.Report.Residence, 2*time.Minute)
				if len(done) > 0 || last.Report.Phase != "Provisioned" {
					t.Errorf("back home it is %s, and there is done: %q", last.Report.Phase, done)
				}
				same := func(a, b inmemory.VM) bool { return a.ID == b.ID }
				if !slices.EqualFunc(w.ours(), machines, same) {
					t.Errorf("the machines are others now")
				}
			})
		})
	}
}

// kept returns the secrets of the cluster, as text.
func (w *world) kept() string {
	var b strings.Builder
	for _, name := range append(fleet.Authorities(), fleet.Kubeconfig) {
		d, err := w.secrets.Get(w.t.Context(), fleet.Key{Namespace: "prod", Name: "eu-1"}, name)
		if err != nil {
			b.WriteString(err.Error())
		}
		for _, k := range []string{fleet.TLSCertKey, fleet.KubeconfigKey} {
			b.Write(d[k].Reveal())
		}
	}
	return b.String()
}

// TestMemoryOfOneAgent: whoever has the passes made tells them nothing of where the
// cluster lives, as while the status branch cannot be written. The agent knows.
func TestMemoryOfOneAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.cloud.Close()
		c := clusterSpec{1, 0, "v1.33.5", false}.cluster(t)
		a := w.start()
		defer a.workload.Close()
		for a.r.Pass(a.ctx, c, fleet.Memory{}).Report.Phase != "Provisioned" {
			time.Sleep(5 * time.Second)
		}
		for _, vm := range w.ours() {
			if err := w.cloud.DeleteVM(t.Context(), vm.ID); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Minute)
		last := a.r.Pass(a.ctx, c, fleet.Memory{})
		if text := strings.Join(last.Report.Waiting, "\n"); len(last.Plan.Actions) > 0 || !strings.Contains(text, "a new one would be empty") {
			t.Errorf("without its machines there is done: %v, and it waits for %q", last.Plan.Actions, text)
		}
	})
}

// TestFirstMachineFails: the first machine never comes up, and the agent that made it
// is gone. The next one knows that no control plane ever answered, and tries another.
func TestFirstMachineFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.cloud.Close()
		broken := inmemory.Faults{Lag: lag, SlowDelete: time.Second, FailBoot: []string{"eu-1-cp-*"}}
		if err := w.cloud.SetFaults(t.Context(), broken); err != nil {
			t.Fatal(err)
		}
		c := clusterSpec{1, 1, "v1.33.5", false}.cluster(t)
		last, _ := w.dwell(c, fleet.Residence{}, time.Minute)
		first := w.ours()
		if len(first) != 1 || first[0].State != fleet.MachineFailed {
			t.Fatalf("the first machine: %+v", first)
		}
		broken.FailBoot = nil
		if err := w.cloud.SetFaults(t.Context(), broken); err != nil {
			t.Fatal(err)
		}
		last, done := w.dwell(c, last.Report.Residence, 15*time.Minute)
		if last.Report.Phase != "Provisioned" || !slices.Contains(done, "DeleteMachine "+first[0].Name) {
			t.Errorf("after a restart it is %s, waits for %q, and there was done: %q", last.Report.Phase, last.Report.Waiting, done)
		}
	})
}

// TestRecreate: the cluster is gone for good, with all that it was, and people say
// so: it is made anew, once for each time that they say so.
func TestRecreate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wanted := clusterSpec{1, 1, "v1.33.5", false}
		w := newWorld(t)
		defer w.cloud.Close()
		var reported fleet.Report
		w.reported = func(r fleet.Report) { reported = r }
		w.reach(wanted, fleet.PhaseProvisioned)
		lose := func() {
			for _, vm := range w.ours() {
				if err := w.cloud.DeleteVM(t.Context(), vm.ID); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(time.Minute)
			networks, err := w.cloud.Networks(t.Context(), map[string]string{fleet.TagFleet: "test", fleet.TagCluster: "prod/eu-1"})
			if err != nil || len(networks) != 1 {
				t.Fatal(networks, err)
			}
			if err := w.cloud.DeleteNetwork(t.Context(), networks[0].ID); err != nil {
				t.Fatal(err)
			}
		}
		lose()
		last, done := w.dwell(wanted.cluster(t), reported.Residence, 10*time.Minute)
		if len(done) > 0 {
			t.Fatalf("nobody says that it is gone, and there is done: %q", done)
		}
		w.edit = strings.NewReplacer(`fairlead.dev/delete: "false"`, `fairlead.dev/recreate: "2026-01-01"`)
		c := decoded(t, w.edit.Replace(wanted.manifests()))
		last, _ = w.dwell(c, last.Report.Residence, 10*time.Minute)
		if last.Report.Phase != "Provisioned" {
			t.Fatalf("it is %s, and waits for %q", last.Report.Phase, last.Report.Waiting)
		}
		lose()
		if last, done = w.dwell(c, last.Report.Residence, 10*time.Minute); len(done) > 0 {
			t.Errorf("what was said before is acted on again: %q, %q", done, last.Report.Waiting)
		}
	})
}

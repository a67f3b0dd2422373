package metal3_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/metal3"
	"fairlead.dev/providers/infrastructure/metal3/api"
	"fairlead.dev/providers/infrastructure/metal3/ironic"
	"fairlead.dev/providers/infrastructure/metal3/metal3test"
)

// changes returns the calls of w that may have changed something.
func (w *world) changes() []string {
	var out []string
	for _, c := range w.Calls() {
		if c.Changes() {
			out = append(out, c.Method)
		}
	}
	return out
}

// ask does to a host what people do in Ironic, with no help of Fairlead.
func (w *world) ask(method, host, below string, body any) {
	w.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		w.Fatal(err)
	}
	r, err := http.NewRequestWithContext(w.Context(), method, w.URL()+"/v1/nodes/"+w.namespace+"~"+host+below, bytes.NewReader(text))
	if err != nil {
		w.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-OpenStack-Ironic-API-Version", "1.81")
	r.SetBasicAuth(metal3test.User, metal3test.Password)
	resp, err := w.HTTP().Do(r)
	if err != nil {
		w.Fatal(err)
	}
	if resp.Body.Close(); resp.StatusCode >= http.StatusMultipleChoices {
		w.Fatalf("%s of host %s: %s", method, host, resp.Status)
	}
}

// set changes a field of the node of a host.
func (w *world) set(host, field string, value any) {
	w.Helper()
	w.ask(http.MethodPatch, host, "", []map[string]any{{"op": "add", "path": "/" + field, "value": value}})
}

// patient returns a provider that leaves a host alone for long after a step of it failed.
func (w *world) patient() *metal3.Provider {
	p := metal3.New(metal3.Options{Ironic: ironic.Options{Rate: 10_000}, Tick: tick, Settle: settle, Retry: time.Hour})
	w.Cleanup(p.Close)
	return p
}

// TestRetry: a step that failed is told, and not asked for again before its time. An agent that
// starts anew knows of no failure, and tries.
func TestRetry(t *testing.T) {
	t.Parallel()
	w := doubled(t, "m1")
	c := &w.c
	w.p = w.patient()
	refused := w.FailCalls(metal3test.CallFault{Method: "POST /v1/nodes", Status: 400, Message: "no driver redfish"})
	if err := w.p.EnsureInfrastructure(t.Context(), "op", c); err != nil {
		t.Fatal(err)
	}
	refused.End()
	w.ResetCalls()
	got := w.observe(c)
	if h := hostOf(got, "m1"); !strings.Contains(h.Trouble, "no driver redfish") || h.TroubleIn != fleet.HostRegistrationError || len(got.Upkeep) > 0 {
		t.Errorf("the host is %+v, upkeep %q", h, got.Upkeep)
	}
	if err := w.p.EnsureInfrastructure(t.Context(), "op", c); err != nil || len(w.changes()) > 0 {
		t.Errorf("asked for at once: %q, %v", w.changes(), err)
	}
	w.p = w.provider()
	w.until(c, "available", allFree)
}

// TestRefusedByState: a step that this Ironic does not do in the state that the host is in is told, and
// not asked for at each look.
func TestRefusedByState(t *testing.T) {
	t.Parallel()
	w := doubled(t, "m1")
	c := &w.c
	w.until(c, "available", allFree)
	w.p = w.patient()
	w.settings(c, "m1", virtualization("Enabled"))
	w.FailCalls(metal3test.CallFault{
		Method: "PUT /v1/nodes/*/states/provision", Status: 400,
		Message: `The requested action "manage" can not be performed on node "m1" while it is in state "available".`,
	})
	w.ResetCalls()
	for range 3 {
		if err := w.p.EnsureInfrastructure(t.Context(), "op", c); err != nil {
			t.Fatal(err)
		}
	}
	if h := hostOf(w.observe(c), "m1"); len(w.changes()) != 1 || !strings.Contains(h.Trouble, "can not be performed") {
		t.Errorf("asked for %q, the host is %+v", w.changes(), h)
	}
}

// TestRetryOfIronic: what Ironic began and could not do is left alone for as long, whichever
// agent asked for it.
func TestRetryOfIronic(t *testing.T) {
	t.Parallel()
	w := doubled(t, "m1")
	c := &w.c
	w.until(c, "verified", func(i fleet.Infrastructure) bool { return hostOf(i, "m1").Power == fleet.HostOff })
	w.FailHosts(metal3test.HostFault{At: metal3test.AtWrite, Message: "no space left on device"})
	w.until(c, "available", allFree)
	if err := w.p.CreateMachine(t.Context(), "op", request(c, worker)); err != nil {
		t.Fatal(err)
	}
	w.until(c, "failed", func(i fleet.Infrastructure) bool { return machineOf(i, worker).State == fleet.MachineFailed })
	w.set("m1", "last_error", "The deploying state can't be resumed by conductor lab.")
	w.p = w.patient()
	if got := w.observe(c); len(got.Upkeep) > 0 || hostOf(got, "m1").Next.Do != "deploy it" {
		t.Errorf("it failed just now, upkeep %q, the host is %+v", got.Upkeep, hostOf(got, "m1"))
	}
	w.set("m1", "provision_updated_at", time.Now().Add(-2*time.Hour).UTC().Format(time.RFC3339))
	w.p = w.patient()
	if got := w.observe(c); len(got.Upkeep) != 1 {
		t.Errorf("two hours later upkeep is %q", got.Upkeep)
	}
}

// selecting has machines of the first pool of c go to the host called name.
func (w *world) selecting(c *fleet.Cluster, name string, reuse bool) {
	c.Workers[0].Infrastructure = w.template("md-0", func(s *api.MachineSpec) {
		s.NodeReuse = reuse
		if name != "" {
			s.HostSelector = &api.HostSelector{MatchLabels: map[string]string{"name": name}}
		}
	})
}

// TestNodeReuse: a machine gets the host that one of its pool had before, where Git wishes that,
// and no host of another pool's past.
func TestNodeReuse(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reuse bool
		pool  fleet.PoolName
		want  string
	}{
		"wished for":         {true, "md-0", "/m2/"},
		"not wished for":     {false, "md-0", "/m1/"},
		"of another pool":    {true, "md-1", "/m1/"},
		"of another cluster": {true, "", "/m1/"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := doubled(t, "m1", "m2")
			c := &w.c
			w.until(c, "available", allFree)
			w.selecting(c, "m2", false)
			if m := w.create(c, worker); !strings.Contains(string(m.ProviderID), "/m2/") {
				t.Fatalf("the selector names m2, and the machine is %s", m.ProviderID)
			}
			w.remove(c, worker)
			w.until(c, "available", allFree)
			w.selecting(c, "", tc.reuse)
			if tc.pool == "" {
				c.Key.Name = "eu-2"
			} else {
				c.Workers[0].Name = tc.pool
			}
			if m := w.create(c, "eu-1-md-0-b2c"); !strings.Contains(string(m.ProviderID), tc.want) {
				t.Errorf("the machine is %s, want host %s", m.ProviderID, tc.want)
			}
		})
	}
}

// TestFailureDomain: a machine that is to be in a failure domain gets a host of it, or none.
func TestFailureDomain(t *testing.T) {
	t.Parallel()
	w := doubled(t, "m1", "m2", "m3")
	c := &w.c
	w.until(c, "available", allFree)
	r := request(c, worker)
	r.FailureDomain = "rack-b"
	if err := w.p.CreateMachine(t.Context(), "op-1", r); err != nil {
		t.Fatal(err)
	}
	if m := machineOf(w.observe(c), worker); m.FailureDomain != "rack-b" || !strings.Contains(string(m.ProviderID), "/m2/") {
		t.Errorf("the machine is %+v", m)
	}
	r = request(c, "eu-1-md-0-b2c")
	r.FailureDomain = "rack-b"
	err := w.p.CreateMachine(t.Context(), "op-2", r)
	if fleet.KindOf(err) != fleet.Exhausted || !strings.Contains(err.Error(), "m1 is not in failure domain rack-b") || !strings.Contains(err.Error(), "m2 has machine "+string(worker)) {
		t.Errorf("CreateMachine = %v", err)
	}
	if len(w.observe(c).Machines) != 1 {
		t.Error("it got a host of another failure domain")
	}
}

// TestSilentRamdisk: a host whose ramdisk never calls is a failed machine after Ironic's time, in
// Ironic's words; its host is tried last.
func TestSilentRamdisk(t *testing.T) {
	t.Parallel()
	w := worldOf(t, metal3test.New(t, metal3test.Options{Double: true, Silence: 200 * time.Millisecond}), "m1", "m2")
	c := &w.c
	w.until(c, "available", allFree)
	silent := w.FailHosts(metal3test.HostFault{Host: w.hosts["m1"].Name(), At: metal3test.AtBoot})
	if err := w.p.CreateMachine(t.Context(), "op-1", request(c, worker)); err != nil {
		t.Fatal(err)
	}
	got := w.until(c, "failed", func(i fleet.Infrastructure) bool {
		if h := hostOf(i, "m1"); h.Waits != "" && !strings.HasPrefix(h.Waits, "deploying") && h.Waits != "wait call-back: the ramdisk to call" {
			t.Errorf("the host waits for %q", h.Waits)
		}
		return machineOf(i, worker).State == fleet.MachineFailed
	})
	if m := machineOf(got, worker); !strings.Contains(m.Message, "Timeout reached while waiting for callback") {
		t.Errorf("the machine failed: %s", m.Message)
	}
	w.remove(c, worker)
	silent.End()
	w.until(c, "available", allFree)
	if m := w.create(c, worker); !strings.Contains(string(m.ProviderID), "/m2/") {
		t.Errorf("the next one is %s", m.ProviderID)
	}
}

// TestKept: what people keep in Ironic is not released, and who asks is told what to do there.
func TestKept(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		keep, let func(w *world)
		want      string
	}{
		"protected": {
			func(w *world) { w.set("m1", "protected", true) }, func(w *world) { w.set("m1", "protected", false) },
			"it is protected (unset protected of the node in Ironic)",
		},
		"in maintenance": {
			func(w *world) {
				w.ask(http.MethodPut, "m1", "/maintenance", map[string]string{"reason": "a new disk"})
			},
			func(w *world) { w.ask(http.MethodDelete, "m1", "/maintenance", nil) },
			"it is in maintenance: a new disk",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := doubled(t, "m1")
			c := &w.c
			w.create(c, worker)
			before := w.hosts["m1"].State()
			tc.keep(w)
			w.pause()
			w.ResetCalls()
			err := w.p.DeleteMachine(t.Context(), "op", c, worker, "")
			if fleet.KindOf(err) != fleet.Conflict || !strings.Contains(err.Error(), tc.want) || len(w.changes()) > 0 {
				t.Errorf("DeleteMachine = %v, asked for %q", err, w.changes())
			}
			if s := w.hosts["m1"].State(); s.Boots != before.Boots || !s.On {
				t.Errorf("the host is %+v", s)
			}
			tc.let(w)
			w.pause()
			w.remove(c, worker)
		})
	}
}

// TestPaused: a host that people keep Fairlead from is not prepared, nor is Ironic told of another
// account of its BMC, and the machine on it stays until they let go of it.
func TestPaused(t *testing.T) {
	t.Parallel()
	for _, by := range []string{"paused", "detached"} {
		t.Run(by, func(t *testing.T) {
			t.Parallel()
			w := doubled(t, "m1")
			c := &w.c
			m := w.create(c, worker)
			w.annotate(c, "m1", "baremetalhost.metal3.io/"+by, "")
			old := c.Companions[0].Secrets
			c.Companions[0].Secrets = map[fleet.Key]fleet.SecretData{{Namespace: w.namespace, Name: "m1-bmc"}: secretOf(map[string]string{"username": "new", "password": "new"})}
			w.hosts["m1"].Press(false)
			got := w.until(c, "off", func(i fleet.Infrastructure) bool { return hostOf(i, "m1").Power == fleet.HostOff })
			if len(got.Upkeep) > 0 || hostOf(got, "m1").Held != "it is paused" {
				t.Errorf("upkeep %q, the host is %+v", got.Upkeep, hostOf(got, "m1"))
			}
			c.Companions[0].Secrets = old
			w.ResetCalls()
			wantKind(t, "DeleteMachine", w.p.DeleteMachine(t.Context(), "op", c, worker, m.ProviderID), fleet.Conflict, "/m1 is paused, or detached (remove that annotation")
			if got := w.changes(); len(got) > 0 {
				t.Errorf("asked for: %q", got)
			}
			c.Companions[0].Annotations = nil
			w.remove(c, worker)
			w.annotate(c, "m1", "baremetalhost.metal3.io/"+by, "")
			wantKind(t, "CreateMachine", w.p.CreateMachine(t.Context(), "op", request(c, worker)), fleet.Exhausted, "it is paused")
		})
	}
}

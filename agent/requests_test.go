package agent

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/agent/loop/desired"
	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/rollout"
	"fairlead.dev/sources/status"
)

// A desk is where requests lie, in memory.
type desk struct {
	mu       sync.Mutex
	list     []fleet.Request
	deaf     bool // nothing can be read
	broken   bool // a file cannot be read
	refusing bool // nothing can be written
}

func (d *desk) List(context.Context) ([]fleet.Request, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.deaf {
		return nil, fleet.Errorf(fleet.Unavailable, "read", "no answer")
	}
	if d.broken {
		return slices.Clone(d.list), fleet.Errorf(fleet.Invalid, "read requests/prod/a/x.yaml", "rubbish")
	}
	return slices.Clone(d.list), nil
}

func (d *desk) Answer(_ context.Context, _ fleet.Owner, list, gone []fleet.Request) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.refusing {
		return errors.New("refused")
	}
	for _, r := range list {
		if i := slices.IndexFunc(d.list, r.Identical); i >= 0 {
			d.list[i] = r
		}
	}
	d.list = slices.DeleteFunc(d.list, func(r fleet.Request) bool { return slices.ContainsFunc(gone, r.Identical) })
	return nil
}

// accept lets answers be written from now on.
func (d *desk) accept() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.refusing = false
}

// ask leaves r and lets a poll pass.
func (d *desk) ask(r fleet.Request) {
	d.mu.Lock()
	r.By, r.At = "Ada <ada@example.com>", time.Now()
	d.list = append(slices.DeleteFunc(d.list, r.SameSubject), r)
	d.mu.Unlock()
	time.Sleep(time.Minute)
	synctest.Wait()
}

func (d *desk) withdraw(r fleet.Request) {
	d.mu.Lock()
	d.list = slices.DeleteFunc(d.list, r.SameSubject)
	d.mu.Unlock()
	time.Sleep(time.Minute)
	synctest.Wait()
}

// said returns the answer to r: "Refused: why".
func (d *desk) said(r fleet.Request) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, o := range d.list {
		if o.SameSubject(r) {
			if o.Answer.Message == "" {
				return string(o.Answer.State)
			}
			return string(o.Answer.State) + ": " + o.Answer.Message
		}
	}
	return "gone"
}

// had returns keyA as the last pass had it.
func (w *world) had() *fleet.Cluster {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.wished[keyA]
}

func (w *world) set(list ...fleet.MachineReport) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.machines = list
	w.record.Clusters = []status.Cluster{{Report: fleet.Report{Cluster: keyA, Phase: fleet.PhaseProvisioned, Machines: list, Endpoint: fleet.Endpoint{Host: "10.0.0.1", Port: 6443}}}}
}

func machine(name string, role fleet.Role) fleet.MachineReport {
	pool := fleet.PoolName("md")
	if role == fleet.RoleControlPlane {
		pool = "cp"
	}
	return fleet.MachineReport{Machine: fleet.Machine{Name: fleet.MachineName(name), ProviderID: fleet.ProviderID("sim://" + name), Pool: pool, Role: role, State: fleet.MachineRunning}}
}

func fleetWithPool() fleet.Fleet {
	c := clusterOf(keyA, "1", "x")
	c.ControlPlane = fleet.Pool{Name: "cp", Role: fleet.RoleControlPlane}
	c.Workers = []fleet.Pool{{Name: "md", Role: fleet.RoleWorker}}
	return fleetOf("1", fleet.Prune{}, c)
}

func TestReconcileRequest(t *testing.T) {
	w := newWorld(fleetWithPool())
	r := fleet.Request{Kind: fleet.RequestReconcile, Cluster: keyA}
	bubble(t, w, Options{}, func(t *testing.T, _ *Agent) {
		w.took()
		w.desk.ask(r)
		expect(t, "it is looked at, long before its turn", w.took(), []string{"prod/a 1"})
		expect(t, "and the answer says so", w.desk.said(r), "Done: looked at it: Provisioned")
		time.Sleep(3 * time.Minute)
		expect(t, "once", w.took(), []string(nil))
		time.Sleep(rollout.KeepAnswers + time.Hour)
		expect(t, "answers are not kept for ever", w.desk.said(r), "gone")
	})
}

func TestReplaceRequest(t *testing.T) {
	w := newWorld(fleetWithPool())
	w.set(machine("m1", fleet.RoleWorker), machine("m2", fleet.RoleWorker))
	r := fleet.Request{Kind: fleet.RequestReplace, Cluster: keyA, Machine: "m1", ProviderID: "sim://m1"}
	bubble(t, w, Options{}, func(t *testing.T, _ *Agent) {
		w.desk.ask(r)
		expect(t, "it is accepted", w.desk.said(r), "Accepted")
		want := map[fleet.MachineID]string{{Name: "m1", ProviderID: "sim://m1"}: "asked for by Ada <ada@example.com>"}
		expect(t, "the pool learns of it", w.had().Workers[0].Replace, want)
		time.Sleep(30 * time.Minute)
		expect(t, "as long as it is there it stands", w.desk.said(r), "Accepted")
		w.set(machine("m2", fleet.RoleWorker), fleet.MachineReport{Machine: fleet.Machine{Name: "m1", ProviderID: "sim://another"}})
		time.Sleep(15 * time.Minute)
		expect(t, "it ends with the machine, not with its name", w.desk.said(r), "Done: the machine is gone")
		expect(t, "and the pool forgets it", w.had().Workers[0].Replace, map[fleet.MachineID]string(nil))
		w.desk.ask(r)
		expect(t, "a machine that is gone cannot be replaced", w.desk.said(r),
			"Refused: the cluster has no machine m1 with the provider id sim://m1: fairlead tree shows them")
	})
}

// What is asked of machines is looked up in the file of their cluster: a branch of a
// thousand others is not decoded for it.
func TestRequestReadsOneCluster(t *testing.T) {
	w := newWorld(fleetWithPool())
	w.set(machine("m1", fleet.RoleWorker), machine("m2", fleet.RoleWorker))
	bubble(t, w, Options{}, func(t *testing.T, _ *Agent) {
		before := w.reads.Load()
		for _, name := range []fleet.MachineName{"m1", "m2", "m3"} {
			w.desk.ask(fleet.Request{Kind: fleet.RequestReplace, Cluster: keyA, Machine: name, ProviderID: fleet.ProviderID("sim://" + name)})
		}
		expect(t, "whole branches that were decoded", w.reads.Load()-before, int64(0))
	})
}

func TestRotateRequest(t *testing.T) {
	w := newWorld(fleetWithPool())
	w.phases[keyA] = fleet.PhaseControlPlane
	r := fleet.Request{Kind: fleet.RequestRotate, Cluster: keyA, What: fleet.RotateCertificates}
	bubble(t, w, Options{}, func(t *testing.T, _ *Agent) {
		w.desk.ask(r)
		value := w.had().Rotate[fleet.RotateCertificates]
		if value == "" {
			t.Fatal("the cluster does not learn of it")
		}
		time.Sleep(30 * time.Minute)
		expect(t, "as long as machines are replaced it stands", w.desk.said(r), "Accepted")
		w.mu.Lock()
		w.phases[keyA] = fleet.PhaseProvisioned
		w.mu.Unlock()
		time.Sleep(30 * time.Minute)
		expect(t, "it is done", w.desk.said(r), "Done")
		time.Sleep(rollout.KeepAnswers + time.Hour)
		expect(t, "what the machines were made for stays", w.had().Rotate[fleet.RotateCertificates], value)
		w.desk.ask(r)
		if again := w.had().Rotate[fleet.RotateCertificates]; again == value {
			t.Error("asking again is no new wish")
		}
	})
}

// A plan goes by the requests that an agent would go by.
func TestDesiredWithRequests(t *testing.T) {
	r := fleet.Request{Kind: fleet.RequestSuspend, Cluster: keyA, By: "Ada", Answer: fleet.Answer{State: fleet.RequestAccepted}}
	out := desired.Of(status.Status{Requests: []fleet.Request{r}}, fleetWithPool(), time.Now())
	if len(out.Clusters) != 1 || out.Clusters[0].Suspension == nil {
		t.Errorf("a plan has %+v", out.Clusters)
	}
}

// What cannot be answered is not done either: nobody would know.
func TestNothingIsDoneUnanswered(t *testing.T) {
	w := newWorld(fleetWithPool())
	w.set(machine("m1", fleet.RoleWorker))
	w.desk.refusing = true
	bubble(t, w, Options{}, func(t *testing.T, _ *Agent) {
		w.desk.ask(fleet.Request{Kind: fleet.RequestReplace, Cluster: keyA, Machine: "m1", ProviderID: "sim://m1"})
		time.Sleep(15 * time.Minute)
		expect(t, "the pool does not learn of it", w.had().Workers[0].Replace, map[fleet.MachineID]string(nil))
	})
}

package agent

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/agent/desired"
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

func TestSuspendRequest(t *testing.T) {
	w := newWorld(fleetWithPool())
	r := fleet.Request{Kind: fleet.RequestSuspend, Cluster: keyA, Reason: "moving"}
	bubble(t, w, Options{}, func(t *testing.T, _ *Agent) {
		r.Until = time.Now().Add(time.Hour)
		w.desk.ask(r)
		expect(t, "it is accepted", w.desk.said(r), "Accepted")
		s := w.had().Suspension
		if s == nil || !s.Until.Equal(r.Until) || s.Reason != "asked for by Ada <ada@example.com>: moving" {
			t.Fatalf("the pass had %+v", s)
		}
		time.Sleep(time.Hour)
		expect(t, "it ends by itself", w.desk.said(r), "Done: the time is over")
		expect(t, "and the cluster goes on", w.had().Suspension, (*fleet.Suspension)(nil))
		r.Until = time.Time{}
		w.desk.ask(r)
		if w.had().Suspension == nil {
			t.Fatal("not suspended again")
		}
		w.desk.withdraw(r)
		expect(t, "taken back, it goes on", w.had().Suspension, (*fleet.Suspension)(nil))
	})
}

// An agent that starts knows what stands before it does anything.
func TestSuspendedFromTheFirstPass(t *testing.T) {
	w := newWorld(fleetWithPool())
	w.desk.list = []fleet.Request{{
		Kind: fleet.RequestSuspend, Cluster: keyA, By: "Ada <ada@example.com>", At: time.Unix(1, 0), Answer: fleet.Answer{State: fleet.RequestAccepted, At: time.Unix(2, 0)},
	}}
	w.desk.deaf = true
	bubble(t, w, Options{}, func(t *testing.T, _ *Agent) {
		time.Sleep(5 * time.Minute)
		expect(t, "while the requests cannot be read nothing is done", w.took(), []string(nil))
		w.desk.mu.Lock()
		w.desk.deaf = false
		w.desk.mu.Unlock()
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if c := w.had(); c == nil || c.Suspension == nil {
			t.Fatalf("the first pass had %+v", c)
		}
	})
}

func TestReplaceRequest(t *testing.T) {
	w := newWorld(fleetWithPool())
	w.set(machine("m1", fleet.RoleWorker), machine("m2", fleet.RoleWorker))
	r := fleet.Request{Kind: fleet.RequestReplace, Cluster: keyA, Machine: "m1", ProviderID: "sim://m1"}
	bubble(t, w, Options{}, func(t *testing.T, _ *Agent) {
		w.desk.ask(r)
		expect(t, "it is accepted", w.desk.said(r), "Accepted")
		want := map[fleet.ProviderID]string{"sim://m1": "asked for by Ada <ada@example.com>"}
		expect(t, "the pool learns of it", w.had().Workers[0].Replace, want)
		time.Sleep(30 * time.Minute)
		expect(t, "as long as it is there it stands", w.desk.said(r), "Accepted")
		w.set(machine("m2", fleet.RoleWorker), fleet.MachineReport{Machine: fleet.Machine{Name: "m1", ProviderID: "sim://another"}})
		time.Sleep(15 * time.Minute)
		expect(t, "it ends with the machine, not with its name", w.desk.said(r), "Done: the machine is gone")
		expect(t, "and the pool forgets it", w.had().Workers[0].Replace, map[fleet.ProviderID]string(nil))
		w.desk.ask(r)
		expect(t, "a machine that is gone cannot be replaced", w.desk.said(r),
			"Refused: the cluster has no machine m1 with the provider id sim://m1: fairlead tree shows them")
	})
}

func TestRefusedRequests(t *testing.T) {
	w := newWorld(fleetWithPool())
	gone := machine("going", fleet.RoleWorker)
	gone.Machine.State = fleet.MachineDeleting
	stray := machine("stray", fleet.RoleWorker)
	stray.Machine.Pool = "old"
	w.set(machine("cp", fleet.RoleControlPlane), gone, stray)
	for r, want := range map[fleet.Request]string{
		{Kind: fleet.RequestReconcile, Cluster: fleet.Key{Namespace: "prod", Name: "none"}}:             "Refused: the fleet has no cluster prod/none: fairlead status lists them",
		{Kind: fleet.RequestRemediate, Cluster: keyA, Machine: "cp", ProviderID: "sim://cp"}:            "Refused: it is the last machine of the control plane: replace makes another one first",
		{Kind: fleet.RequestRemediate, Cluster: keyA, Machine: "going", ProviderID: "sim://going"}:      "Refused: the machine is being deleted already",
		{Kind: fleet.RequestReplace, Cluster: keyA, Machine: "stray", ProviderID: "sim://stray"}:        "Refused: pool old is not in Git any more: its machines go",
		{Kind: fleet.RequestSuspend, Cluster: keyA, Until: time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC)}: "Refused: 1999-01-01T00:00:00Z is over",
		{Kind: fleet.RequestAbandon, Cluster: keyA}:                                                     "Refused: the cluster is in Git: remove it there, or annotate it with fairlead.dev/delete: abandon",
	} {
		t.Run(r.String(), func(t *testing.T) {
			bubble(t, w, Options{}, func(t *testing.T, _ *Agent) {
				w.desk.ask(r)
				expect(t, "answer", w.desk.said(r), want)
			})
		})
	}
}

// The last machine of a control plane is one by its role or by its pool, whatever the
// other one was changed to: a request that was accepted would stand for good.
func TestLastMachineByAnyTag(t *testing.T) {
	for name, damage := range map[string]func(cp, worker *fleet.Machine){
		"role":             func(cp, _ *fleet.Machine) { cp.Role = fleet.RoleWorker },
		"pool":             func(cp, _ *fleet.Machine) { cp.Pool = "md" },
		"role of a worker": func(_, worker *fleet.Machine) { worker.Role = fleet.RoleControlPlane },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(fleetWithPool())
			cp, worker := machine("cp", fleet.RoleControlPlane), machine("m1", fleet.RoleWorker)
			damage(&cp.Machine, &worker.Machine)
			w.set(cp, worker)
			bubble(t, w, Options{}, func(t *testing.T, _ *Agent) {
				r := fleet.Request{Kind: fleet.RequestRemediate, Cluster: keyA, Machine: "cp", ProviderID: "sim://cp"}
				w.desk.ask(r)
				expect(t, "answer", w.desk.said(r), "Refused: it is the last machine of the control plane: replace makes another one first")
			})
		})
	}
}

// A request that was accepted while the control plane had another machine ends where it
// has none any more: it would stand for good.
func TestTheOtherMachineGoes(t *testing.T) {
	f := fleetWithPool()
	f.Clusters[0].ControlPlane.Replicas = 1
	w := newWorld(f)
	cp, other := machine("cp", fleet.RoleControlPlane), machine("other", fleet.RoleControlPlane)
	w.set(cp, other, machine("m1", fleet.RoleWorker))
	bubble(t, w, Options{}, func(t *testing.T, _ *Agent) {
		r := fleet.Request{Kind: fleet.RequestRemediate, Cluster: keyA, Machine: "cp", ProviderID: "sim://cp"}
		w.desk.ask(r)
		time.Sleep(30 * time.Minute)
		expect(t, "with the other one", w.desk.said(r), "Accepted")
		w.set(cp, machine("m1", fleet.RoleWorker))
		time.Sleep(15 * time.Minute)
		expect(t, "without it", w.desk.said(r), "Refused: it is the last machine of the control plane: replace makes another one first")
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

// A protected cluster is not forgotten, though it vanished from Git.
func TestProtectedIsNotAbandoned(t *testing.T) {
	wanted := fleetWithPool()
	wanted.Clusters[0].Protect = true
	w := newWorld(wanted, fleetOf("2", fleet.Prune{}, clusterOf(keyB, "2", "x")))
	r := fleet.Request{Kind: fleet.RequestAbandon, Cluster: keyA}
	bubble(t, w, Options{}, func(t *testing.T, _ *Agent) {
		w.push("2")
		w.desk.ask(r)
		expect(t, "answer", w.desk.said(r), "Refused: the cluster is protected by fairlead.dev/protect: remove that first")
		expect(t, "it stays an orphan", w.whole().Orphans, []fleet.Key{keyA})
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

// A request that nobody can read is told of, and holds up no other.
func TestBrokenRequest(t *testing.T) {
	w := newWorld(fleetWithPool())
	w.desk.broken = true
	r := fleet.Request{Kind: fleet.RequestReconcile, Cluster: keyA}
	bubble(t, w, Options{}, func(t *testing.T, _ *Agent) {
		w.desk.ask(r)
		expect(t, "others are answered", w.desk.said(r), "Done: looked at it: Provisioned")
		expect(t, "and it is told of", w.whole().Problems, []fleet.Problem{{
			Message: "what people ask for cannot be read: cannot read requests/prod/a/x.yaml: rubbish", Hint: "repair or delete the file on the status branch",
		}})
		w.desk.mu.Lock()
		w.desk.broken = false
		w.desk.mu.Unlock()
		time.Sleep(time.Minute)
		expect(t, "until it is gone", w.whole().Problems, []fleet.Problem(nil))
	})
}

// What cannot be answered is not done either: nobody would know.
func TestNothingIsDoneUnanswered(t *testing.T) {
	w := newWorld(fleetWithPool())
	w.set(machine("m1", fleet.RoleWorker))
	w.desk.refusing = true
	bubble(t, w, Options{}, func(t *testing.T, _ *Agent) {
		w.desk.ask(fleet.Request{Kind: fleet.RequestReplace, Cluster: keyA, Machine: "m1", ProviderID: "sim://m1"})
		time.Sleep(15 * time.Minute)
		expect(t, "the pool does not learn of it", w.had().Workers[0].Replace, map[fleet.ProviderID]string(nil))
	})
}

// A cluster is forgotten once the answer that it will be is written, and is there to be
// answered about until then.
func TestNothingIsAbandonedUnanswered(t *testing.T) {
	w := newWorld(fleetWithPool(), fleetOf("2", fleet.Prune{}, clusterOf(keyB, "2", "x")))
	r := fleet.Request{Kind: fleet.RequestAbandon, Cluster: keyA}
	w.desk.refusing = true
	bubble(t, w, Options{}, func(t *testing.T, _ *Agent) {
		w.push("2")
		w.desk.ask(r)
		time.Sleep(15 * time.Minute)
		expect(t, "it is an orphan still", w.whole().Orphans, []fleet.Key{keyA})
		expect(t, "nothing is forgotten", w.forgotten, []fleet.Key(nil))
		w.desk.accept()
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := w.desk.said(r); !strings.HasPrefix(got, "Done: ") {
			t.Errorf("the answer is %q", got)
		}
		expect(t, "and then it is", w.whole().Orphans, []fleet.Key(nil))
	})
}

func TestAbandon(t *testing.T) {
	wanted := fleetWithPool()
	without := fleetOf("2", fleet.Prune{}, clusterOf(keyB, "2", "x"))
	r := fleet.Request{Kind: fleet.RequestAbandon, Cluster: keyA}
	left := "stays behind: machine m1 (sim://m1), API server at 10.0.0.1:6443, the infrastructure around them, and the cluster's secrets; fairlead orphans finds what carries the fleet's tags"
	t.Run("an orphan", func(t *testing.T) {
		w := newWorld(wanted, without)
		w.set(machine("m1", fleet.RoleWorker))
		bubble(t, w, Options{}, func(t *testing.T, _ *Agent) {
			w.push("2")
			expect(t, "it is an orphan", w.whole().Orphans, []fleet.Key{keyA})
			w.desk.ask(r)
			expect(t, "it says what stays", w.desk.said(r), "Done: "+left)
			expect(t, "its status goes", w.forgotten, []fleet.Key{keyA, keyA}) // by reconciler and status
		})
	})
	t.Run("that cannot be deleted", func(t *testing.T) {
		deleting := fleetWithPool()
		deleting.Revision, deleting.Clusters[0].Revision = revision("3"), revision("3")
		deleting.Clusters[0].Delete, deleting.Clusters[0].Digest = true, "deleted"
		w := newWorld(wanted, deleting, without)
		w.set(machine("m1", fleet.RoleWorker))
		w.phases[keyA] = fleet.PhaseDeleting
		bubble(t, w, Options{}, func(t *testing.T, _ *Agent) {
			w.push("3")
			w.took()
			w.desk.ask(r)
			expect(t, "it says what stays", w.desk.said(r), "Accepted: "+left)
			expect(t, "the phase says it", w.of(keyA).Phase, fleet.PhaseAbandoned)
			time.Sleep(30 * time.Minute)
			expect(t, "nothing is done any more", w.took(), []string(nil))
			w.push("2")
			time.Sleep(time.Minute)
			expect(t, "gone from Git it is forgotten", w.desk.said(r), "Done: "+left)
			expect(t, "and no orphan", w.whole().Orphans, []fleet.Key(nil))
		})
	})
	t.Run("declared", func(t *testing.T) {
		c := fleetWithPool()
		c.Revision, c.Clusters[0].Revision = revision("3"), revision("3")
		c.Clusters[0].Abandon, c.Clusters[0].Digest = true, "abandoned"
		w := newWorld(wanted, c, without)
		bubble(t, w, Options{}, func(t *testing.T, _ *Agent) {
			w.took()
			w.push("3")
			expect(t, "nothing is done any more", w.took(), []string(nil))
			expect(t, "the phase says it", w.of(keyA).Phase, fleet.PhaseAbandoned)
			w.push("2")
			expect(t, "it is no orphan", w.whole().Orphans, []fleet.Key(nil))
			_, there := w.report(keyA)
			expect(t, "its status goes", there, false)
		})
	})
}

// TestUnreadableSuspensionAtTheStart: an agent that starts where a suspension cannot be read
// does start, and its first pass leaves the cluster alone, unless keys say who may ask:
// then it is told, and suspends nothing.
func TestUnreadableSuspensionAtTheStart(t *testing.T) {
	for name, c := range map[string]struct {
		distrusted string
		suspended  bool
	}{
		"no keys": {"", true},
		"keys":    {"it cannot be read", false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(fleetWithPool())
			w.desk.broken = true
			w.desk.list = []fleet.Request{{
				Kind: fleet.RequestSuspend, Cluster: keyA, By: "a file that cannot be read", Unreadable: true, Distrusted: c.distrusted,
				Answer: fleet.Answer{State: fleet.RequestAccepted},
			}}
			var first []bool // whether it was suspended, by pass
			w.onPass = func(c *fleet.Cluster) { first = append(first, c.Suspension != nil) }
			bubble(t, w, Options{}, func(t *testing.T, _ *Agent) {
				w.mu.Lock()
				defer w.mu.Unlock()
				if len(first) == 0 {
					t.Fatal("the agent does not start")
				}
				for _, suspended := range first {
					expect(t, "the cluster is suspended", suspended, c.suspended)
				}
			})
		})
	}
}

// TestUnreadableSuspensionWithKeys: where keys say who may ask, what cannot be read stops
// no cluster by itself, and a suspension that counted is not ended by damage to its file.
func TestUnreadableSuspensionWithKeys(t *testing.T) {
	damaged := fleet.Request{
		Kind: fleet.RequestSuspend, Cluster: keyA, By: "a file that cannot be read", Unreadable: true, Distrusted: "it cannot be read",
		Answer: fleet.Answer{State: fleet.RequestAccepted},
	}
	put := func(w *world, broken bool, list ...fleet.Request) {
		w.desk.mu.Lock()
		w.desk.list, w.desk.broken = list, broken
		w.desk.mu.Unlock()
		time.Sleep(15 * time.Minute)
		synctest.Wait()
	}
	w := newWorld(fleetWithPool())
	bubble(t, w, Options{}, func(t *testing.T, _ *Agent) {
		put(w, true, damaged)
		expect(t, "by what cannot be read the cluster is suspended", w.had().Suspension != nil, false)
		good := fleet.Request{Kind: fleet.RequestSuspend, Cluster: keyA, By: "Ada <ada@example.com>", At: time.Now(), Signature: "x"}
		put(w, false, good)
		expect(t, "by what is signed the cluster is suspended", w.had().Suspension != nil, true)
		put(w, true, damaged)
		expect(t, "with a damaged file the cluster is suspended", w.had().Suspension != nil, true)
		expect(t, "the suspension that stands", w.had().Suspension.Reason, "asked for by Ada <ada@example.com>")
		w.desk.mu.Lock()
		expect(t, "the damaged file", w.desk.list[0].Answer.State, fleet.RequestAccepted) // nobody wrote over it
		w.desk.mu.Unlock()
		put(w, false)
		expect(t, "once it was taken back the cluster is suspended", w.had().Suspension != nil, false)
	})
}

// A request that nobody trusted signed is refused, be an answer in it that somebody else
// wrote; one that was signed long ago is not taken for a new one.
func TestDistrustedRequests(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*fleet.Request)
		want   string
	}{
		"unsigned":           {func(r *fleet.Request) { r.Distrusted = "it is not signed" }, "Refused: it is not signed: ask with --signing-key, and one of the keys that may ask"},
		"answered by itself": {func(r *fleet.Request) { r.Distrusted, r.Answer.State = "it is not signed", fleet.RequestAccepted }, "Refused: it is not signed: ask with --signing-key, and one of the keys that may ask"},
		"signed":             {func(r *fleet.Request) { r.Signature = "x" }, "Accepted"},
		"an old one again":   {func(r *fleet.Request) { r.Signature, r.At = "x", r.At.Add(-rollout.KeepAnswers-time.Hour) }, "Refused: it was signed more than a week ago: ask again"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(fleetWithPool())
			bubble(t, w, Options{}, func(t *testing.T, _ *Agent) {
				r := fleet.Request{Kind: fleet.RequestSuspend, Cluster: keyA, By: "Ada <ada@example.com>", At: time.Now()}
				c.change(&r)
				w.desk.mu.Lock()
				w.desk.list = []fleet.Request{r}
				w.desk.mu.Unlock()
				time.Sleep(time.Minute)
				synctest.Wait()
				expect(t, "answer", w.desk.said(r), c.want)
				time.Sleep(15 * time.Minute)
				expect(t, "the cluster is suspended", w.had().Suspension != nil, c.want == "Accepted")
			})
		})
	}
}

// What Git has is not known before the first revision: until then nothing is forgotten,
// and no request is answered as if Git had nothing.
func TestRequestsBeforeTheFirstRevision(t *testing.T) {
	deleting := fleetWithPool()
	deleting.Clusters[0].Delete = true
	w := newWorld(deleting)
	w.phases[keyA] = fleet.PhaseDeleting
	w.record.Clusters = []status.Cluster{{Report: fleet.Report{Cluster: keyA, Phase: fleet.PhaseDeleting, Revision: revision("1")}}}
	accepted := fleet.Answer{State: fleet.RequestAccepted, At: time.Unix(2, 0)}
	abandon := fleet.Request{Kind: fleet.RequestAbandon, Cluster: keyA, By: "Ada", At: time.Unix(1, 0), Answer: accepted}
	suspend := fleet.Request{Kind: fleet.RequestSuspend, Cluster: keyB, By: "Ada", At: time.Unix(1, 0), Answer: accepted}
	reconcile := fleet.Request{Kind: fleet.RequestReconcile, Cluster: keyA, By: "Ada", At: time.Unix(1, 0)}
	w.desk.list = []fleet.Request{abandon, suspend, reconcile}
	w.refused[revision("1").Digest] = fleet.Errorf(fleet.Unavailable, "render", "no answer")
	bubble(t, w, Options{StatusBranch: "status"}, func(t *testing.T, _ *Agent) {
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		expect(t, "forgotten without a revision", w.forgotten, []fleet.Key(nil))
		expect(t, "a request to abandon", w.desk.said(abandon), "Accepted")
		expect(t, "a suspension of a cluster that is not on the record", w.desk.said(suspend), "Accepted")
		expect(t, "a request that nobody answered", w.desk.said(reconcile), "")
		w.mu.Lock()
		delete(w.refused, revision("1").Digest)
		w.mu.Unlock()
		time.Sleep(15 * time.Minute)
		synctest.Wait()
		expect(t, "its phase", w.of(keyA).Phase, fleet.PhaseAbandoned)
		expect(t, "nothing was deleted", w.took(), []string(nil))
	})
}

// An agent that ends between the answer and the deed leaves the deed to the next one.
func TestAbandonAfterARestart(t *testing.T) {
	w := newWorld(fleetOf("1", fleet.Prune{}, clusterOf(keyB, "1", "x")))
	w.record.Fleet.Orphans = []fleet.Key{keyA}
	w.record.Clusters = []status.Cluster{{Report: fleet.Report{Cluster: keyA, Phase: fleet.PhaseProvisioned, Revision: revision("0")}}}
	r := fleet.Request{Kind: fleet.RequestAbandon, Cluster: keyA, By: "Ada", At: time.Unix(1, 0), Answer: fleet.Answer{State: fleet.RequestAccepted, Message: "stays behind"}}
	w.desk.list = []fleet.Request{r}
	bubble(t, w, Options{}, func(t *testing.T, _ *Agent) {
		time.Sleep(time.Minute)
		synctest.Wait()
		expect(t, "the answer", w.desk.said(r), "Done: stays behind")
		expect(t, "its status goes", w.forgotten, []fleet.Key{keyA, keyA}) // by reconciler and status
		expect(t, "and it is no orphan", w.whole().Orphans, []fleet.Key(nil))
	})
}

// A suspension ends on time, and its request is answered then, however seldom polls are.
func TestSuspensionEndsOnTime(t *testing.T) {
	w := newWorld(fleetWithPool())
	bubble(t, w, Options{Interval: 24 * time.Hour}, func(t *testing.T, a *Agent) {
		r := fleet.Request{Kind: fleet.RequestSuspend, Cluster: keyA, By: "Ada", At: time.Now(), Until: time.Now().Add(time.Hour)}
		w.desk.mu.Lock()
		w.desk.list = []fleet.Request{r}
		w.desk.mu.Unlock()
		a.Poll()
		time.Sleep(time.Minute)
		synctest.Wait()
		expect(t, "it is accepted", w.desk.said(r), "Accepted")
		time.Sleep(time.Hour - time.Minute + time.Second)
		synctest.Wait()
		expect(t, "it is over", w.desk.said(r), "Done: the time is over")
		polls := w.polls.Load()
		time.Sleep(time.Hour)
		synctest.Wait()
		expect(t, "polls without a reason", w.polls.Load()-polls, int64(0))
	})
}

package agent

import (
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/rollout"
	"fairlead.dev/sources/status"
)

func TestRefusedRequests(t *testing.T) {
	w := newWorld(fleetWithPool())
	gone := machine("going", fleet.RoleWorker)
	gone.Machine.State = fleet.MachineDeleting
	stray := machine("stray", fleet.RoleWorker)
	stray.Machine.Pool = "old"
	w.set(machine("cp", fleet.RoleControlPlane), gone, stray)
	for _, c := range []struct {
		r    fleet.Request
		want string
	}{
		{fleet.Request{Kind: fleet.RequestReconcile, Cluster: fleet.Key{Namespace: "prod", Name: "none"}}, "Refused: the fleet has no cluster prod/none: fairlead status lists them"},
		{fleet.Request{Kind: fleet.RequestRemediate, Cluster: keyA, Machine: "cp", ProviderID: "sim://cp"}, "Refused: it is the last machine of the control plane: replace makes another one first"},
		{fleet.Request{Kind: fleet.RequestRemediate, Cluster: keyA, Machine: "going", ProviderID: "sim://going"}, "Refused: the machine is being deleted already"},
		{fleet.Request{Kind: fleet.RequestReplace, Cluster: keyA, Machine: "stray", ProviderID: "sim://stray"}, "Refused: pool old is not in Git any more: its machines go"},
		{fleet.Request{Kind: fleet.RequestSuspend, Cluster: keyA, Until: time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC)}, "Refused: 1999-01-01T00:00:00Z is over"},
		{fleet.Request{Kind: fleet.RequestAbandon, Cluster: keyA}, "Refused: the cluster is in Git: remove it there, or annotate it with fairlead.dev/delete: abandon"},
	} {
		t.Run(c.r.String(), func(t *testing.T) {
			bubble(t, w, Options{}, func(t *testing.T, _ *Agent) {
				w.desk.ask(c.r)
				expect(t, "answer", w.desk.said(c.r), c.want)
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

// A request that nobody trusted signed is refused, be an answer in it that somebody else
// wrote; one that was signed long ago is not taken for a new one.
func TestDistrustedRequests(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*fleet.Request)
		want   string
	}{
		"unsigned":           {func(r *fleet.Request) { r.Distrusted = "it is not signed" }, "Refused: it is not signed: repeat the command with --signing-key and one of the request keys of the fleet"},
		"answered by itself": {func(r *fleet.Request) { r.Distrusted, r.Answer.State = "it is not signed", fleet.RequestAccepted }, "Refused: it is not signed: repeat the command with --signing-key and one of the request keys of the fleet"},
		"signed":             {func(r *fleet.Request) { r.Signature = "x" }, "Accepted"},
		"an old one again":   {func(r *fleet.Request) { r.Signature, r.At = "x", r.At.Add(-rollout.KeepAnswers-time.Hour) }, "Refused: it was signed more than a week ago: repeat the command"},
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

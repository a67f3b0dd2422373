package reconcile_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/fleet"
	"fairlead.dev/reconcile"
)

func TestRecovery(t *testing.T) {
	for kind, want := range map[fleet.ErrorKind][]time.Duration{ // after the 1st, 2nd, 3rd and 20th failure in a row
		fleet.Unknown:      {time.Second, 2 * time.Second, 4 * time.Second, 2 * time.Minute},
		fleet.Unavailable:  {time.Second, 2 * time.Second, 4 * time.Second, time.Minute},
		fleet.Unanswered:   {time.Second, 2 * time.Second, 4 * time.Second, time.Minute},
		fleet.NotFound:     {time.Second, 2 * time.Second, 4 * time.Second, time.Minute},
		fleet.Conflict:     {time.Second, 2 * time.Second, 4 * time.Second, time.Minute},
		fleet.Exhausted:    {30 * time.Second, time.Minute, 2 * time.Minute, 10 * time.Minute},
		fleet.Unauthorized: {30 * time.Second, time.Minute, 2 * time.Minute, 10 * time.Minute},
		fleet.Invalid:      {10 * time.Minute, 10 * time.Minute, 10 * time.Minute, 10 * time.Minute},
		"NewKind":          {time.Second, 2 * time.Second, 4 * time.Second, 2 * time.Minute},
	} {
		c := clusterSpec{1, 0, "v1.33.5", false}.cluster(t)
		s := newStub(c, 1)
		r := s.reconciler(t, c)
		for round := range 2 { // a pass that goes well begins anew
			s.lookErr = fleet.Errorf(kind, "list machines", "no")
			var got []time.Duration
			for n := 1; n <= 20; n++ {
				if res := r.Pass(t.Context(), c, fleet.Memory{}); n <= 3 || n == 20 {
					got = append(got, res.After)
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s, round %d: waits %v, want %v", kind, round, got, want)
			}
			s.lookErr = nil
			r.Pass(t.Context(), c, fleet.Memory{})
		}
	}
}

// TestAFailureHoldsNothingElseUp drains a node while CoreDNS cannot be brought
// in line: the draining goes on at its own pace.
func TestAFailureHoldsNothingElseUp(t *testing.T) {
	c := clusterSpec{1, 0, "v1.33.5", false}.cluster(t)
	s := newStub(c, 1)
	s.steps = []fleet.Step{{Name: "SyncAddons", When: fleet.AfterControlPlane, Reason: "of another version"}}
	s.seen.Machines = append(s.seen.Machines, fleet.Machine{Name: "eu-1-gone-x", Pool: "gone", Role: fleet.RoleWorker, State: fleet.MachineRunning})
	s.workload.Nodes = append(s.workload.Nodes, fleet.Node{
		Name: "eu-1-gone-x", Ready: true, Draining: true, DrainStarted: s.now, Pods: []fleet.Pod{{Namespace: "default", Name: "web"}},
		Annotations: fleet.NodeAnnotations(c.Key, fleet.Pool{Name: "gone"}, "eu-1-gone-x"),
	})
	r := s.reconciler(t, c)
	var got []time.Duration
	for range 3 {
		res := r.Pass(t.Context(), c, fleet.Memory{})
		if !strings.Contains(res.Report.Failure, "no way back") {
			t.Errorf("failure: %q", res.Report.Failure)
		}
		got = append(got, res.After)
		s.now = s.now.Add(res.After)
	}
	// After a drain another look, then none before the next drain is due.
	if want := []time.Duration{50 * time.Millisecond, 20*time.Second - 50*time.Millisecond, 50 * time.Millisecond}; !slices.Equal(got, want) {
		t.Errorf("waits %v, want %v; calls %v", got, want, s.calls)
	}
}

// TestAReportOutlivesABlindLook has a look fail: what was known is still told,
// and the failure with it.
func TestAReportOutlivesABlindLook(t *testing.T) {
	c := clusterSpec{1, 0, "v1.33.5", false}.cluster(t)
	s := newStub(c, 1)
	r := s.reconciler(t, c)
	if first := r.Pass(t.Context(), c, fleet.Memory{}); first.Err != nil || first.Report.Phase != fleet.PhaseProvisioned {
		t.Fatalf("first pass: %s %v", first.Report.Phase, first.Err)
	}
	s.lookErr = fleet.Errorf(fleet.Unavailable, "list machines", "503 from the cloud")
	c.Revision = fleet.Revision{Ref: "main", Digest: "sha1:2"}
	got := r.Pass(t.Context(), c, fleet.Memory{}).Report
	if got.Phase != fleet.PhaseProvisioned || len(got.Machines) != 1 || len(got.Conditions) == 0 || got.Revision != c.Revision {
		t.Errorf("after a blind look: %+v", got)
	}
	if !strings.Contains(got.Failure, "503 from the cloud") {
		t.Errorf("failure %q does not say why", got.Failure)
	}
	if fresh := s.reconciler(t, c).Pass(t.Context(), c, fleet.Memory{}).Report; fresh.Phase != "" {
		t.Errorf("an agent that never saw anything reports phase %s", fresh.Phase)
	}
}

// TestMayRefuses looks and reports, and changes nothing.
func TestMayRefuses(t *testing.T) {
	c := clusterSpec{1, 0, "v1.33.5", false}.cluster(t)
	s := newStub(c, 1)
	s.seen.Ready = false
	s.owner = errors.New("agent b owns the fleet")
	res := s.reconciler(t, c).Pass(t.Context(), c, fleet.Memory{})
	if len(s.calls) > 0 || len(res.Report.Actions) > 0 {
		t.Errorf("done without permission: %v %v", s.calls, res.Report.Actions)
	}
	if res.Report.Phase != fleet.PhaseInfrastructure || !strings.Contains(res.Report.Failure, "agent b owns the fleet") || res.After == 0 {
		t.Errorf("report %s %q, after %s", res.Report.Phase, res.Report.Failure, res.After)
	}
}

// TestMayRefusesHalfWay loses the right to act after the plan is made.
func TestMayRefusesHalfWay(t *testing.T) {
	c := clusterSpec{1, 0, "v1.33.5", false}.cluster(t)
	s := newStub(c, 1)
	s.seen.Ready = false
	s.owner, s.deposed = errors.New("agent b owns the fleet"), 2
	s.reconciler(t, c).Pass(t.Context(), c, fleet.Memory{})
	if len(s.calls) > 0 || s.asked < 2 {
		t.Errorf("done without permission: %v, which was asked for %d times", s.calls, s.asked)
	}
}

// TestAPlanThatIsTooOld sleeps between the look and what comes of it, as a laptop
// does: nothing is done, nothing failed, and the next pass does it.
func TestAPlanThatIsTooOld(t *testing.T) {
	c := clusterSpec{1, 0, "v1.33.5", false}.cluster(t)
	s := newStub(c, 1)
	s.seen.Ready = false
	s.sleeps = time.Hour
	r := s.reconciler(t, c)
	res := r.Pass(t.Context(), c, fleet.Memory{})
	if len(s.calls) > 0 || len(res.Report.Actions) > 0 || res.Err != nil || res.After > time.Second {
		t.Errorf("done on an old look: %v %v, failure %v, again after %s", s.calls, res.Report.Actions, res.Err, res.After)
	}
	if r.Pass(t.Context(), c, fleet.Memory{}); !slices.Equal(s.calls, []string{"EnsureInfrastructure"}) {
		t.Errorf("done on the next look: %v", s.calls)
	}
}

// TestClose closes the connections to all clusters, since another agent or
// replica opens its own, and is told of changes by them.
func TestClose(t *testing.T) {
	c := clusterSpec{1, 0, "v1.33.5", false}.cluster(t)
	s := newStub(c, 1)
	r := s.reconciler(t, c)
	r.Pass(t.Context(), c, fleet.Memory{})
	s.calls = nil
	r.Close()
	if want := []string{"Forget " + c.Key.String()}; !slices.Equal(s.calls, want) {
		t.Errorf("calls %v, want %v", s.calls, want)
	}
}

// TestEtcdIsLookedAtWhenNeeded scales a control plane: only then etcd is looked
// at, and while it cannot be seen nothing is done.
func TestEtcdIsLookedAtWhenNeeded(t *testing.T) {
	c := clusterSpec{1, 0, "v1.33.5", false}.cluster(t)
	s := newStub(c, 1)
	r := s.reconciler(t, c)
	r.Pass(t.Context(), c, fleet.Memory{})
	s.now = s.now.Add(2 * time.Minute)
	if r.Pass(t.Context(), c, fleet.Memory{}); len(s.calls) > 0 {
		t.Fatalf("calls at rest: %v", s.calls)
	}
	c = clusterSpec{3, 0, "v1.33.5", false}.cluster(t)
	s.etcd, s.etcdDown = nil, fleet.Errorf(fleet.Unavailable, "list members", "no leader")
	res := r.Pass(t.Context(), c, fleet.Memory{})
	if want := []string{"Etcd"}; !slices.Equal(s.calls, want) || !strings.Contains(res.Report.Failure, "no leader") {
		t.Errorf("blind for etcd: calls %v, want %v; failure %q", s.calls, want, res.Report.Failure)
	}
	s.calls, s.etcd, s.etcdDown = nil, newStub(c, 1).etcd, nil
	if res = r.Pass(t.Context(), c, fleet.Memory{}); !slices.Equal(s.calls, []string{"Etcd", "CreateMachine"}) {
		t.Errorf("calls %v, waiting %q", s.calls, res.Report.Waiting)
	}
}

// TestTheSameAgainWaitsLonger repeats an action that says yes and helps nothing.
func TestTheSameAgainWaitsLonger(t *testing.T) {
	c := clusterSpec{1, 0, "v1.33.5", false}.cluster(t)
	s := newStub(c, 1)
	s.seen.Ready = false
	r := s.reconciler(t, c)
	var got []time.Duration
	for range 12 {
		got = append(got, r.Pass(t.Context(), c, fleet.Memory{}).After)
		s.now = s.now.Add(time.Minute)
	}
	if len(s.calls) != 12 || got[0] != 50*time.Millisecond || got[1] != 100*time.Millisecond || got[11] != 30*time.Second {
		t.Errorf("%d calls, waits %v", len(s.calls), got)
	}
}

// TestAnyAnswerProvesLife has the first machine not join: it is replaced when
// its API server was silent all the time, not when that refused to talk.
func TestAnyAnswerProvesLife(t *testing.T) {
	for kind, want := range map[fleet.ErrorKind][]string{
		fleet.Unavailable:  {"DeleteMachine"},
		fleet.Unanswered:   {"DeleteMachine"},
		fleet.Unauthorized: nil,
		fleet.Unknown:      nil,
	} {
		c, s := checked(t)
		s.down = fleet.Errorf(kind, "list nodes", "no")
		r := s.reconciler(t, c)
		s.passes(t, r, c, 10)
		s.down = fleet.Errorf(fleet.Unavailable, "list nodes", "no")
		s.passes(t, r, c, 2)
		if !slices.Contains(want, "DeleteMachine") && len(s.calls) > 0 || want != nil && !slices.Contains(s.calls, "DeleteMachine") {
			t.Errorf("%s: calls %v, want %v", kind, s.calls, want)
		}
	}
}

// checked returns a cluster of one machine with a health check, and its stub.
func checked(t *testing.T) (*fleet.Cluster, *stub) {
	c := clusterSpec{1, 0, "v1.33.5", false}.cluster(t)
	c.HealthChecks = []clusterv1.MachineHealthCheck{{ObjectMeta: metav1.ObjectMeta{Name: "all"}}}
	return c, newStub(c, 1)
}

// passes makes n passes of r over c, which is not known to have had a control plane, each
// with a minute after it.
func (s *stub) passes(t *testing.T, r *reconcile.Reconciler, c *fleet.Cluster, n int) {
	s.passesOf(t, r, c, fleet.Memory{Residence: fleet.Residence{ControlPlane: fleet.NeverInitialized}}, n)
}

// passesOf makes n passes of r over c, of which that is remembered, each with a minute after it.
func (s *stub) passesOf(t *testing.T, r *reconcile.Reconciler, c *fleet.Cluster, known fleet.Memory, n int) {
	for range n {
		r.Pass(t.Context(), c, known)
		s.now = s.now.Add(time.Minute)
	}
}

// TestFailedLooksProveNothing hides the infrastructure for a while, after the first look or before
// it. The API server may have answered in that time: its silence counts from the first look
// after it, whether or not anything is remembered of the control plane.
func TestFailedLooksProveNothing(t *testing.T) {
	for _, before := range []int{0, 1} {
		c, s := checked(t)
		s.seen.Machines[0].Created = s.now.Add(time.Second) // this agent asked for it
		s.down = fleet.Errorf(fleet.Unavailable, "list nodes", "no")
		r := s.reconciler(t, c)
		known := fleet.Memory{Residence: fleet.Residence{Provider: c.Provider}}
		if before == 0 {
			known.Residence.ControlPlane = fleet.NeverInitialized
		}
		s.passesOf(t, r, c, known, before)
		s.lookErr = fleet.Errorf(fleet.Unavailable, "list machines", "no")
		s.passesOf(t, r, c, known, 15)
		s.lookErr = nil
		s.passesOf(t, r, c, known, 10)
		if len(s.calls) > 0 {
			t.Errorf("%d looks before: calls %v", before, s.calls)
		}
		s.passesOf(t, r, c, known, 2)
		if !slices.Contains(s.calls, "DeleteMachine") {
			t.Errorf("%d looks before: calls %v after the time that a first machine has", before, s.calls)
		}
	}
}

// TestListedTwiceProvesNothing: a first machine without its name that its provider lists twice for a
// while is one machine, and no proof that there ever was a control plane. Listed once and named again, it
// has the time of a first machine.
func TestListedTwiceProvesNothing(t *testing.T) {
	c, s := checked(t)
	s.seen.Machines[0].Created = s.now.Add(time.Second)
	s.down = fleet.Errorf(fleet.Unavailable, "list nodes", "no")
	r := s.reconciler(t, c)
	known := fleet.Memory{Residence: fleet.Residence{ControlPlane: fleet.NeverInitialized}}
	pass := func() fleet.Initialization {
		res := r.Pass(t.Context(), c, known)
		s.now = s.now.Add(time.Minute)
		known.Residence = res.Plan.Residence
		return known.Residence.ControlPlane
	}
	s.seen.Machines[0].ProviderID = "sim://1"
	whole := s.seen.Machines[0]
	twin := whole
	twin.Name, twin.Damaged = "", "its name is missing"
	s.seen.Machines = []fleet.Machine{twin, twin}
	if got := pass(); got != fleet.NeverInitialized {
		t.Errorf("listed twice: what is remembered of the control plane is %q", got)
	}
	s.seen.Machines = []fleet.Machine{whole}
	for range 13 {
		pass()
	}
	if !slices.Contains(s.calls, "DeleteMachine") {
		t.Errorf("calls %v after the time that a first machine has", s.calls)
	}
}

// TestSingleFailedLooks: looks that fail now and then keep no first machine from being replaced, and no
// cluster from being deleted.
func TestSingleFailedLooks(t *testing.T) {
	for _, gone := range []bool{false, true} {
		c, s := checked(t)
		r := s.reconciler(t, c)
		s.passes(t, r, c, 1)
		c.Delete = gone
		s.down = fleet.Errorf(fleet.Unavailable, "list nodes", "no")
		if !gone {
			r = s.reconciler(t, c) // one that never heard an answer
		}
		for i := range 60 {
			s.lookErr = nil
			if i%2 == 1 {
				s.lookErr = fleet.Errorf(fleet.Unavailable, "list machines", "no")
			}
			s.passes(t, r, c, 1)
		}
		if !slices.Contains(s.calls, "DeleteMachine") {
			t.Errorf("the cluster is to be deleted: %t, calls %v", gone, s.calls)
		}
	}
}

// TestRareLooksProveSilence: looks may be far apart, in a large fleet or while something else is
// refused. None of them failed, so the first machine is known to be silent.
func TestRareLooksProveSilence(t *testing.T) {
	c, s := checked(t)
	s.down = fleet.Errorf(fleet.Unavailable, "list nodes", "no")
	r := s.reconciler(t, c)
	for range 3 {
		s.passes(t, r, c, 1)
		s.now = s.now.Add(9 * time.Minute)
	}
	if !slices.Contains(s.calls, "DeleteMachine") {
		t.Errorf("calls %v", s.calls)
	}
}

// TestFailedMachineIsCalled: a machine that its infrastructure calls failed may run and answer.
func TestFailedMachineIsCalled(t *testing.T) {
	c, s := checked(t)
	s.seen.Machines[0].State = fleet.MachineFailed
	s.passes(t, s.reconciler(t, c), c, 30)
	if slices.Contains(s.calls, "DeleteMachine") {
		t.Errorf("calls %v", s.calls)
	}
}

// TestNoSecondClusterBesideOneThatAnswers hides all machines, as lost tags do.
func TestNoSecondClusterBesideOneThatAnswers(t *testing.T) {
	c := clusterSpec{1, 0, "v1.33.5", false}.cluster(t)
	s := newStub(c, 1)
	s.seen.Machines = nil
	r := s.reconciler(t, c)
	s.now = s.now.Add(time.Hour)
	res := r.Pass(t.Context(), c, fleet.Memory{})
	if slices.Contains(s.calls, "CreateMachine") || !strings.Contains(strings.Join(res.Report.Waiting, "\n"), "is ready, and no machine with this cluster's tags is behind it") {
		t.Errorf("calls %v, waiting %q", s.calls, res.Report.Waiting)
	}
}

package inmemory

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
)

func wantKind(t *testing.T, what string, err error, kind fleet.ErrorKind, words string) {
	t.Helper()
	if err == nil || fleet.KindOf(err) != kind || !strings.Contains(err.Error(), words) {
		t.Errorf("%s = %v (kind %s), want kind %s with %q", what, err, fleet.KindOf(err), kind, words)
	}
}

func (l *lab) faulty(f Faults) {
	l.t.Helper()
	if err := l.SetFaults(context.Background(), f); err != nil {
		l.t.Fatal(err)
	}
}

func (l *lab) names() []string {
	l.t.Helper()
	all, err := l.VMs(context.Background(), labTags)
	if err != nil {
		l.t.Fatal(err)
	}
	var out []string
	for _, v := range all {
		out = append(out, v.Name+" "+string(v.State))
	}
	return out
}

func TestLag(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, CloudOptions{})
		l.faulty(Faults{Lag: 3 * time.Second, SlowDelete: 2 * time.Second})
		first := l.bootInit("cp-0")
		l.bootInit("cp-0") // the cloud does not know that it has one
		for _, step := range []struct {
			do    func()
			after time.Duration
			want  []string
		}{
			{func() {}, 2 * time.Second, nil},
			{func() {}, time.Second, []string{"cp-0 Running", "cp-0 Running"}},
			{func() {
				if err := l.DeleteVM(t.Context(), first.ID); err != nil {
					t.Fatal(err)
				}
			}, 2 * time.Second, []string{"cp-0 Running", "cp-0 Running"}},
			{func() {}, 2 * time.Second, []string{"cp-0 Deleting", "cp-0 Running"}},
			{func() {}, 2 * time.Second, []string{"cp-0 Running"}},
		} {
			step.do()
			time.Sleep(step.after)
			got := l.names()
			// Which of the two comes first depends on their ids.
			if len(got) == 2 && got[1] < got[0] {
				got[0], got[1] = got[1], got[0]
			}
			if d := cmp.Diff(step.want, got); d != "" {
				t.Fatalf("machines: %s", d)
			}
		}
		if err := l.DeleteVM(t.Context(), first.ID); fleet.KindOf(err) != fleet.NotFound {
			t.Errorf("second delete = %v, want kind NotFound", err)
		}
	})
}

func TestLagOfNetworks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, CloudOptions{Faults: Faults{Lag: 3 * time.Second}})
		count := func() int {
			all, err := l.Networks(t.Context(), labTags)
			if err != nil {
				t.Fatal(err)
			}
			return len(all)
		}
		if got := count(); got != 0 {
			t.Errorf("networks at once = %d, want 0", got)
		}
		time.Sleep(3 * time.Second)
		if got := count(); got != 1 {
			t.Errorf("networks after the lag = %d, want 1", got)
		}
		if err := l.DeleteNetwork(t.Context(), l.network.ID); err != nil {
			t.Fatal(err)
		}
		if got := count(); got != 1 {
			t.Errorf("networks right after the delete = %d, want 1", got)
		}
		time.Sleep(3 * time.Second)
		if got := count(); got != 0 {
			t.Errorf("networks in the end = %d, want 0", got)
		}
	})
}

func TestUnanswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, CloudOptions{})
		spec := VMSpec{Name: "m-0", Network: l.network.ID, Tags: labTags}
		l.faulty(Faults{LoseRequests: 1, LoseAnswers: 1})
		_, err := l.CreateVM(t.Context(), spec)
		wantKind(t, "create whose request is lost", err, fleet.Unanswered, "connection reset by peer")
		if got := l.names(); len(got) != 0 {
			t.Errorf("machines after a lost request = %q, want none", got)
		}
		_, err = l.CreateVM(t.Context(), spec)
		wantKind(t, "create whose answer is lost", err, fleet.Unanswered, "connection reset by peer")
		if got := l.names(); len(got) != 1 {
			t.Errorf("machines after a lost answer = %q, want one", got)
		}
		if _, err := l.CreateVM(t.Context(), spec); err != nil {
			t.Errorf("create after the faults are used up = %v, want no error", err)
		}
		l.faulty(Faults{LoseAnswers: -1})
		for range 3 {
			_, err = l.CreateVM(t.Context(), spec)
			wantKind(t, "create with all answers lost", err, fleet.Unanswered, "reset")
		}
	})
}

func TestQuota(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, CloudOptions{Faults: Faults{Quota: 1}})
		spec := VMSpec{Name: "m-0", Network: l.network.ID, Tags: labTags}
		v, err := l.CreateVM(t.Context(), spec)
		if err != nil {
			t.Fatal(err)
		}
		_, err = l.CreateVM(t.Context(), spec)
		wantKind(t, "create beyond the quota", err, fleet.Exhausted, "quota exceeded for instances: requested 1, but already used 1 of 1")
		if err := l.DeleteVM(t.Context(), v.ID); err != nil {
			t.Fatal(err)
		}
		if _, err = l.CreateVM(t.Context(), spec); err != nil {
			t.Errorf("create after a delete = %v, want no error", err)
		}
	})
}

func TestFailBoot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, CloudOptions{Faults: Faults{FailBoot: []string{"w-*"}}})
		l.bootInit("cp-0")
		v := l.machine(l.bootWorker("w-0").ID)
		if v.State != fleet.MachineFailed || !strings.Contains(v.Message, "No valid host was found") {
			t.Errorf("machine = %s %q, want it failed in the cloud's words", v.State, v.Message)
		}
		if err := l.SetFaults(t.Context(), Faults{FailBoot: []string{"["}}); fleet.KindOf(err) != fleet.Invalid {
			t.Errorf("a broken pattern = %v, want kind Invalid", err)
		}
	})
}

func TestOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, CloudOptions{})
		l.faulty(Faults{OutageUntil: time.Now().Add(time.Minute)})
		_, err := l.VMs(t.Context(), nil)
		wantKind(t, "list in an outage", err, fleet.Unavailable, "503")
		_, err = l.CreateNetwork(t.Context(), NetworkSpec{})
		wantKind(t, "create in an outage", err, fleet.Unavailable, "503")
		time.Sleep(time.Minute)
		if _, err := l.VMs(t.Context(), nil); err != nil {
			t.Errorf("list after it = %v, want no error", err)
		}
	})
}

func TestFailListings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, CloudOptions{Faults: Faults{FailListings: 1}})
		_, err := l.Networks(t.Context(), nil)
		wantKind(t, "listing", err, fleet.Unavailable, "503")
		if got, err := l.Networks(t.Context(), nil); err != nil || len(got) != 1 {
			t.Errorf("next listing = %v, %v, want one network", got, err)
		}
	})
}

func TestRateLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, CloudOptions{})
		l.faulty(Faults{RateLimit: 2})
		var answered int
		for range 10 {
			_, err := l.VMs(t.Context(), nil)
			if err == nil {
				answered++
				continue
			}
			wantKind(t, "call beyond the limit", err, fleet.Unavailable, "429")
		}
		if answered != 2 {
			t.Errorf("answered %d of ten calls at once, want 2", answered)
		}
		time.Sleep(time.Second)
		if _, err := l.VMs(t.Context(), nil); err != nil {
			t.Errorf("call a second later = %v, want no error", err)
		}
	})
}

// TestHook: a crash before a call keeps it from happening, one after it does not.
func TestHook(t *testing.T) {
	for name, tc := range map[string]struct {
		at   Moment
		kind fleet.ErrorKind
		made int
	}{
		"before": {Before, fleet.Unavailable, 0},
		"after":  {After, fleet.Unanswered, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				var calls []string
				l := newLab(t, CloudOptions{Hook: func(call string, m Moment) {
					calls = append(calls, string(m)+" "+call)
					if call == "create server m-0" && m == tc.at {
						cancel()
					}
				}})
				_, err := l.CreateVM(ctx, VMSpec{Name: "m-0", Network: l.network.ID, Tags: labTags})
				wantKind(t, "create", err, tc.kind, "context canceled")
				if got := l.names(); len(got) != tc.made {
					t.Errorf("machines = %q, want %d", got, tc.made)
				}
				want := []string{"before create load balancer eu-1", "after create load balancer eu-1", "before create server m-0"}
				if d := cmp.Diff(want, calls[:3]); d != "" {
					t.Errorf("calls: %s", d)
				}
			})
		})
	}
}

func TestJitter(t *testing.T) {
	c := &Component{Provisioning: &Provisioning{StartupDuration: "10s", StartupJitter: "0.5"}}
	takes := func(id, part string) time.Duration { return (&vm{VM: VM{ID: id}}).takes(part, c) }
	seen := map[time.Duration]bool{}
	for _, id := range []string{"a", "b", "c", "d"} {
		for _, part := range []string{"vm", "node"} {
			d := takes(id, part)
			if d < 10*time.Second || d > 15*time.Second {
				t.Errorf("%s of %s takes %s, want 10s to 15s", part, id, d)
			}
			if d != takes(id, part) {
				t.Errorf("%s of %s takes another time when asked again", part, id)
			}
			seen[d] = true
		}
	}
	if len(seen) != 8 {
		t.Errorf("%d different times of 8", len(seen))
	}
}

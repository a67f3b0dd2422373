package agent

import (
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/fleet"
)

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

package reconcile_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/workload"
)

// resets accepts connections and resets each at once, as a load balancer without
// members does.
func resets(t *testing.T) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_ = c.(*net.TCPConn).SetLinger(0)
			_ = c.Close()
		}
	}()
	return l.Addr().String()
}

// TestAFaultThatLastsIsToldOnce: passes against an API server whose connections are
// reset, and against infrastructure that numbers its answers, make equal reports.
func TestAFaultThatLastsIsToldOnce(t *testing.T) {
	at := resets(t) // a listener outside of the bubble, in which time would stand still
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.cloud.Close()
		wanted := clusterSpec{1, 1, "v1.33.5", false}
		w.reach(wanted, fleet.PhaseProvisioned)
		a := w.startWith(workload.New(workload.Options{Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", at)
		}}))
		defer a.workload.Close()
		c := wanted.cluster(t)
		time.Sleep(settle)
		first := w.passWithMemory(a, c).Report
		if first.Failure != "" || len(first.Waiting) == 0 {
			t.Fatalf("failure %q, waiting %q", first.Failure, first.Waiting)
		}
		for range 20 {
			time.Sleep(10 * time.Second)
			if diff := cmp.Diff(first, w.passWithMemory(a, c).Report); diff != "" {
				t.Fatalf("-first +later:\n%s", diff)
			}
		}
	})
}

// TestWhatOthersSayIsStable: whatever a provider says, with what differs each time,
// makes equal reports.
func TestWhatOthersSayIsStable(t *testing.T) {
	c := clusterSpec{1, 0, "v1.33.5", false}.cluster(t)
	s := newStub(c, 1)
	r := s.reconciler(t, c)
	said := func(i int) string {
		return fmt.Sprintf("read tcp 10.0.0.5:%d->10.0.0.9:8774: EOF (Request-ID: req-4e4c1c2f-7c7c-4d0e-8a55-6b3e2f1a9d%02d)", 40000+i, i)
	}
	for name, say := range map[string]func(text string){
		"a look that fails": func(text string) { s.lookErr = fleet.Errorf(fleet.Unavailable, "list servers", "%s", text) },
		"an API server":     func(text string) { s.lookErr, s.down = nil, fleet.Errorf(fleet.Unavailable, "list nodes", "%s", text) },
		"a machine":         func(text string) { s.seen.Machines[0].State, s.seen.Machines[0].Message = fleet.MachineFailed, text },
		"a host": func(text string) {
			s.seen.Hosts = []fleet.Host{{Namespace: "metal", Name: "m1", Trouble: text, Held: text, Waits: text, Next: fleet.HostStep{Do: "verify it", Why: text}}}
		},
		"the infrastructure":   func(text string) { s.seen.Ready, s.seen.Message = false, text },
		"an action that fails": func(text string) { s.seen.Exists, s.etcdDown = true, errors.New(text) },
	} {
		say(said(0))
		r.Pass(t.Context(), c, fleet.Memory{}) // what it brings is begun
		say(said(1))
		first := r.Pass(t.Context(), c, fleet.Memory{}).Report
		say(said(2))
		again := r.Pass(t.Context(), c, fleet.Memory{}).Report
		if diff := cmp.Diff(first, again); diff != "" {
			t.Errorf("%s: -first +later:\n%s", name, diff)
		}
		if s.seen.Machines[0].Message != "" && !strings.Contains(s.seen.Machines[0].Message, "req-") {
			t.Error("what the provider holds was changed")
		}
	}
}

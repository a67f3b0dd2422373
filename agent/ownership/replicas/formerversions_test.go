package replicas_test

import (
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// formerLeader makes the Lease that of a leader of a former version, with its predecessors.
// It keeps what is there, as former versions do.
func (w *world) formerLeader(identity string) {
	w.t.Helper()
	now, seconds, leases := metav1.NewMicroTime(time.Now()), int32(15), w.api.Client().Leases("fairlead-system")
	l, there := w.api.Lease(lease), true
	if l == nil {
		l, there = &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: lease}}, false
	}
	holders := int32(3)
	if l.Spec.LeaseTransitions != nil {
		holders = *l.Spec.LeaseTransitions + 1
	}
	l.Spec = coordinationv1.LeaseSpec{HolderIdentity: &identity, LeaseDurationSeconds: &seconds, RenewTime: &now, AcquireTime: &now, LeaseTransitions: &holders}
	var err error
	if there {
		_, err = leases.Update(w.t.Context(), l, metav1.UpdateOptions{})
	} else {
		_, err = leases.Create(w.t.Context(), l, metav1.CreateOptions{})
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// silentFor fails if a replica acts within d.
func (w *world) silentFor(reason string, d time.Duration) {
	w.t.Helper()
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if acts := w.acting(); len(acts) > 0 {
			w.t.Errorf("%s: %v acts", reason, acts)
			return
		}
	}
}

// TestFormerVersions: replicas of a former version make passes for their leader, with a right
// that lasts for up to ten seconds after the leader led. The first leader of this version acts
// when that is over, and those after it act at once.
func TestFormerVersions(t *testing.T) {
	for name, former := range map[string]struct {
		identity string
		length   time.Duration // that its Lease is respected for
	}{
		"Silent":   {"old_10.0.0.1:9293_abc", 15 * time.Second},
		"Released": {"", 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				defer w.end()
				w.formerLeader(former.identity)
				all := map[string]*replica{"a": w.start("a", nil), "b": w.start("b", nil)}
				w.silentFor("another replica may act in a pass for the former leader", former.length+12*time.Second)
				first := w.leader(8 * time.Second)
				time.Sleep(5 * time.Second)
				all[first].end()
				second := w.leader(slow+4*time.Second, first)
				all[second].end()
				for _, r := range all {
					<-r.done
				}
			})
		})
	}
}

// TestLeaderThatEndsWhileItWaits ends before the passes of a former version may be over: the next
// leader waits as well.
func TestLeaderThatEndsWhileItWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.end()
		w.formerLeader("")
		a := w.start("a", nil)
		time.Sleep(10 * time.Second)
		a.end()
		<-a.done
		b := w.start("b", nil)
		w.silentFor("a replica of a former version may act", 12*time.Second)
		w.leader(8 * time.Second)
		b.end()
		<-b.done
	})
}

// TestFormerVersionAgain has a former version lead after this one.
func TestFormerVersionAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.end()
		a := w.start("a", nil)
		w.leader(5 * time.Second)
		a.end()
		<-a.done
		w.formerLeader("old_10.0.0.1:9293_abc")
		time.Sleep(time.Second)
		b := w.start("b", nil)
		w.silentFor("another replica may act in a pass for the former leader", 27*time.Second)
		w.leader(8 * time.Second)
		b.end()
		<-b.done
	})
}

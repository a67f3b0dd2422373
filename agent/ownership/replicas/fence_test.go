package replicas_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/agent/ownership/replicas"
)

var updateOptions = metav1.UpdateOptions{}

func TestFence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lapses atomic.Int64
		f := replicas.NewFence(10*time.Second, replicas.Now, func() { lapses.Add(1) })
		expect := func(reason string, holds bool, lapsed int64) {
			t.Helper()
			synctest.Wait()
			if f.Holds() != holds || lapses.Load() != lapsed {
				t.Errorf("%s: holds %v, lapsed %d times", reason, f.Holds(), lapses.Load())
			}
		}
		expect("nothing was granted yet", false, 0)
		asked := replicas.Now()
		time.Sleep(4 * time.Second)
		f.Grant(asked)
		time.Sleep(6*time.Second - time.Nanosecond)
		expect("until ten seconds after it was asked for", true, 0)
		f.Grant(replicas.Now())
		f.Grant(asked)
		time.Sleep(9 * time.Second)
		expect("an older grant does not shorten a newer one", true, 0)
		time.Sleep(time.Second)
		expect("it is told that the time is up, and asks nobody", false, 1)
		if f.Grant(replicas.Now()) {
			t.Error("what has ended was granted again")
		}
		expect("it stays so", false, 1)
	})
}

func TestFenceAsksLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := replicas.NewFence(10*time.Second, replicas.Now, nil)
		asked := replicas.Now()
		time.Sleep(11 * time.Second)
		if f.Grant(asked) || f.Holds() {
			t.Error("an answer that came too late counts")
		}
	})
}

func TestFenceEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := replicas.NewFence(10*time.Second, replicas.Now, func() { t.Error("told of an end that was wanted") })
		f.Grant(replicas.Now())
		f.End()
		time.Sleep(time.Minute)
		if f.Holds() || f.Grant(replicas.Now()) {
			t.Error("it goes on after its end")
		}
	})
}

package e2e

import (
	"math/rand/v2"
	"testing"
	"time"
)

// The agent is killed at random while a cluster is made, its certificates are
// rotated, and it is deleted, and nothing but secrets stays on its disk. There is
// one cluster, of the machines that it is to have, and nothing is left of it.
func TestKilled(t *testing.T) {
	w := newWorld(t, "", "control-plane", "control-plane", "worker", "balancer")
	c := w.cluster("killed", 1, 1)
	w.startAgent()
	w.put("a cluster of one and one", c)
	w.kill(3)
	w.waitComplete(c)
	w.measure("1+1 by an agent that was killed %d times: push to Provisioned %s", w.killed, since(w.pushed))
	config := w.kubeconfig(c)
	w.podsReady(config)
	w.claimed(3) // with the load balancer

	before, err := w.serial(c.Endpoint + ":6443")
	if err != nil {
		t.Fatal(err)
	}
	asked := time.Now()
	w.fairlead("rotate", "certificates", "prod/"+c.Name, "--source", w.source)
	w.kill(3)
	w.wait("certificates", func() (bool, string) {
		now, err := w.serial(c.Endpoint + ":6443")
		r, _ := w.report(c)
		return err == nil && now != before && complete(c, r), describe(r)
	})
	w.measure("certificates by an agent that was killed %d times: rotated %s after it was asked for", w.killed, since(asked))
	w.claimed(3) // with the load balancer
	w.podsReady(config)
	r, _ := w.report(c)
	w.checkNodes(config, c, r)
	w.killAgent(c)

	c.Delete = true
	w.put("no cluster", c)
	w.kill(2)
	w.waitDeleted(c)
	w.checkFree()
}

// kill has the agent killed so many times while the test waits, at random.
func (w *world) kill(times int) {
	next := func() time.Time { return time.Now().Add(time.Second + rand.N(20*time.Second)) } //nolint:gosec // no secret
	at := next()
	w.killed = 0
	w.mishap = func() {
		if w.killed < times && time.Now().After(at) {
			w.stopAgent()
			w.startAgent()
			w.killed++
			at = next()
		}
	}
}

// claimed checks how many machines of the lab a cluster has.
func (w *world) claimed(want int) {
	w.t.Helper()
	got := 0
	for _, m := range w.lab.Machines() {
		if _, err := m.Exec(w.ctx, "test", "-e", "/var/lib/fairlead/host/claim"); err == nil {
			got++
		}
	}
	if got != want {
		w.t.Errorf("%d hosts are claimed, not %d", got, want)
	}
}

package e2e

import (
	"strings"
	"testing"
	"time"

	"fairlead.dev/test/lab/kubernetes/images"
	"fairlead.dev/test/lab/kubernetes/lab"
)

// virtualIP is an address of the lab's network that no machine has.
const virtualIP = "10.77.0.200"

// The servers of a cluster have its endpoint by turns, by kube-vip, which Fairlead has them run:
// on one server, on three, after the one that has it lost its power, and after all were replaced.
func TestVirtualIP(t *testing.T) {
	w := newWorld(t, "", "control-plane", "control-plane", "control-plane", "control-plane", "worker", "worker")
	c := cluster{
		Name: "turns", Endpoint: virtualIP, VirtualIP: images.KubeVIP, ControlPlanes: 1, Workers: 1,
		Version: w.lab.Versions()[1], Hosts: w.hosts, Key: w.key(),
	}
	w.startAgent()
	w.put("a cluster of one and one", c)
	config := w.kubeconfigOf(c)
	w.podsReady(config)
	c.ControlPlanes = 3
	w.put("three control planes", c)
	w.waitComplete(c)
	w.podsReady(config)

	has := w.holder()
	api := w.probeAPI(config)
	if err := has.Kill(); err != nil {
		t.Fatal(err)
	}
	off := time.Now()
	w.wait("the address on another server", func() (bool, string) {
		_, err := w.kubectl(config, "", "get", "--raw", "/readyz")
		return err == nil, "no answer at " + virtualIP
	})
	w.measure("the server with the address lost its power: another answers %s after", since(off))
	api.end()
	if err := has.Start(w.ctx); err != nil {
		t.Fatal(err)
	}
	w.waitComplete(c)
	w.podsReady(config)
	w.holder()

	c.Version = w.lab.Versions()[0]
	w.put("the next minor", c)
	api = w.probeAPI(config)
	w.waitComplete(c)
	w.measure("three servers replaced by those of the next minor: %s", since(w.pushed))
	api.end()
	w.holder()

	c.Delete = true
	w.put("no cluster", c)
	w.waitDeleted(c)
	w.checkFree()
}

// holder returns the one machine that has the virtual address.
func (w *world) holder() *lab.Machine {
	w.t.Helper()
	var out *lab.Machine
	w.wait("one machine with "+virtualIP, func() (bool, string) {
		var have []string
		for _, m := range w.lab.Machines() {
			text, err := m.Exec(w.ctx, "ip", "-oneline", "address")
			if err == nil && strings.Contains(text, " "+virtualIP+"/") {
				have, out = append(have, m.Name), m
			}
		}
		return len(have) == 1, "it is on " + strings.Join(have, ", ")
	})
	return out
}

package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/test/lab/kubernetes/lab"
)

// A cloudWorld is a world whose machines are instances of a double of a cloud in this process.
type cloudWorld struct {
	*world
	c cluster
}

// newCloud makes a world with machines for instances of a role. Processes resolve names as its machines do.
func newCloud(t *testing.T, role string, machines int) *cloudWorld {
	t.Helper()
	w := &cloudWorld{world: newWorld(t, "", slices.Repeat([]string{role}, machines)...)}
	w.resolver = filepath.Join(t.TempDir(), "resolv.conf")
	if err := os.WriteFile(w.resolver, []byte("nameserver "+lab.Gateway+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return w
}

// sayer returns what writes the log of guests.
func (w *cloudWorld) sayer() func(string) {
	w.t.Helper()
	log, err := os.Create(filepath.Join(w.logs, "guests.log"))
	if err != nil {
		w.t.Fatal(err)
	}
	return func(s string) { _, _ = fmt.Fprintln(log, time.Now().Format(time.TimeOnly), s) } // a log
}

// serve calls serve until the test ends.
func (w *cloudWorld) serve(serve func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(w.ctx))
	var served sync.WaitGroup
	w.t.Cleanup(func() {
		cancel()
		served.Wait()
	})
	served.Go(func() {
		if err := serve(ctx); err != nil {
			w.t.Error(err)
		}
	})
}

// upgradable has the cluster begin with the older one of two versions. It returns them, the newer one first.
func (w *cloudWorld) upgradable() []string {
	w.t.Helper()
	versions := w.lab.Versions()
	if len(versions) < 2 {
		w.t.Fatalf("machines of the lab have Kubernetes %v alone: `make lab-images` makes two versions", versions)
	}
	w.c.Version = versions[1]
	return versions
}

// reach pushes the cluster as it is to be, waits until it is so, and returns its kubeconfig.
func (w *cloudWorld) reach(push, what string) string {
	w.t.Helper()
	w.put(push, w.c)
	r := w.waitComplete(w.c)
	w.measure("%s: push to Provisioned %s", what, since(w.pushed))
	config := w.kubeconfig(w.c)
	w.checkNodes(config, w.c, r)
	return config
}

// checkZones checks that each machine of the control plane is in a zone of its own.
func (w *cloudWorld) checkZones() {
	w.t.Helper()
	r, _ := w.report(w.c)
	in := make(map[string]fleet.MachineName)
	for _, m := range r.Machines {
		if !isControlPlane(m) {
			continue
		}
		if other, ok := in[m.Machine.FailureDomain]; ok {
			w.t.Errorf("%s and %s are both in zone %s", m.Machine.Name, other, m.Machine.FailureDomain)
		}
		in[m.Machine.FailureDomain] = m.Machine.Name
	}
}

// lose takes the first worker away as the cloud does. Another one takes its place.
func (w *cloudWorld) lose(what string, take func(fleet.Machine)) {
	w.t.Helper()
	before, _ := w.report(w.c)
	lost := before.Machines[slices.IndexFunc(before.Machines, func(m fleet.MachineReport) bool { return !isControlPlane(m) })].Machine
	at := time.Now()
	take(lost)
	w.wait("another worker than "+string(lost.Name), func() (bool, string) {
		r, _ := w.report(w.c)
		on := slices.ContainsFunc(r.Machines, func(m fleet.MachineReport) bool { return m.Machine.ProviderID == lost.ProviderID })
		return !on && complete(w.c, r), describe(r)
	})
	w.measure("%s: the cluster is whole %s after", what, since(at))
}

// delete takes the cluster out of the world, and checks that no machine is on.
func (w *cloudWorld) delete() {
	w.t.Helper()
	w.c.Delete = true
	w.put("no cluster", w.c)
	w.waitDeleted(w.c)
	w.measure("deleted %s after the push", since(w.pushed))
	w.wait("machines that are off", func() (bool, string) {
		i := slices.IndexFunc(w.lab.Machines(), (*lab.Machine).On)
		return i < 0, fmt.Sprintf("machine %d is on", i+1)
	})
}

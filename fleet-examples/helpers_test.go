package examples_test

import (
	"io/fs"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/distribution/kubeadm"
	"fairlead.dev/providers/infrastructure/metal3/api"
	"fairlead.dev/reconcile/forecast"
	"fairlead.dev/reconcile/plan"
	"fairlead.dev/test/run/exampletest"
)

// rendered returns the clusters of an example.
func rendered(t *testing.T, files fs.FS, kinds ...[]fleet.Kind) map[string]fleet.Cluster {
	t.Helper()
	out := make(map[string]fleet.Cluster)
	for _, c := range exampletest.Render(t, files, kinds...) {
		out[c.Key.String()] = c
	}
	return out
}

// same compares what is wanted with what is.
func same[T any](t *testing.T, want, got T) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

// unmade is what is observed of c before anything is made, with hosts that Ironic does not know.
func unmade(c *fleet.Cluster) fleet.Observed {
	out := fleet.Observed{Secrets: fleet.SecretState{Missing: fleet.Authorities()}}
	for _, h := range api.Hosts(c.Companions) {
		out.Infrastructure.Hosts = append(out.Infrastructure.Hosts, fleet.Host{
			Namespace: h.Namespace, Name: h.Name, State: fleet.HostUnmanaged, Next: fleet.HostStep{Do: "enrol it"},
		})
	}
	return out
}

// planned returns the first actions for c and all changes until it is at rest.
func planned(c *fleet.Cluster, seen fleet.Observed) ([]fleet.Action, []forecast.Change) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	seen.At = now
	in := plan.Input{Desired: c, Observed: seen, Since: now.Add(-time.Hour), Settle: time.Minute, Now: now}
	return plan.Compute(in).Actions, forecast.Of(in).Changes
}

// bootstrapped returns what the first machine of c, one that joins its control plane and a worker boot with.
func bootstrapped(t *testing.T, c *fleet.Cluster, nodeID string) map[fleet.Join][]byte {
	t.Helper()
	b := kubeadm.Distribution{}
	authorities, err := b.NewSecrets(c, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	out := make(map[fleet.Join][]byte)
	for join, pool := range map[fleet.Join]fleet.Pool{fleet.JoinInit: c.ControlPlane, fleet.JoinControlPlane: c.ControlPlane, fleet.JoinWorker: c.Workers[0]} {
		data, err := b.UserData(providers.BootstrapInput{
			Cluster: c, Pool: pool, Machine: "machine", Join: join, Endpoint: fleet.Endpoint{Host: "203.0.113.10", Port: 6443}, Secrets: authorities, NodeID: nodeID,
		})
		if err != nil {
			t.Fatalf("%s: %s: %v", c.Key, join, err)
		}
		out[join] = data.Content.Reveal()
	}
	return out
}

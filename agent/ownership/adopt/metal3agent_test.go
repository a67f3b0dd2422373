package adopt_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/inmemory"
	"fairlead.dev/providers/infrastructure/metal3/metal3test"
)

// guests run in an in-memory cloud what hosts boot from their disks.
type guests struct {
	cloud   *inmemory.Cloud
	network string

	mu     sync.Mutex
	inside map[string]string // ids of VMs, by the names of hosts
}

// PowerOn implements metal3test.Hardware: cloud-init puts metadata into user data.
func (g *guests) PowerOn(ctx context.Context, host string, d metal3test.Disk) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if d.Drive["user_data"] == "theirs" {
		return nil // it runs already
	}
	var meta map[string]string
	if err := json.Unmarshal([]byte(d.Drive["meta_data.json"]), &meta); err != nil {
		return err
	}
	data := strings.ReplaceAll(d.Drive["user_data"], "{{ ds.meta_data.providerid }}", meta["providerid"])
	g.inside[host] = d.ID
	_, err := g.cloud.CreateVM(ctx, inmemory.VMSpec{
		ID: d.ID, Name: meta["name"], Network: g.network, Version: "v1.34.1", UserData: []byte(data), Provider: fleet.ProviderID("metal3://" + meta["providerid"]),
	})
	return err
}

// PowerOff implements metal3test.Hardware.
func (g *guests) PowerOff(ctx context.Context, host string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	err := g.cloud.DeleteVM(ctx, g.inside[host])
	if fleet.KindOf(err) == fleet.NotFound {
		return nil
	}
	return err
}

// run has the guests run in the cloud of s.
func (g *guests) run(s *mstack) {
	s.Helper()
	networks, err := s.world.cloud.Networks(s.Context(), nil)
	if err != nil || len(networks) != 1 {
		s.Fatalf("the guests have the networks %v, %v", networks, err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.cloud, g.network = s.world.cloud, networks[0].ID
}

// addresses are those of the machines, by their marks.
func (s *mstack) addresses() []string {
	s.Helper()
	_, marks := s.nodes()
	var out []string
	for _, tags := range marks {
		if a, ok := tags["fairlead.dev/addresses"].(string); ok {
			out = append(out, a)
		}
	}
	slices.Sort(out)
	return out
}

// TestMetal3Agent: an agent that follows an adopted cluster changes nothing of it, adds a machine on
// the host to spare, with an address that none of the others has, replaces workers that were
// adopted, and deletes the cluster.
func TestMetal3Agent(t *testing.T) {
	g := &guests{inside: make(map[string]string)}
	s := newMStack(t, true, metal3test.Options{Hardware: g})
	g.run(s)
	s.serveGit()
	s.fairlead(0, append([]string{"adopt", "--kubeconfig", s.management.kube.Kubeconfig, "--into", s.folder, "-n", s.ns, "--source", s.source}, s.flags()...)...)
	before, marks := s.nodes()
	states := s.states()
	s.push("adopted")
	s.ironic.ResetCalls()
	s.agent(s.flags()...)
	s.waitProvisioned(3)
	after, now := s.nodes()
	if d := cmp.Diff(before, after) + cmp.Diff(marks, now) + cmp.Diff(states, s.states()); d != "" {
		t.Errorf("the agent changed something: %s", d)
	}
	for _, c := range s.ironic.Calls() {
		if c.Changes() {
			t.Errorf("the agent changed something: %s", c.Method)
		}
	}

	s.edits("eu-1-md-0.yaml", "replicas: 2", "replicas: 3")
	s.waitProvisioned(4)
	if got := slices.Compact(s.addresses()); len(got) != 4 {
		t.Errorf("addresses %v, want another one for the new machine", got)
	}
	if _, now = s.nodes(); now[s.ns+"~spare"]["fairlead.dev/index"] != s.ns+"/nodes/3" {
		t.Errorf("the new machine is %v", now[s.ns+"~spare"])
	}

	s.edits("eu-1-md-0.yaml", "replicas: 3", "replicas: 2")
	s.waitProvisioned(3)
	s.edits("eu-1-md-0.yaml", "unix:///run/containerd", "unix:///var/run/containerd")
	s.until("the workers are replaced", func() bool {
		for _, m := range s.report().Machines {
			if m.Machine.Role == fleet.RoleWorker && slices.ContainsFunc(s.names(), func(n string) bool { return n == string(m.Machine.Name) }) {
				return false
			}
		}
		return len(s.report().Machines) == 3
	})
	s.waitProvisioned(3)

	s.edits("cluster.yaml", "metadata:\n", "metadata:\n  annotations: {fairlead.dev/delete: \"true\"}\n")
	s.until("the cluster is deleted", func() bool { return s.report().Phase == fleet.PhaseDeleted })
	for name, state := range s.states() {
		if state.On {
			t.Errorf("host %s of a cluster that was deleted is %+v", name, state)
		}
	}
}

// names are those of the machines that were adopted.
func (s *mstack) names() []string {
	var out []string
	for _, m := range s.machines {
		out = append(out, string(m.Name))
	}
	return out
}

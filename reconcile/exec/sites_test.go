package exec_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/distribution/kubeadm"
	"fairlead.dev/reconcile/exec"
)

// A site notes what is asked of it, and by which view of the cluster.
type site struct {
	providers.Infrastructure
	name  string
	asked *[]string
}

func (s *site) note(what string, c *fleet.Cluster) error {
	var pools []string
	for _, p := range c.Pools() {
		pools = append(pools, string(p.Name))
	}
	*s.asked = append(*s.asked, s.name+": "+what+" of "+c.Provider+" with "+strings.Join(pools, ","))
	return nil
}

func (s *site) EnsureInfrastructure(_ context.Context, _ fleet.OperationID, c *fleet.Cluster) error {
	return s.note("ensure", c)
}

func (s *site) DeleteInfrastructure(_ context.Context, _ fleet.OperationID, c *fleet.Cluster) error {
	return s.note("delete", c)
}

func (s *site) DeleteMachine(_ context.Context, _ fleet.OperationID, c *fleet.Cluster, name fleet.MachineName, _ fleet.ProviderID) error {
	return s.note("delete "+string(name), c)
}

func (s *site) CreateMachine(_ context.Context, _ fleet.OperationID, r providers.MachineRequest) error {
	return s.note("create "+string(r.Name), r.Cluster)
}

// switching is a site that can reboot machines.
type switching struct{ *site }

func (s switching) Abilities() providers.Abilities { return providers.Abilities{Rebooter: s} }

func (s switching) SwitchMachine(_ context.Context, _ fleet.OperationID, c *fleet.Cluster, name fleet.MachineName, id fleet.ProviderID, to fleet.HostPower) error {
	return s.note(string(to)+" "+string(name)+" "+string(id), c)
}

// TestSites: an action is done by the provider of its site, which sees its own part of the
// cluster. What is shared on a guest goes while the cluster stays, where no pool is there.
func TestSites(t *testing.T) {
	c := &fleet.Cluster{
		Fleet: "f", Key: fleet.Key{Namespace: "prod", Name: "eu-1"}, Provider: "near",
		Guests:       []fleet.Site{{Provider: "far"}, {Provider: "empty"}},
		ControlPlane: fleet.Pool{Name: "cp", Role: fleet.RoleControlPlane, Version: "v1.34.1"},
		Workers:      []fleet.Pool{{Name: "edge", Role: fleet.RoleWorker, Version: "v1.34.1", Provider: "far"}, {Name: "md", Role: fleet.RoleWorker, Version: "v1.34.1"}},
	}
	var asked []string
	e := exec.Executor{Now: time.Now, Log: slog.New(slog.DiscardHandler)}
	w := exec.Environment{
		Cluster: c, Infrastructure: &site{name: "near", asked: &asked},
		Guests:       map[string]providers.Infrastructure{"far": switching{&site{name: "far", asked: &asked}}, "empty": &site{name: "empty", asked: &asked}},
		Distribution: kubeadm.New(nil), Secrets: store{}, Memory: &ledger{ended: map[fleet.MachineName]error{}}, Seen: time.Now(),
	}
	var failed []string
	for _, a := range []fleet.Action{
		{Kind: fleet.EnsureInfrastructure},
		{Kind: fleet.EnsureInfrastructure, Provider: "far"},
		{Kind: fleet.DeleteMachine, Machine: "a", Provider: "far"},
		{Kind: fleet.DeleteMachine, Machine: "b"},
		{Kind: fleet.DeleteInfrastructure, Provider: "empty"},
		{Kind: fleet.DeleteInfrastructure, Provider: "far"},
		{Kind: fleet.DeleteInfrastructure},
		{Kind: fleet.CreateMachine, Machine: "c", Pool: "edge", Join: fleet.JoinWorker},
		{Kind: fleet.EnsureInfrastructure, Provider: "elsewhere"},
		{Kind: fleet.SwitchOff, Machine: "d", ProviderID: "far://d", Provider: "far"},
		{Kind: fleet.SwitchOn, Machine: "d", ProviderID: "far://d", Provider: "far"},
		{Kind: fleet.SwitchOff, Machine: "e", ProviderID: "near://e"},
	} {
		a.Cluster = c.Key
		if err := e.Run(t.Context(), w, []fleet.Action{a})[0].Err; err != nil {
			failed = append(failed, a.String()+": "+err.Error())
		}
	}
	want := []string{
		"near: ensure of near with cp,md", "far: ensure of far with edge", "far: delete a of far with edge", "near: delete b of near with cp,md",
		"empty: delete of empty with ", "far: off d far://d of far with edge", "far: on d far://d of far with edge",
	}
	if d := cmp.Diff(want, asked); d != "" {
		t.Errorf("asked (-want +got):\n%s", d)
	}
	if len(failed) != 5 || !strings.Contains(failed[0], "is not meant to be deleted") || !strings.Contains(failed[1], "is not meant to be deleted") ||
		!strings.Contains(failed[2], `has no pool "edge"`) || !strings.Contains(failed[3], "has no site on elsewhere") || !strings.Contains(failed[4], "its provider cannot reboot machines") {
		t.Errorf("failed: %q", failed)
	}
}

// A balanced site leads its endpoint to single machines.
type balanced struct {
	*site
	err error
}

func (b balanced) Abilities() providers.Abilities { return providers.Abilities{EndpointKeeper: b} }

func (b balanced) LeaveEndpoint(_ context.Context, c *fleet.Cluster, name fleet.MachineName, id fleet.ProviderID) error {
	_ = b.note("leave endpoint "+string(name)+" "+string(id), c)
	return b.err
}

// members is a distribution that notes who leaves etcd.
type members struct {
	providers.Distribution
	asked *[]string
}

func (m members) Needs(*fleet.Cluster) []fleet.SecretNeed { return nil }

func (m members) RemoveMember(_ context.Context, _ providers.Access, o fleet.Member) error {
	*m.asked = append(*m.asked, "leave etcd "+o.Node)
	return nil
}

// A machine leaves the endpoint before it leaves etcd, and keeps its etcd where it cannot.
func TestEndpointBeforeEtcd(t *testing.T) {
	const left, member = "near: leave endpoint a near://a of near with cp", "leave etcd a"
	for reason, tc := range map[string]struct {
		id   fleet.ProviderID
		err  error
		want []string
		kind fleet.ErrorKind
	}{
		"in order":               {"near://a", nil, []string{left, member}, fleet.Unknown},
		"another does not serve": {"near://a", fleet.Errorf(fleet.Conflict, "leave", "b stays"), []string{left}, fleet.Conflict},
		"the answer was lost":    {"near://a", fleet.Errorf(fleet.Unanswered, "leave", "cut"), []string{left}, fleet.Unavailable},
		"the member of nobody":   {"", nil, []string{member}, fleet.Unknown},
	} {
		t.Run(reason, func(t *testing.T) {
			c := &fleet.Cluster{Key: fleet.Key{Namespace: "prod", Name: "eu-1"}, Provider: "near", ControlPlane: fleet.Pool{Name: "cp", Role: fleet.RoleControlPlane}}
			var asked []string
			e := exec.Executor{Now: time.Now, Log: slog.New(slog.DiscardHandler)}
			w := exec.Environment{
				Cluster: c, Infrastructure: balanced{&site{name: "near", asked: &asked}, tc.err}, Distribution: members{asked: &asked},
				Secrets: store{fleet.Kubeconfig: true}, Memory: &ledger{ended: map[fleet.MachineName]error{}}, Seen: time.Now(),
			}
			err := e.Run(t.Context(), w, []fleet.Action{{Kind: fleet.RemoveMember, Cluster: c.Key, Machine: "a", ProviderID: tc.id, Node: "a"}})[0].Err
			if d := cmp.Diff(tc.want, asked); d != "" || fleet.KindOf(err) != tc.kind || (err == nil) != (tc.err == nil) {
				t.Errorf("%v; asked (-want +got):\n%s", err, d)
			}
		})
	}
}

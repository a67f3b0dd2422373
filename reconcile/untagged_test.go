package reconcile_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/agent/secrets"
	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/reconcile"
	"fairlead.dev/reconcile/plan"
)

// A forgetful is a stub whose machines may lose their tags.
type forgetful struct {
	infrastructure
	there map[fleet.ProviderID]bool // without tags
	asked [][]fleet.ProviderID
	err   error
}

// Abilities tells what it can do.
func (s *forgetful) Abilities() providers.Abilities { return providers.Abilities{UntaggedFinder: s} }

// Untagged implements providers.UntaggedFinder.
func (s *forgetful) Untagged(_ context.Context, _ *fleet.Cluster, ids []fleet.ProviderID) (out []fleet.Machine, err error) {
	s.asked = append(s.asked, slices.Clone(ids))
	for _, id := range ids {
		if s.there[id] {
			out = append(out, fleet.Machine{Name: "as its VM is called", ProviderID: id, State: fleet.MachineRunning, Damaged: "tags are missing"})
		}
	}
	return out, s.err
}

// TestUntagged: what a provider finds behind a Node of the cluster that no machine is matched with is
// held: none is made in its place, and nothing is done to it. What it does not find is gone.
func TestUntagged(t *testing.T) {
	const id = fleet.ProviderID("vsphere://42304ef3-6e31-4ba1-9000-000000000000")
	for reason, tc := range map[string]struct {
		change func(c *fleet.Cluster, s *forgetful, n *fleet.Node)
		asked  bool
		held   bool // else a machine is made in its place, unless the cluster is paused
	}{
		"its tags are gone": {func(*fleet.Cluster, *forgetful, *fleet.Node) {}, true, true},
		"it is not ready":   {func(_ *fleet.Cluster, _ *forgetful, n *fleet.Node) { n.Ready = false }, true, true},
		"the id is in capitals": {func(_ *fleet.Cluster, _ *forgetful, n *fleet.Node) {
			n.ProviderID = fleet.ProviderID(strings.ToUpper(string(id)))
		}, true, true},
		"Cluster API signed it": {func(_ *fleet.Cluster, _ *forgetful, n *fleet.Node) {
			n.Annotations["cluster.x-k8s.io/owner-kind"], n.Annotations["cluster.x-k8s.io/owner-name"] = "MachineSet", "eu-1-md-0-x7k2p"
		}, true, true},
		"it is gone": {func(_ *fleet.Cluster, s *forgetful, n *fleet.Node) { s.there, n.Ready = nil, false }, true, false},
		"of another cluster": {func(_ *fleet.Cluster, _ *forgetful, n *fleet.Node) {
			n.Annotations["cluster.x-k8s.io/cluster-name"] = "eu-2"
		}, false, false},
		"somebody's":          {func(_ *fleet.Cluster, _ *forgetful, n *fleet.Node) { clear(n.Annotations) }, false, false},
		"not known where":     {func(_ *fleet.Cluster, _ *forgetful, n *fleet.Node) { n.ProviderID, n.Ready = "", false }, false, false},
		"of a paused cluster": {func(c *fleet.Cluster, _ *forgetful, _ *fleet.Node) { c.Paused = true }, false, false},
	} {
		t.Run(reason, func(t *testing.T) {
			c := decoded(t, clusterSpec{1, 1, "v1.34.1", false}.manifests())
			s := &forgetful{infrastructure: infrastructure{newStub(c, 1)}, there: map[fleet.ProviderID]bool{id: true}}
			n := fleet.Node{
				Name: "eu-1-md-0-abcde", ProviderID: id, Ready: true, KubeletVersion: "v1.34.1",
				Annotations: fleet.NodeAnnotations(c.Key, c.Workers[0], "eu-1-md-0-abcde"),
			}
			tc.change(c, s, &n)
			s.workload.Nodes = append(s.workload.Nodes, n)
			r := s.infrastructure.reconcilerOn(t, c, s)
			seen, err := r.Look(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			p := plan.Compute(plan.Input{Desired: c, Observed: seen, Now: s.now})
			want := [][]fleet.ProviderID{{id}}
			if !tc.asked {
				want = nil
			}
			if d := cmp.Diff(want, s.asked); d != "" {
				t.Errorf("asked for: %s", d)
			}
			told := strings.Join(slices.Concat(p.Waiting, p.Notes), "\n")
			if is := strings.Contains(told, "machine eu-1-md-0-abcde ("+string(id)+") carries damaged tags: tags are missing"); is != tc.held {
				t.Errorf("it is told as held: %t, want %t: %q", is, tc.held, told)
			}
			made := slices.ContainsFunc(p.Actions, func(a fleet.Action) bool { return a.Kind == fleet.CreateMachine })
			if want := !tc.held && !c.Paused; made != want {
				t.Errorf("a machine is made: %t, want %t: %+v", made, want, p.Actions)
			}
			for _, a := range p.Actions {
				if a.Machine == "eu-1-md-0-abcde" && tc.held {
					t.Errorf("%s is done to it", a.Kind)
				}
			}
		})
	}
}

// TestAnotherUserSeesLess: a Node that is ready proves a machine, whether or not the account sees one.
func TestAnotherUserSeesLess(t *testing.T) {
	c := decoded(t, clusterSpec{1, 1, "v1.34.1", false}.manifests())
	s := &forgetful{infrastructure: infrastructure{newStub(c, 1)}}
	s.workload.Nodes = append(s.workload.Nodes, fleet.Node{
		Name: "eu-1-md-0-abcde", ProviderID: "vsphere://one", Ready: true, KubeletVersion: "v1.34.1",
		Annotations: fleet.NodeAnnotations(c.Key, c.Workers[0], "eu-1-md-0-abcde"),
	})
	seen, err := s.infrastructure.reconcilerOn(t, c, s).Look(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	p := plan.Compute(plan.Input{Desired: c, Observed: seen, Now: s.now})
	if len(p.Actions) > 0 || !strings.Contains(strings.Join(p.Notes, "\n"), "machine eu-1-md-0-abcde (vsphere://one) is held: node eu-1-md-0-abcde is ready") {
		t.Errorf("actions %+v, notes %q", p.Actions, p.Notes)
	}
}

// TestUntaggedKnown: nobody is asked of Nodes that a machine is matched with, by its name or by its id.
func TestUntaggedKnown(t *testing.T) {
	const id = fleet.ProviderID("vsphere://42304ef3-6e31-4ba1-9000-000000000000")
	for reason, tc := range map[string]struct {
		machine fleet.Machine
		node    fleet.ProviderID
		asked   bool
	}{
		"by its name":          {fleet.Machine{Name: "eu-1-md-0-abcde", ProviderID: "vsphere://1"}, id, false},
		"by its id":            {fleet.Machine{Name: "another", ProviderID: id}, id, false},
		"by its id, however":   {fleet.Machine{Name: "another", ProviderID: id}, fleet.ProviderID(strings.ToUpper(string(id))), false},
		"neither":              {fleet.Machine{Name: "another", ProviderID: "vsphere://1"}, id, true},
		"the Node tells no id": {fleet.Machine{Name: "another", ProviderID: "vsphere://1"}, "", false},
		"of a machine pool":    {fleet.Machine{Name: "another", ProviderID: "vsphere://1"}, "vsphere://KEPT", false},
	} {
		c := decoded(t, clusterSpec{1, 1, "v1.34.1", false}.manifests())
		s := &forgetful{infrastructure: infrastructure{newStub(c, 1)}}
		s.seen.Machines[0].ProviderID, s.workload.Nodes[0].ProviderID = "vsphere://0", "vsphere://0"
		tc.machine.Pool, tc.machine.Role, tc.machine.State = c.Workers[0].Name, fleet.RoleWorker, fleet.MachineRunning
		s.seen.Machines = append(s.seen.Machines, tc.machine)
		s.seen.Pools = []fleet.KeptPoolSeen{{Name: "mp", Machines: []fleet.ProviderID{"vsphere://kept"}}}
		s.workload.Nodes = append(s.workload.Nodes, fleet.Node{
			Name: "eu-1-md-0-abcde", ProviderID: tc.node, Annotations: fleet.NodeAnnotations(c.Key, c.Workers[0], "eu-1-md-0-abcde"),
		})
		if _, err := s.infrastructure.reconcilerOn(t, c, s).Look(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		if asked := len(s.asked) > 0; asked != tc.asked {
			t.Errorf("%s: asked for %v, want that %t", reason, s.asked, tc.asked)
		}
	}
}

// TestUntaggedUnknown: where nobody can tell what is behind a Node, nothing is done.
func TestUntaggedUnknown(t *testing.T) {
	c := decoded(t, clusterSpec{1, 1, "v1.34.1", false}.manifests())
	s := &forgetful{infrastructure: infrastructure{newStub(c, 1)}, err: fleet.Errorf(fleet.Unavailable, "ask vCenter", "no answer")}
	s.workload.Nodes = append(s.workload.Nodes, fleet.Node{
		Name: "eu-1-md-0-abcde", ProviderID: "vsphere://42304ef3-6e31-4ba1-9000-000000000000",
		Annotations: fleet.NodeAnnotations(c.Key, c.Workers[0], "eu-1-md-0-abcde"),
	})
	res := s.infrastructure.reconcilerOn(t, c, s).Pass(t.Context(), c, fleet.Memory{})
	if res.Err == nil || len(res.Plan.Actions) > 0 || !strings.Contains(res.Err.Error(), "no answer") {
		t.Errorf("the pass gives %v and does %+v, want an error and nothing done", res.Err, res.Plan.Actions)
	}
}

// TestUntaggedOfSites: each site is asked that could be looked at, and what a guest finds is on it.
func TestUntaggedOfSites(t *testing.T) {
	const id = fleet.ProviderID("vsphere://42304ef3-6e31-4ba1-9000-000000000000")
	for reason, tc := range map[string]struct {
		first, guest error // of a look there
		asked        []string
		found        string // by which provider; "-": by none
	}{
		"both answer":         {nil, nil, []string{"first", "guest"}, "guest"},
		"the guest is silent": {nil, errors.New("no answer"), []string{"first"}, "-"},
		"the first is silent": {errors.New("no answer"), nil, []string{"guest"}, "guest"},
	} {
		t.Run(reason, func(t *testing.T) {
			c := decoded(t, clusterSpec{1, 1, "v1.34.1", false}.manifests())
			c.Guests = []fleet.Site{{Provider: "guest"}}
			first, guest := newStub(c, 1), newStub(c, 0)
			first.lookErr, guest.lookErr = tc.first, tc.guest
			first.workload.Nodes = append(first.workload.Nodes, fleet.Node{
				Name: "a-first", ProviderID: id, Annotations: fleet.NodeAnnotations(c.Key, c.Workers[0], "a-first"),
			})
			sites := map[string]*forgetful{
				c.Provider: {infrastructure: infrastructure{first}},
				"guest":    {infrastructure: infrastructure{guest}, there: map[fleet.ProviderID]bool{id: true}},
			}
			store := secrets.NewMemory()
			for _, name := range append(fleet.Authorities(), fleet.Kubeconfig) {
				if _, err := store.Create(t.Context(), c.Key, name, fleet.SecretData{"value": fleet.NewSecret([]byte("x"))}); err != nil {
					t.Fatal(err)
				}
			}
			seen, err := reconcile.NewLooker(reconcile.LookerOptions{
				Infrastructure: func(name string) (providers.Observer, error) { return sites[name], nil },
				Workload:       nodes{first}, Distributions: providers.Distributions{"KubeadmControlPlane": distribution{first}}, Secrets: store,
				Now: first.clock,
			}).Look(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			var asked []string
			for _, name := range []string{"first", "guest"} {
				if len(sites[map[string]string{"first": c.Provider, "guest": "guest"}[name]].asked) > 0 {
					asked = append(asked, name)
				}
			}
			if d := cmp.Diff(tc.asked, asked); d != "" {
				t.Errorf("asked: %s", d)
			}
			found := "-"
			for _, m := range seen.Infrastructure.Machines {
				if m.ProviderID == id {
					found = m.Provider
					if m.Name != "a-first" || m.Pool != c.Workers[0].Name || m.Role != fleet.RoleWorker {
						t.Errorf("found %+v, want it with what its Node says", m)
					}
				}
			}
			if found != tc.found {
				t.Errorf("found on %q, want %q", found, tc.found)
			}
			if !slices.IsSortedFunc(seen.Infrastructure.Machines, func(a, b fleet.Machine) int { return strings.Compare(string(a.Name), string(b.Name)) }) {
				t.Errorf("machines %+v, want them sorted", seen.Infrastructure.Machines)
			}
		})
	}
}

// TestUntaggedElsewhere: where Git leads to another place than the cluster lives in, what nobody finds
// there is not gone: no machine is made in its place.
func TestUntaggedElsewhere(t *testing.T) {
	for reason, tc := range map[string]struct {
		place string
		made  bool
	}{
		"the same":     {"vCenter a.example.com", true},
		"another":      {"vCenter b.example.com", false},
		"none is told": {"", true},
	} {
		t.Run(reason, func(t *testing.T) {
			c := decoded(t, clusterSpec{1, 1, "v1.34.1", false}.manifests())
			s := &forgetful{infrastructure: infrastructure{newStub(c, 1)}}
			if tc.place != "" {
				s.seen.Places = []fleet.PlaceSeen{{Place: fleet.Place{ID: tc.place}, Used: true, Named: true}}
			}
			s.workload.Nodes = append(s.workload.Nodes, fleet.Node{
				Name: "eu-1-md-0-abcde", ProviderID: "vsphere://42304ef3-6e31-4ba1-9000-000000000000",
				Annotations: fleet.NodeAnnotations(c.Key, c.Workers[0], "eu-1-md-0-abcde"),
			})
			memory := fleet.Memory{Residence: fleet.Residence{Provider: c.Provider, Places: []fleet.Place{{ID: "vCenter a.example.com"}}, ControlPlane: fleet.InitializedOnce}}
			seen, err := s.infrastructure.reconcilerOn(t, c, s).Look(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			p := plan.Compute(plan.Input{Desired: c, Observed: seen, Now: s.now, Memory: memory})
			made := slices.ContainsFunc(p.Actions, func(a fleet.Action) bool { return a.Kind == fleet.CreateMachine })
			told := strings.Contains(strings.Join(slices.Concat(p.Waiting, p.Notes), "\n"), "the credentials lead to vCenter b.example.com")
			if made != tc.made || told == tc.made || !tc.made && len(p.Actions) > 0 {
				t.Errorf("a machine is made: %t, want %t; told where the credentials lead: %t; actions %+v", made, tc.made, told, p.Actions)
			}
		})
	}
}

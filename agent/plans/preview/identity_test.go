package preview

import (
	"testing"

	"fairlead.dev/fleet"
)

// TestSince: what a revision adds is told apart from what comes without it, by what things change to
// and by whether they have their turn.
func TestSince(t *testing.T) {
	t.Parallel()
	group := func(from string, waits bool) Change {
		return Change{Change: "update infrastructure", Cluster: "prod/a", Reason: "security group api allows " + from, Waits: waits}
	}
	machine := func(to string) Change {
		return Change{Change: "replace", Cluster: "prod/a", Machine: "m", Reason: "it is outdated", To: to}
	}
	host := func(name string) Change {
		return Change{Change: "prepare host", Cluster: "prod/a", Host: name, Reason: "inspect it"}
	}
	for name, c := range map[string]struct {
		before, after             []Change
		added, pending, withdrawn int
	}{
		"the same":                        {before: []Change{group("10.0.0.0/8", false)}, after: []Change{group("10.0.0.0/8", false)}, pending: 1},
		"the same in other words":         {before: []Change{{Reason: "retry in 5s"}}, after: []Change{{Reason: "retry in 7s"}}, pending: 1},
		"the same thing further":          {before: []Change{group("10.0.0.0/8", false)}, after: []Change{group("0.0.0.0/0", false)}, added: 1},
		"to something else in such words": {before: []Change{machine("a")}, after: []Change{machine("b")}, added: 1},
		"another host":                    {before: []Change{host("a")}, after: []Change{host("a"), host("b")}, added: 1, pending: 1},
		"twice":                           {before: []Change{machine("a")}, after: []Change{machine("a"), machine("a")}, added: 1, pending: 1},
		"its turn comes":                  {before: []Change{group("10.0.0.0/8", true)}, after: []Change{group("10.0.0.0/8", false)}, added: 1},
		"it has to wait":                  {before: []Change{group("10.0.0.0/8", false)}, after: []Change{group("10.0.0.0/8", true)}, pending: 1},
		"taken back":                      {before: []Change{group("10.0.0.0/8", false), host("a")}, after: []Change{host("a")}, pending: 1, withdrawn: 1},
	} {
		d := (&Plan{Changes: c.after}).Since(&Plan{Changes: c.before})
		if len(d.Added) != c.added || len(d.Pending) != c.pending || len(d.Withdrawn) != c.withdrawn {
			t.Errorf("%s: it is %+v", name, d)
		}
	}
}

// TestIdentityHasWhatItChangesTo: what a cluster is to be identifies its changes, whatever reasons say.
func TestIdentityHasWhatItChangesTo(t *testing.T) {
	t.Parallel()
	k := fleet.Key{Namespace: "prod", Name: "a"}
	is := func() *fleet.Cluster {
		return &fleet.Cluster{
			Key: k, Workers: []fleet.Pool{{Name: "md", Role: fleet.RoleWorker}}, ResourceSets: []fleet.ResourceSet{{Name: "cni"}},
			Releases: []fleet.Release{{ReleaseRef: fleet.ReleaseRef{Namespace: "x", Name: "y"}}},
		}
	}
	for name, c := range map[string]struct {
		change Change
		other  func(c *fleet.Cluster)
	}{
		"infrastructure": {Change{Change: "update infrastructure"}, func(c *fleet.Cluster) { c.Infrastructure.Spec = []byte("{}") }},
		"companion":      {Change{Change: "update infrastructure"}, func(c *fleet.Cluster) { c.Companions = []fleet.Object{{Name: "x"}} }},
		"guest":          {Change{Change: "update infrastructure"}, func(c *fleet.Cluster) { c.Guests = []fleet.Site{{Provider: "x"}} }},
		"hosted":         {Change{Change: "update infrastructure"}, func(c *fleet.Cluster) { c.Hosted = &fleet.HostedControlPlane{Version: "x"} }},
		"replace":        {Change{Change: "replace", Pool: "md"}, func(c *fleet.Cluster) { c.Workers[0].Template = "x" }},
		"create":         {Change{Change: "create", Pool: "md"}, func(c *fleet.Cluster) { c.Workers[0].Version = "x" }},
		"node":           {Change{Change: "update in place", Pool: "md"}, func(c *fleet.Cluster) { c.Workers[0].NodeLabels = map[string]string{"x": "y"} }},
		"addon":          {Change{Change: "apply resources", Addon: "cni"}, func(c *fleet.Cluster) { c.ResourceSets[0].Resources = []fleet.Resource{{Name: "x"}} }},
		"release":        {Change{Change: "upgrade release", Addon: "x/y"}, func(c *fleet.Cluster) { c.Releases[0].Digest = "x" }},
	} {
		other := is()
		c.other(other)
		if first := identityOf(c.change, is()); first != identityOf(c.change, is()) || first == identityOf(c.change, other) {
			t.Errorf("%s: what it changes to is not told apart", name)
		}
	}
}

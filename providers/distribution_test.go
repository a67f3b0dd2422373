package providers_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
)

// versions is a distribution whose steps say which control plane they are for.
type versions struct{ providers.Distribution }

func (versions) Traits(*fleet.Cluster) fleet.Traits { return fleet.Traits{LeaveIsAsked: true} }

func (versions) Needs(*fleet.Cluster) []fleet.SecretNeed {
	return []fleet.SecretNeed{{Name: "token", Inside: true}}
}

func (versions) UserData(in providers.BootstrapInput) (providers.UserData, error) {
	switch in.Pool.Version {
	case "v1":
		return providers.UserData{}, fleet.Errorf(fleet.Unknown, "write user data", "it is not known")
	case "v2":
		motd := in.Cluster.Secrets["motd"]["key"]
		return providers.UserData{}, fleet.Errorf(fleet.Invalid, "write user data", "%s of %s with %q", in.Join, in.Cluster.ControlPlane.Version, motd.Reveal())
	}
	return providers.UserData{}, nil
}

func (versions) Steps(c *fleet.Cluster, _ *fleet.Workload) []fleet.Step {
	p := c.ControlPlane
	return []fleet.Step{{Name: p.Version + " of " + string(p.Template)}}
}

// TestDistributionByKind: a cluster has the distribution of the kind of its control
// plane, and none where that kind has none.
func TestDistributionByKind(t *testing.T) {
	d := providers.Distributions{"KubeadmControlPlane": versions{}, "RKE2ControlPlane": versions{}}
	for kind, want := range map[fleet.PoolKind]string{"": "", "RKE2ControlPlane": "", "KThreesControlPlane": `for the kind KThreesControlPlane; there are those for ["KubeadmControlPlane" "RKE2ControlPlane"]`} {
		c := &fleet.Cluster{Key: fleet.Key{Namespace: "prod", Name: "eu"}, ControlPlane: fleet.Pool{Role: fleet.RoleControlPlane, Kind: kind}}
		got, err := d.Of(c)
		switch {
		case want == "" && (err != nil || got == nil):
			t.Errorf("%s: %v, %v", kind, got, err)
		case want != "" && (fleet.KindOf(err) != fleet.Invalid || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v, want %q", kind, err, want)
		}
	}
}

// TestFacts: steps are there for each version that the control plane may be held to: that
// of Git, those of its class that are older, and those that its machines have.
func TestFacts(t *testing.T) {
	c := &fleet.Cluster{ControlPlane: fleet.Pool{Name: "cp", Role: fleet.RoleControlPlane, Version: "v3", Template: "t3"}}
	o := &fleet.Observed{Infrastructure: fleet.Infrastructure{Machines: []fleet.Machine{
		{Role: fleet.RoleControlPlane, Version: "v1"}, {Role: fleet.RoleControlPlane, Version: "v2"}, {Role: fleet.RoleWorker, Version: "v0"},
	}}}
	step := func(name string) []fleet.Step { return []fleet.Step{{Name: name}} }
	want := fleet.Distribution{
		Traits: fleet.Traits{LeaveIsAsked: true}, Needs: []fleet.SecretNeed{{Name: "token", Inside: true}},
		Steps: map[string][]fleet.Step{"v3": step("v3 of t3")},
	}
	if diff := cmp.Diff(want, providers.Facts(versions{}, c, o)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	c.Topology = &fleet.Topology{Older: []fleet.ClassVersion{
		{Version: "v2", Pools: map[fleet.PoolName]fleet.Blueprint{"cp": {Template: "t2"}}},
		{Version: "v2.5", Pools: map[fleet.PoolName]fleet.Blueprint{"md": {Template: "m"}}},
	}}
	want.Steps["v2"], want.Steps["v1"] = step("v2 of t2"), step("v1 of t3")
	if diff := cmp.Diff(want, providers.Facts(versions{}, c, o)); diff != "" {
		t.Errorf("of a class, -want +got:\n%s", diff)
	}
}

// TestUnmade: a way in which no machine can be made is known for each version of a class, and by
// the content of Secrets that the manifests name.
func TestUnmade(t *testing.T) {
	drafter := providers.NewDrafter(nil)
	spec := fleet.Bootstrap{Spec: []byte(`{"secret":"motd"}`)}
	c := &fleet.Cluster{ControlPlane: fleet.Pool{Name: "cp", Role: fleet.RoleControlPlane, Version: "v3"}}
	c.Topology = &fleet.Topology{Older: []fleet.ClassVersion{
		{Version: "v1", Pools: map[fleet.PoolName]fleet.Blueprint{"cp": {}}},
		{Version: "v2", Pools: map[fleet.PoolName]fleet.Blueprint{"cp": {Bootstrap: spec}}},
	}}
	want := func(content string) []fleet.Unmade {
		return []fleet.Unmade{
			{Pool: "cp", Version: "v2", Join: fleet.JoinInit, Why: "Init of v2 with " + content},
			{Pool: "cp", Version: "v2", Join: fleet.JoinControlPlane, Why: "ControlPlane of v2 with " + content},
		}
	}
	for _, content := range []string{"one", "two", "one"} {
		c.Secrets = map[string]fleet.SecretData{"motd": {"key": fleet.NewSecret([]byte(content))}}
		if diff := cmp.Diff(want(strconv.Quote(content)), drafter.Unmade(versions{}, c, fleet.Endpoint{})); diff != "" {
			t.Errorf("%s: -want +got:\n%s", content, diff)
		}
	}
	c.Delete = true
	if got := drafter.Unmade(versions{}, c, fleet.Endpoint{}); len(got) > 0 {
		t.Errorf("of a cluster that is deleted: %v", got)
	}
}

// TestDraftOfProviders: what one provider refuses, another may take, also if the user data is the same.
func TestDraftOfProviders(t *testing.T) {
	drafter := providers.NewDrafter(providers.Limits{"small": {UserData: func(providers.UserData) error {
		return fleet.Errorf(fleet.Invalid, "create machine", "too large")
	}}})
	for _, provider := range []string{"large", "small", "large", "small"} {
		p := fleet.Pool{Name: "cp", Role: fleet.RoleControlPlane, Version: "v3", Provider: provider}
		err := drafter.Draft(versions{}, &fleet.Cluster{Provider: "large", ControlPlane: p}, p, fleet.JoinInit)
		if refused := err != nil; refused != (provider == "small") {
			t.Errorf("%s: %v", provider, err)
		}
	}
}

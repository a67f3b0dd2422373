package fleet_test

import (
	"testing"

	"fairlead.dev/fleet"
)

func TestVersionStep(t *testing.T) {
	plain := func(*fleet.Cluster) {}
	class := func(c *fleet.Cluster) { c.Topology = &fleet.Topology{Class: fleet.Key{Namespace: "prod", Name: "dev"}} }
	listed := func(c *fleet.Cluster) { class(c); c.Topology.Listed = true }
	hosted := func(c *fleet.Cluster) {
		c.Hosted, c.ControlPlane = &fleet.HostedControlPlane{Version: c.ControlPlane.Version}, fleet.Pool{}
	}
	allow := func(version string) func(*fleet.Cluster) { return func(c *fleet.Cluster) { c.AllowVersion = version } }
	const skips, back = ": this skips a minor version", "the control plane cannot go back from "
	for name, c := range map[string]struct {
		of       func(*fleet.Cluster)
		from, to string
		want     string
	}{
		"the same":                             {plain, "v1.34.1", "v1.34.1", ""},
		"a patch version":                      {plain, "v1.34.1", "v1.34.9", ""},
		"one minor":                            {plain, "v1.34.1", "v1.35.0", ""},
		"one minor, and an older patch":        {plain, "v1.34.9", "v1.35.0", ""},
		"two minors":                           {plain, "v1.34.1", "v1.36.0", "the control plane cannot go from v1.34.1 to v1.36.0" + skips},
		"two minors of a distribution":         {plain, "v1.34.1+k3s1", "v1.36.0+k3s1", "the control plane cannot go from v1.34.1+k3s1 to v1.36.0+k3s1" + skips},
		"two minors of a hosted control plane": {hosted, "v1.34.1", "v1.36.0", "the control plane cannot go from v1.34.1 to v1.36.0" + skips},
		"two minors of a hosted one, listed":   {func(c *fleet.Cluster) { listed(c); hosted(c) }, "v1.34.1", "v1.36.0", ""},
		"two minors with own workers, listed": {func(c *fleet.Cluster) {
			listed(c)
			hosted(c)
			c.KeptPools, c.Workers = []fleet.KeptPool{{Name: "a"}}, []fleet.Pool{{Name: "b"}}
		}, "v1.34.1", "v1.36.0", ""},
		"two minors of kept pools, listed":     {func(c *fleet.Cluster) { listed(c); hosted(c); c.KeptPools = []fleet.KeptPool{{Name: "a"}} }, "v1.34.1", "v1.36.0", "the control plane cannot go from v1.34.1 to v1.36.0" + skips},
		"two minors of a class":                {class, "v1.34.1", "v1.36.0", "the control plane cannot go from v1.34.1 to v1.36.0" + skips},
		"two minors of a class with a list":    {listed, "v1.34.1", "v1.36.0", ""},
		"a major version":                      {plain, "v1.34.1", "v2.0.0", "the control plane cannot go from v1.34.1 to v2.0.0" + skips},
		"a minor back":                         {plain, "v1.34.1", "v1.33.9", back + "v1.34.1 to v1.33.9"},
		"a patch back":                         {plain, "v1.34.2", "v1.34.1", ""},
		"a minor back, in a class with a list": {listed, "v1.34.1", "v1.33.9", back + "v1.34.1 to v1.33.9"},
		"a patch back, in a class":             {class, "v1.34.2", "v1.34.1", back + "v1.34.2 to v1.34.1"},
		"a patch back, hosted and in a class":  {func(c *fleet.Cluster) { class(c); hosted(c) }, "v1.34.2", "v1.34.0", ""},
		"a minor back, hosted and in a class":  {func(c *fleet.Cluster) { class(c); hosted(c) }, "v1.34.2", "v1.33.0", back + "v1.34.2 to v1.33.0"},
		"to a release candidate, in a class":   {class, "v1.34.0", "v1.34.0-rc.1", ""},
		"it is allowed":                        {allow("v1.36.0"), "v1.34.1", "v1.36.0", ""},
		"back, and it is allowed":              {allow("v1.33.9"), "v1.34.1", "v1.33.9", ""},
		"another version is allowed":           {allow("v1.35.0"), "v1.34.1", "v1.36.0", "the control plane cannot go from v1.34.1 to v1.36.0" + skips},
		"nobody knows from where":              {plain, "", "v1.36.0", ""},
	} {
		t.Run(name, func(t *testing.T) {
			var to fleet.Cluster
			to.ControlPlane.Version = c.to
			c.of(&to)
			if got := to.VersionStep(c.from); got.Why != c.want || (got.Hint == "") != (got.Why == "") {
				t.Errorf("VersionStep(%s) is %q, want %q", c.from, got.String(), c.want)
			}
		})
	}
}

func TestKubeletTooOld(t *testing.T) {
	for _, c := range []struct {
		kubelet, server string
		want            bool
	}{
		{"v1.31.9", "v1.34.0", false},
		{"v1.30.9", "v1.34.0", true},
		{"v1.34.0", "v1.34.0", false},
		{"v1.35.0", "v1.34.0", false},
		{"v0.35.0", "v1.34.0", true},
		{"", "v1.34.0", false},
	} {
		if got := fleet.KubeletTooOld(c.kubelet, c.server); got != c.want {
			t.Errorf("KubeletTooOld(%q, %q) is %t", c.kubelet, c.server, got)
		}
	}
}

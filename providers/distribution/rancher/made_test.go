package rancher_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/distribution/k3s"
)

// madeAs returns what c was made with: every flag as c has it, but for changes.
func madeAs(t *testing.T, config string, changes map[string]string) *fleet.Made {
	t.Helper()
	m := &fleet.Made{Flags: map[string]string{}}
	for line := range strings.Lines(config) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		m.Flags[key] = strings.Trim(value, `"`)
	}
	maps.Copy(m.Flags, changes)
	return m
}

// TestMade: a server is made with what the first was made with, and Git is told where it has
// something else. What is the same changes nothing that a machine boots with.
func TestMade(t *testing.T) {
	const same = "cluster-cidr: 10.42.0.0/16\nservice-cidr: 10.43.0.0/16\ncluster-domain: cluster.local\ncluster-dns: \ndisable-cloud-controller: true\ndisable=servicelb: \n"
	d := distributions()["k3s"]
	plain := cluster(t, "k3s")
	plain.ControlPlane.Bootstrap.Spec, plain.Network.Pods.CIDRBlocks, plain.Network.Services.CIDRBlocks, plain.Network.ServiceDomain = []byte(`{}`), nil, nil, ""
	data := func(c fleet.Cluster) string {
		t.Helper()
		got, err := d.UserData(input(t, &c, fleet.JoinControlPlane))
		if err != nil {
			t.Fatal(err)
		}
		return string(got.Content.Reveal())
	}
	before := data(plain)
	for name, c := range map[string]struct {
		changes map[string]string
		has     []string
		told    []string
	}{
		"the same":              {},
		"ranges":                {changes: map[string]string{"cluster-cidr": "10.244.0.0/16"}, has: []string{"10.244.0.0/16"}, told: []string{"Keep cluster-cidr"}},
		"a DNS address":         {changes: map[string]string{"cluster-dns": "10.43.0.53"}, has: []string{"10.43.0.53"}, told: []string{"Keep cluster-dns"}},
		"the cloud controller":  {changes: map[string]string{"disable-cloud-controller": ""}, told: []string{"Keep disable-cloud-controller"}},
		"balancers of Services": {changes: map[string]string{"disable=servicelb": "true"}, has: []string{"servicelb"}, told: []string{"Keep disable=servicelb"}},
	} {
		t.Run(name, func(t *testing.T) {
			made := madeAs(t, same, c.changes)
			got := data(*plain.WithMade(made))
			if (got == before) != (len(c.changes) == 0) {
				t.Errorf("user data changes: %t", got != before)
			}
			for _, text := range c.has {
				if !strings.Contains(got, text) {
					t.Errorf("user data has no %s", text)
				}
			}
			if _, off := c.changes["disable-cloud-controller"]; off && strings.Contains(got, "disable-cloud-controller") {
				t.Error("the cloud controller is disabled")
			}
			var told []string
			for _, s := range d.Steps(&plain, &fleet.Workload{Made: made}) {
				if told = append(told, s.Name); s.When != fleet.Never {
					t.Errorf("%s is taken %s", s.Name, s.When)
				}
			}
			if !slices.Equal(told, c.told) {
				t.Errorf("told is %q, want %q", told, c.told)
			}
		})
	}
	first := input(t, plain.WithMade(madeAs(t, same, map[string]string{"cluster-cidr": "10.244.0.0/16"})), fleet.JoinInit)
	got, err := d.UserData(first)
	if err != nil || strings.Contains(string(got.Content.Reveal()), "10.244.0.0/16") {
		t.Errorf("the first server of a cluster is made with what one before had: %v", err)
	}
}

// TestMadeByFiles: where people configure the program by files, config.yaml does not say all,
// and nothing is told or changed.
func TestMadeByFiles(t *testing.T) {
	d := k3s.New(nil)
	c := cluster(t, "k3s")
	c.ControlPlane.Bootstrap.Spec = []byte(`{"kthreesConfigSpec":{"files":[{"path":"/etc/rancher/k3s/config.yaml.d/a.yaml","content":"cluster-cidr: 10.9.0.0/16"}]}}`)
	made := &fleet.Made{Flags: map[string]string{"cluster-cidr": "10.9.0.0/16"}}
	if steps := d.Steps(&c, &fleet.Workload{Made: made}); len(steps) > 0 {
		t.Errorf("Steps = %v", steps)
	}
}

package examples_test

import (
	"fmt"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"fairlead.dev/fleet"
	example "fairlead.dev/fleet-examples/hosts"
	"fairlead.dev/providers/driver/cloudconfig/userdata"
	"fairlead.dev/providers/infrastructure/hosts/api"
)

// hostsDescribe says what of a cluster its overlay decides.
func hostsDescribe(t *testing.T, c fleet.Cluster) string {
	t.Helper()
	spec, err := api.ReadCluster(c.Infrastructure)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "endpoint: %s:%d\n", spec.ControlPlaneEndpoint.Host, spec.ControlPlaneEndpoint.Port)
	for _, o := range c.Companions {
		pool, err := api.ReadPool(o)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, _, _, _, err := ssh.ParseKnownHosts([]byte(pool.SSH.KnownHosts)); err != nil {
			t.Errorf("known hosts of pool %s: %v", o.Name, err)
		}
		fmt.Fprintf(&b, "pool %s: %d hosts of %s, sudo %v\n", o.Name, len(pool.Hosts), pool.SSH.User, pool.SSH.Sudo == nil)
	}
	for _, p := range c.Pools() {
		m, err := api.ReadMachine(p.Infrastructure)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s: %d %s, surge %d, hosts %v\n", p.Name, p.Replicas, p.Version, p.MaxSurge, m.HostSelector.MatchLabels)
	}
	return b.String()
}

func TestHostsClusters(t *testing.T) {
	got := make(map[string]string)
	for key, c := range rendered(t, example.Files(), api.Kinds()) {
		got[key] = hostsDescribe(t, c)
	}
	want := map[string]string{
		"dev/small": `endpoint: 203.0.113.11:6443
pool hall-1: 7 hosts of fairlead, sudo true
small-cp: 1 v1.34.1, surge 1, hosts map[use:small-api]
small-md-0: 1 v1.34.1, surge 0, hosts map[use:worker]
`,
		"prod/ha": `endpoint: 203.0.113.100:6443
pool hall-1: 7 hosts of fairlead, sudo true
ha-cp: 3 v1.34.1, surge 0, hosts map[use:control-plane]
ha-md-0: 2 v1.34.1, surge 0, hosts map[use:worker]
`,
	}
	same(t, want, got)
}

// TestHostsPlan: on free hosts each cluster is one to create with all of its machines.
func TestHostsPlan(t *testing.T) {
	got := make(map[string]string)
	for key, c := range rendered(t, example.Files(), api.Kinds()) {
		actions, changes := planned(&c, unmade(&c))
		got[key] = fmt.Sprintf("%v, then %d changes from %q", actions, len(changes), changes[0].Kind)
	}
	const first = "[EnsureCertificates EnsureInfrastructure], then "
	want := map[string]string{
		"dev/small": first + `3 changes from "create cluster"`,
		"prod/ha":   first + `6 changes from "create cluster"`,
	}
	same(t, want, got)
}

// TestHostsUserData: each machine's user data is such that hosts run it, with cloud-init and
// without.
func TestHostsUserData(t *testing.T) {
	meta := userdata.Metadata{InstanceID: "0123456789abcdef", Name: "machine", ProviderID: "hosts://hall-1/rack1-1/0123456789abcdef"}
	for key, c := range rendered(t, example.Files(), api.Kinds()) {
		for join, text := range bootstrapped(t, &c, userdata.NodeID) {
			if only, err := userdata.OnlyCloudInit(text, meta); err != nil || len(only) > 0 {
				t.Errorf("%s: %s: only cloud-init does %q, %v", key, join, only, err)
			}
			if _, err := userdata.Script(text, meta); err != nil {
				t.Errorf("%s: %s: %v", key, join, err)
			}
			if _, err := userdata.CloudInit(text, meta); err != nil {
				t.Errorf("%s: %s: %v", key, join, err)
			}
			if !strings.Contains(string(text), "{{ ds.meta_data.provider_id }}") {
				t.Errorf("%s: %s: the kubelet is not told its provider id:\n%s", key, join, text)
			}
		}
	}
}

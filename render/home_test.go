package render

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
)

func TestHomeConfig(t *testing.T) {
	const digest = "@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	ops := fleet.Key{Namespace: "ops", Name: "home"}
	values := func(s string) *HomeManifest {
		return &HomeManifest{Cluster: "ops/home", Values: json.RawMessage(s)}
	}
	for name, tc := range map[string]struct {
		reason string
		in     *HomeManifest
		want   fleet.Home
		fail   string // field and message
	}{
		"none":     {reason: "the agent stays where it is"},
		"defaults": {"the cluster is enough", &HomeManifest{Cluster: "ops/home"}, fleet.Home{Cluster: ops, Namespace: "fairlead-system", Release: "fairlead"}, ""},
		"all": {"everything that bootstrap takes", &HomeManifest{
			Cluster: "ops/home", Image: "registry.example.com:5000/a/fairlead:v1" + digest, Namespace: "fl", Release: "agent",
			Values: json.RawMessage(`{"replicaCount":2,"agent":{"workers":4}}`), Addons: []string{"addons/cni.yaml"}, Keep: true,
		}, fleet.Home{
			Cluster: ops, Image: "registry.example.com:5000/a/fairlead:v1" + digest, Namespace: "fl", Release: "agent",
			Values: `{"replicaCount":2,"agent":{"workers":4}}`, Addons: []string{"addons/cni.yaml"}, Keep: true,
		}, ""},
		"no cluster":   {"it would be none", &HomeManifest{}, fleet.Home{}, `spec.home.cluster: "" is not NAMESPACE/NAME`},
		"no namespace": {"which one", &HomeManifest{Cluster: "home"}, fleet.Home{}, `spec.home.cluster: "home" is not NAMESPACE/NAME`},
		"a path":       {"a folder is no cluster", &HomeManifest{Cluster: "clusters/ops/home"}, fleet.Home{}, `spec.home.cluster: "clusters/ops/home" is not`},
		"image":        {"an empty tag and spaces", &HomeManifest{Cluster: "ops/home", Image: "fair lead"}, fleet.Home{}, `spec.home.image: "fair lead" is no image`},
		"namespace":    {"no DNS label", &HomeManifest{Cluster: "ops/home", Namespace: "Fair"}, fleet.Home{}, "spec.home.namespace: a lowercase RFC 1123 label"},
		"release":      {"too long for Helm", &HomeManifest{Cluster: "ops/home", Release: strings.Repeat("a", 54)}, fleet.Home{}, "spec.home.release: must be at most 53"},
		"a list":       {"values have names", values(`["a"]`), fleet.Home{}, "spec.home.values: it is no mapping"},
		"another name": {"it would wait for a fleet that never comes", values(`{"agent":{"name":"x"}}`), fleet.Home{}, "spec.home.values.agent.name: Fairlead sets this value"},
		"another id":   {"it would take all machines for foreign", values(`{"source":{"fleetID":"x"}}`), fleet.Home{}, "spec.home.values.source.fleetID: Fairlead sets this value"},
		"outside":      {"only the repository is read", &HomeManifest{Cluster: "ops/home", Addons: []string{"a.yaml", "../b.yaml"}}, fleet.Home{}, `spec.home.addons[1]: "../b.yaml" is no path in the repository`},
	} {
		t.Run(name, func(t *testing.T) {
			var failed []string
			got := checkedHome(tc.in, func(field, message, _ string) { failed = append(failed, field+": "+message) })
			if tc.fail != "" {
				if len(failed) != 1 || !strings.HasPrefix(failed[0], tc.fail) {
					t.Errorf("%s: got %q, want %q", tc.reason, failed, tc.fail)
				}
				return
			}
			if diff := cmp.Diff(tc.want, got); diff != "" || len(failed) > 0 {
				t.Errorf("%s: %v (-want +got):\n%s", tc.reason, failed, diff)
			}
		})
	}
}

// A home that the fleet does not have is one problem of that cluster, so that it
// is no orphan and never pruned; a home that is broken has its own problem.
func TestHomeless(t *testing.T) {
	ops, eu := fleet.Key{Namespace: "ops", Name: "home"}, fleet.Key{Namespace: "prod", Name: "eu-1"}
	config := fleet.Config{Home: fleet.Home{Cluster: ops}}
	for name, tc := range map[string]struct {
		f    fleet.Fleet
		want int
	}{
		"there":   {fleet.Fleet{Config: config, Clusters: []fleet.Cluster{{Key: ops}}}, 0},
		"broken":  {fleet.Fleet{Config: config, Problems: []fleet.Problem{{Cluster: ops, Message: "broken"}}}, 0},
		"missing": {fleet.Fleet{Config: config, Clusters: []fleet.Cluster{{Key: eu}}}, 1},
		"none":    {fleet.Fleet{Clusters: []fleet.Cluster{{Key: eu}}}, 0},
	} {
		got := homeless(tc.f)
		if len(got) != tc.want {
			t.Errorf("%s: %v", name, got)
		}
		for _, p := range got {
			if p.Cluster != ops || p.File != "fleet.yaml" || p.Field != "spec.home.cluster" || p.Hint == "" {
				t.Errorf("%s: %+v", name, p)
			}
		}
	}
}

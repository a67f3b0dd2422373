package fleet_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"

	"fairlead.dev/fleet"
)

// TestMachineNames: whatever clusters and pools are called, a machine has a name
// that a Node can have, and another one than any other machine.
func TestMachineNames(t *testing.T) {
	long := strings.Repeat("abcdefghi-", 7)
	seen := map[fleet.MachineName]string{}
	for _, cluster := range []string{"eu-1", "eu.example.org", long[:53] + "-x", long[:54] + "x", long[:62] + "x"} {
		for _, pool := range []string{"md-0", cluster + "-md-0", "a.b", long[:59] + "-x"} {
			for i, template := range []fleet.TemplateHash{"1-a", "1-b"} {
				what := cluster + " " + pool + " " + string(template)
				name := fleet.NewMachineName(fleet.Key{Namespace: "prod", Name: cluster}, fleet.PoolName(pool), template, i)
				if problems := validation.IsDNS1123Label(string(name)); len(problems) > 0 {
					t.Errorf("%s: %s: %v", what, name, problems)
				}
				if strings.Contains(string(name), "--") {
					t.Errorf("%s: %s: a name that was cut ends with a hyphen before the hash", what, name)
				}
				if other, ok := seen[name]; ok {
					t.Errorf("%s and %s are both called %s", what, other, name)
				}
				seen[name] = what
			}
		}
	}
	if got := fleet.NewMachineName(fleet.Key{Namespace: "prod", Name: "eu-1"}, "eu-1-md-0", "1-a", 0); !strings.HasPrefix(string(got), "eu-1-md-0-") || len(got) != len("eu-1-md-0-")+8 {
		t.Errorf("a pool that is called after its cluster has machines like %s", got)
	}
	if a, b := fleet.NewMachineName(fleet.Key{Namespace: "a", Name: "x"}, "p", "1-a", 0), fleet.NewMachineName(fleet.Key{Namespace: "b", Name: "x"}, "p", "1-a", 0); a == b {
		t.Error("clusters of one name in two namespaces share names of machines")
	}
}

// TestKeyInLogs: a cluster is called the same in both formats of the log.
func TestKeyInLogs(t *testing.T) {
	var b bytes.Buffer
	slog.New(slog.NewJSONHandler(&b, nil)).Info("x", "cluster", fleet.Key{Namespace: "prod", Name: "eu-1"})
	if want := `"cluster":"prod/eu-1"`; !strings.Contains(b.String(), want) {
		t.Errorf("%s has no %s", b.String(), want)
	}
}

package adopt_test

import (
	"bytes"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fairlead.dev/agent/console/cli"
	"fairlead.dev/providers/infrastructure/inmemory"
)

// TestCommand runs the commands of docs/guides/fleet/migrate-from-cluster-api.md.
func TestCommand(t *testing.T) {
	w := newWorld(t)
	server := httptest.NewServer(inmemory.Handler(w.cloud))
	t.Cleanup(server.Close)
	store := filepath.Join(t.TempDir(), "secrets")
	fairlead := func(want int, args ...string) string {
		t.Helper()
		var out bytes.Buffer
		if args[0] != "validate" {
			args = append(args, "--secrets", store, "--inmemory-url", server.URL)
		}
		if got := cli.Main(program(), args, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &out}); got != want {
			t.Fatalf("fairlead %s: exit code %d, want %d\n%s", strings.Join(args, " "), got, want, &out)
		}
		return out.String()
	}
	adopt := []string{"adopt", "--kubeconfig", w.management.kube.Kubeconfig, "--into", w.folder, "-n", w.ns, "--pause-grace", "0s"}

	if out := fairlead(64, adopt...); !strings.Contains(out, "has no name") {
		t.Errorf("without a name of the fleet: %s", out)
	}
	adopt = append(adopt, "--fleet-id", "harbour")
	// No store has a kubeconfig yet. Nodes are compared with that of the management
	// cluster.
	if out := fairlead(0, append(adopt, "--dry-run")...); !strings.Contains(out, "1 of 1 cluster: ready to be adopted") || strings.Contains(out, "does not answer here") {
		t.Errorf("dry run: %s", out)
	}
	if _, err := os.Stat(filepath.Join(w.folder, "fleet.yaml")); err == nil || w.paused() {
		t.Error("the dry run changed something")
	}
	if out := fairlead(0, adopt...); !strings.Contains(out, "1 of 1 cluster: adopted") {
		t.Errorf("adopt: %s", out)
	}
	fairlead(0, "validate", w.folder)
	fairlead(0, "plan", w.folder) // exit code 2 would say that there are changes
	if out := fairlead(0, append(adopt, "--undo", "--source", w.folder)...); !strings.Contains(out, "1 of 1 cluster: given back") || w.paused() || w.tagged() > 0 {
		t.Errorf("undo: %s, paused %t, %d marked", out, w.paused(), w.tagged())
	}
	data, err := os.ReadFile(filepath.Join(w.folder, "fleet.yaml"))
	if err != nil || !strings.Contains(string(data), "name: harbour") {
		t.Errorf("fleet.yaml: %s, %v", data, err)
	}
}

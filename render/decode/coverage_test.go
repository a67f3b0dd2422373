package decode_test

import (
	"flag"
	"os"
	"slices"
	"testing"

	planes "fairlead.dev/providers/controlplane/external"
	"fairlead.dev/providers/distribution/k3s"
	"fairlead.dev/providers/distribution/rke2"
	hosts "fairlead.dev/providers/infrastructure/hosts/api"
	"fairlead.dev/providers/infrastructure/inmemory"
	metal3 "fairlead.dev/providers/infrastructure/metal3/api"
	openstack "fairlead.dev/providers/infrastructure/openstack/api"
	vsphere "fairlead.dev/providers/infrastructure/vsphere/api"
	"fairlead.dev/render/decode"
	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write docs/coverage.md")

// TestCoverage keeps docs/coverage.md in line with the tables. Run
// "go generate ./render/decode" to write it.
func TestCoverage(t *testing.T) {
	const file = "../../docs/coverage.md"
	got := decode.New("", slices.Concat(hosts.Kinds(), inmemory.Kinds(), metal3.Kinds(), openstack.Kinds(), vsphere.Kinds(), k3s.Kinds(), rke2.Kinds(), planes.Kinds())).Coverage()
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("docs/coverage.md is out of date: run go generate ./render/decode\n-want +got:\n%s", diff)
	}
}

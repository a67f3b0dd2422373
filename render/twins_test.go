package render_test

import (
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
	example "fairlead.dev/fleet-examples/metal3"
	"fairlead.dev/providers/infrastructure/metal3/api"
	"fairlead.dev/render"
	"fairlead.dev/render/decode"
)

// TestOneComputerIsOneHost: of two hosts with one BMC, or one network card, nobody knows which one is
// right, so no cluster that has them is applied. Notation hides nothing, nor does another namespace.
func TestOneComputerIsOneHost(t *testing.T) {
	t.Parallel()
	bmc := func(address string) []string {
		return []string{"hosts/dev/hosts.yaml", "redfish-virtualmedia+https://203.0.113.12/redfish/v1/Systems/1", address}
	}
	dev := func(field, value string) []string {
		const file, hint = "hosts/dev/hosts.yaml: BareMetalHost dev/dev-", " (correct one of them, or remove it)"
		return []string{
			file + "1: " + field + ": BareMetalHost dev/dev-2 has the same value, " + value + hint,
			file + "2: " + field + ": BareMetalHost dev/dev-1 has the same value, " + value + hint,
		}
	}
	const first = "203.0.113.11/redfish/v1/systems/1"
	for name, tc := range map[string]struct {
		change []string // file, old and new text
		going  bool     // the clusters are to be deleted
		gone   string   // namespaces whose clusters are not applied
		want   []string
	}{
		"as it is":         {gone: ""},
		"deletion":         {change: bmc("redfish-virtualmedia+https://203.0.113.11/redfish/v1/Systems/1"), going: true},
		"one BMC":          {bmc("redfish-virtualmedia+https://203.0.113.11/redfish/v1/Systems/1"), false, "dev", dev("spec.bmc.address", first)},
		"other notation":   {bmc("redfish+http://203.0.113.11:80/redfish/v1/systems/1/"), false, "dev", dev("spec.bmc.address", first)},
		"no system":        {bmc("redfish-virtualmedia://203.0.113.11"), false, "dev", dev("spec.bmc.address", first)},
		"another system":   {bmc("redfish-virtualmedia://203.0.113.11/redfish/v1/Systems/2"), false, "", nil},
		"another port":     {bmc("redfish-virtualmedia://203.0.113.11:8000/redfish/v1/Systems/1"), false, "", nil},
		"one network card": {[]string{"hosts/dev/hosts.yaml", "52:54:00:10:00:02", "52:54:00:10:00:01"}, false, "dev", dev("spec.bootMACAddress", "52:54:00:10:00:01")},
		"two namespaces": {[]string{"hosts/prod/hosts.yaml", "203.0.113.21", "203.0.113.11"}, false, "dev prod", []string{
			"hosts/dev/hosts.yaml: BareMetalHost dev/dev-1: spec.bmc.address: BareMetalHost prod/cp-1 has the same value, " + first + " (correct one of them, or remove it)",
			"hosts/prod/hosts.yaml: BareMetalHost prod/cp-1: spec.bmc.address: BareMetalHost dev/dev-1 has the same value, " + first + " (correct one of them, or remove it)",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := &memTree{MapFS: fstest.MapFS{}}
			if err := fs.WalkDir(example.Files(), ".", func(path string, d fs.DirEntry, err error) error {
				if err != nil || d.IsDir() {
					return err
				}
				data, err := fs.ReadFile(example.Files(), path)
				if len(tc.change) > 0 && path == tc.change[0] {
					data = []byte(strings.Replace(string(data), tc.change[1], tc.change[2], 1))
				}
				if tc.going && path == "bases/cluster/cluster.yaml" {
					data = []byte(strings.Replace(string(data), "kind: Cluster\nmetadata:\n", "kind: Cluster\nmetadata:\n  annotations: {fairlead.dev/delete: \"true\"}\n", 1))
				}
				files.MapFS[path] = &fstest.MapFile{Data: data}
				return err
			}); err != nil {
				t.Fatal(err)
			}
			b := render.New(render.Options{Decoder: decode.New("example", api.Kinds())})
			f, err := b.Render(t.Context(), fleet.Revision{Ref: "main", Digest: "sha1:1"}, files)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range f.Clusters {
				if strings.Contains(tc.gone, c.Key.Namespace) {
					t.Errorf("cluster %s is applied", c.Key)
				}
			}
			if len(f.Clusters) == 0 && tc.gone != "dev prod" {
				t.Error("no cluster is applied")
			}
			var got []string
			for _, p := range f.Problems {
				if line := p.WithoutLine(); len(got) == 0 || got[len(got)-1] != line.String() { // each cluster tells
					got = append(got, line.String())
				}
			}
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Errorf("problems (-want +got):\n%s", d)
			}
		})
	}
}

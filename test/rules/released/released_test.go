package released_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/all"
	"fairlead.dev/providers/distribution/kubeadm"
	"fairlead.dev/render"
	"fairlead.dev/render/decode"
)

var update = flag.Bool("update", false, "write the hashes again: only for manifests that are new")

// TestTemplateHashes holds the template hashes of real kinds of every provider, and
// the machine names that follow from them, against those of released versions: a
// Fairlead that is upgraded rolls nothing. A hash that changed is a defect of the
// code; the golden file is never written again for it.
func TestTemplateHashes(t *testing.T) {
	lines := map[string]*strings.Builder{} // by schema
	for _, c := range decoded(t) {
		for _, p := range c.Pools() {
			for _, h := range append(p.Former, p.Template) {
				if lines[h.Schema()] == nil {
					lines[h.Schema()] = &strings.Builder{}
				}
				fmt.Fprintf(lines[h.Schema()], "%s %s %s %s\n", c.name, p.Name, h, fleet.NewMachineName(c.Key, p.Name, h, 0))
			}
		}
	}
	for schema, got := range lines {
		compare(t, "testdata/hashes-"+schema+".golden", got.String())
	}
}

// TestDigests holds the digests of the same definitions: where one changes with the
// version, infrastructure that people told Fairlead to leave as they changed it would be
// corrected once more.
func TestDigests(t *testing.T) {
	var got strings.Builder
	for _, c := range decoded(t) {
		fmt.Fprintf(&got, "%s %s\n", c.name, c.Digest)
	}
	compare(t, "testdata/digests.golden", got.String())
}

// TestMarks holds the marks that released versions left in the clusters of the same
// definitions: where one changes with the version, every cluster is written to.
func TestMarks(t *testing.T) {
	var got strings.Builder
	for _, c := range decoded(t) {
		config, addons := kubeadm.Marks(&c.ControlPlane)
		fmt.Fprintf(&got, "%s %s %s\n", c.name, config, addons)
	}
	compare(t, "testdata/marks.golden", got.String())
}

// compare compares got with a golden file.
func compare(t *testing.T, golden, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

type definition struct {
	name string // of its file
	fleet.Cluster
}

// decoded returns the clusters in testdata.
func decoded(t *testing.T) (out []definition) {
	t.Helper()
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("found %d files: %v", len(files), err)
	}
	registry, err := all.Registry()
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var objects []render.Object
		for doc := range bytes.SplitSeq(raw, []byte("\n---\n")) {
			objects = append(objects, render.Object{File: file, YAML: doc})
		}
		clusters, problems := decode.New("released", registry.Kinds()).Decode("clusters/x", objects)
		if len(problems) > 0 || len(clusters) != 1 {
			t.Fatalf("%s: decoded %d clusters, with problems %v", file, len(clusters), problems)
		}
		out = append(out, definition{strings.TrimSuffix(filepath.Base(file), ".yaml"), clusters[0]})
	}
	return out
}

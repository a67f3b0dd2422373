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
	"fairlead.dev/render"
	"fairlead.dev/render/decode"
)

var update = flag.Bool("update", false, "write the hashes again: only for manifests that are new")

// TestTemplateHashes holds the template hashes of real kinds of every provider, and
// the machine names that follow from them, against those of released versions: a
// Fairlead that is upgraded rolls nothing. A hash that changed is a defect of the
// code; the golden file is never written again for it.
func TestTemplateHashes(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("found %d files: %v", len(files), err)
	}
	registry, err := all.Registry()
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
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
		for _, p := range clusters[0].Pools() {
			fmt.Fprintf(&got, "%s %s %s %s\n", strings.TrimSuffix(filepath.Base(file), ".yaml"), p.Name, p.Template,
				fleet.NewMachineName(clusters[0].Key, p.Name, p.Template, 0))
		}
	}
	const golden = "testdata/hashes.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(got.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got.String()); d != "" {
		t.Errorf("template hashes (-want +got):\n%s", d)
	}
}

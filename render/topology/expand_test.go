package topology_test

import (
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

var rewrite = flag.Bool("rewrite", false, "write what comes out into testdata")

// TestExpand compares what classes make with what was judged to be right.
func TestExpand(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			objects := parsed(t, string(archive.Files[0].Data))
			class, clusters := compiled(t, objects)
			if len(class.Problems) > 0 {
				t.Fatal(lines(class.Problems))
			}
			made, problems := class.Expand(clusters[0])
			if len(problems) > 0 {
				t.Fatal(lines(problems))
			}
			got := asYAML(t, made.Objects)
			if *rewrite {
				archive.Files[1].Data = []byte(got)
				if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(string(archive.Files[1].Data), got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			// The same again, in whatever order the objects are found, whatever was
			// expanded before.
			for range 10 {
				rand.Shuffle(len(objects), func(i, j int) { objects[i], objects[j] = objects[j], objects[i] })
				other, _ := compiled(t, objects)
				if other.Digest != class.Digest {
					t.Error("the order of objects changes the digest of the class")
				}
				again, _ := other.Expand(clusters[0])
				if asYAML(t, again.Objects) != got {
					t.Error("the order of objects changes what comes out")
				}
			}
			again, _ := class.Expand(clusters[0])
			if asYAML(t, again.Objects) != got {
				t.Error("a second expansion gives something else")
			}
		})
	}
}

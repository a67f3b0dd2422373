package sdk

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
)

// An index is read alike whether Helm wrote it or not.
func TestReadIndex(t *testing.T) {
	want := []indexEntry{{Version: "1.0.0", URLs: []string{"a-1.tgz"}}}
	for name, c := range map[string]struct {
		index string
		whole bool // it is read as a whole
	}{
		"by Helm":         {"apiVersion: v1\nentries:\n  b:\n  - urls: [b.tgz]\n    version: 2.0.0\n  a:\n  - urls:\n    - a-1.tgz\n    version: 1.0.0\n  c: []\ngenerated: now\n", false},
		"the last":        {"entries:\n  a:\n  - urls:\n    - a-1.tgz\n    version: 1.0.0\n", false},
		"indented":        {"entries:\n  a:\n    - urls:\n        - a-1.tgz\n      version: 1.0.0\n\n    # a comment\ngenerated: now\n", false},
		"more blanks":     {"entries:\n    a:\n    - {urls: [a-1.tgz], version: 1.0.0}\n", true},
		"JSON":            {`{"entries":{"a":[{"version":"1.0.0","urls":["a-1.tgz"]}]}}`, true},
		"quoted":          {"entries:\n  'a':\n  - {urls: [a-1.tgz], version: 1.0.0}\n", true},
		"in another list": {"other:\n  a:\n  - {version: 3.0.0}\nentries:\n  a:\n  - {urls: [a-1.tgz], version: 1.0.0}\n", false},
		"with aliases":    {"x: &x [a-1.tgz]\nentries:\n  a:\n  - {urls: *x, version: 1.0.0}\n", true},
	} {
		t.Run(name, func(t *testing.T) {
			got, found, err := readIndex([]byte(c.index), "a")
			if err != nil || !found {
				t.Fatalf("got %v, found %v", err, found)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-want, +got:\n%s", diff)
			}
			if part := entryOf([]byte(c.index), "a"); (part == nil) != c.whole && name != "with aliases" {
				t.Errorf("got the part %q", part)
			}
			if _, found, err := readIndex([]byte(c.index), "none"); found || err != nil {
				t.Errorf("a chart that is not there: %v, %v", found, err)
			}
		})
	}
}

// FuzzIndex: an index is read, or is one error of its own.
func FuzzIndex(f *testing.F) {
	for _, s := range []string{"entries:\n  a:\n  - urls: [a]\n    version: 1.0.0\n", "entries: {a: [{version: 1}]}", "entries:\n  a:\n", "entries:\n  a:\n  - &x\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, index string) {
		if _, _, err := readIndex([]byte(index), "a"); err != nil && fleet.KindOf(err) != fleet.Invalid {
			t.Errorf("got %v", err)
		}
	})
}

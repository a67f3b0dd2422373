package render_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"fairlead.dev/render"
)

// Problems quote what a repository says: they cannot steer a terminal, and the
// status has room for them.
func TestProblemsAreBounded(t *testing.T) {
	var labels strings.Builder
	for i := range 200 {
		fmt.Fprintf(&labels, "    l%03d: ${V%d}\n", i, i)
	}
	f := newBuilder(render.Options{}).render(t, "sha1:1", tree(
		"-- clusters/x/.env --\nNAME=a\x1b[31m\u202eb"+strings.Repeat("n", 100_000)+"\n"+
			manifest(clusterYAML("x", "${NAME}")+"  labels:\n"+labels.String())))
	if len(f.Problems) != 51 || f.Problems[50].Message != "150 more problems" && f.Problems[0].Message != "150 more problems" {
		t.Fatalf("got %d problems, the last is %q, want 50 and one for the rest", len(f.Problems), f.Problems[len(f.Problems)-1].Message)
	}
	for _, p := range f.Problems {
		text := p.String()
		if strings.ContainsAny(text, "\x1b\u202e\n") || utf8.RuneCountInString(text) > 2000 {
			t.Errorf("the problem has %d bytes: %.80q", len(text), text)
		}
	}
}

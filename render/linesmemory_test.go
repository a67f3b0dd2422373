package render

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"fairlead.dev/fleet"
)

// A filesOnly is a tree of which nothing but files is read.
type filesOnly struct{ fstest.MapFS }

func (t filesOnly) Digest(name string) (string, error) { return name, nil }

// TestLinesOneFileAtATime: problems that alternate between two large files have each file read
// once: what a revision has of files is not held in memory, and not read again for each problem.
func TestLinesOneFileAtATime(t *testing.T) {
	text := "kind: Pool\nmetadata: {name: x}\nspec: 1\n# " + strings.Repeat("x", 900<<10) + "\n"
	files := filesOnly{fstest.MapFS{"a.yaml": {Data: []byte(text)}, "b.yaml": {Data: []byte(text)}}}
	var problems []fleet.Problem
	for i := range 2 * (mostPlaced / len(text)) {
		problems = append(problems, fleet.Problem{File: []string{"a.yaml", "b.yaml"}[i%2], Object: "Pool x", Field: "spec", Message: fmt.Sprint(i)})
	}
	findLines(files, nil, problems)
	for i, p := range problems {
		if p.Line != 3 || p.Message != fmt.Sprint(i) {
			t.Errorf("problem %d is %v", i, p)
		}
	}
}

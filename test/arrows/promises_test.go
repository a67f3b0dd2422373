package arrows

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// TestPromisesAreHeld: the tests and checks that docs/architecture.md names exist.
func TestPromisesAreHeld(t *testing.T) {
	page, err := os.ReadFile("../../docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	_, promises, ok := strings.Cut(string(page), "\n## Promises\n")
	if !ok {
		t.Fatal("docs/architecture.md has no promises")
	}
	promises, _, _ = strings.Cut(promises, "\n## ")
	for promise := range strings.SplitSeq(promises, "\n- ") {
		_, held, _ := strings.Cut(promise, "Held")
		named := regexp.MustCompile("`([A-Z]\\w*)(?:/\\w+)?`").FindAllStringSubmatch(held, -1)
		if len(named) == 0 && strings.HasPrefix(promise, "**") {
			t.Errorf("no test is named for the promise %q", firstLine(promise))
		}
		for _, n := range named {
			what := []string{"-w", n[1]} // a property, or a check of conformance
			if strings.HasPrefix(n[1], "Test") {
				what = []string{"^func " + n[1] + "(t "}
			}
			grep := append(append([]string{"-C", "../..", "grep", "--no-index", "--exclude-standard", "--quiet"}, what...), "--", "*.go")
			if out, err := exec.CommandContext(t.Context(), "git", grep...).CombinedOutput(); err != nil {
				t.Errorf("%s is named for the promise %q, and is not there: %v %s", n[1], firstLine(promise), err, out)
			}
		}
	}
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

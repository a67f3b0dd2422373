package plan_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestTroubleshooting: each message of held machines that docs/operations/troubleshooting.md
// quotes is one of the scripts'.
func TestTroubleshooting(t *testing.T) {
	page, err := os.ReadFile("../../docs/operations/troubleshooting.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## Machines that are held\n")
	files, err := filepath.Glob("testdata/scripts/*")
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if strings.HasPrefix(line, "note ") || strings.HasPrefix(line, "wait ") {
				lines = append(lines, line)
			}
		}
	}
	quoted := regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(section, -1)
	if len(quoted) < 9 {
		t.Errorf("the page quotes %d messages", len(quoted))
	}
	for _, q := range quoted {
		said := regexp.MustCompile(strings.ReplaceAll(regexp.QuoteMeta(q[1]), "…", ".+"))
		if !said.MatchString(strings.Join(lines, "")) {
			t.Errorf("no machine is held with the words %q", q[1])
		}
	}
}

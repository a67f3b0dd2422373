package arrows

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// TestTrustIsShown: testdata/trust.md has a line for each credential, boundary, section and remedy
// of docs/concepts/trust.md, with a test that exists. Tests that its text names exist
// too.
func TestTrustIsShown(t *testing.T) {
	b, err := os.ReadFile("../../../docs/concepts/trust.md")
	if err != nil {
		t.Fatal(err)
	}
	shown, err := os.ReadFile("testdata/trust.md")
	if err != nil {
		t.Fatal(err)
	}
	page, rows := string(b), cells(string(shown))
	used := map[string]bool{}
	for _, line := range promisesOfTrust(t, page) {
		by, ok := rows[line]
		switch used[line] = true; {
		case !ok:
			t.Errorf("docs/concepts/trust.md says %q, and testdata/trust.md names no test for it", line)
		case !strings.Contains(by, "`Test") && !strings.Contains(by, "is not Fairlead's"):
			t.Errorf("no test is named for %q", line)
		}
	}
	for line := range rows {
		if !used[line] {
			t.Errorf("testdata/trust.md has %q, which is no credential, boundary, section or remedy of it", line)
		}
	}
	out, err := exec.CommandContext(t.Context(), "git", "-C", "../../..", "grep", "--no-index", "--exclude-standard", "-hE", "^func (Test|Fuzz)", "--", "*_test.go").Output()
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]bool{}
	for _, m := range regexp.MustCompile(`func (\w+)\(`).FindAllStringSubmatch(string(out), -1) {
		there[m[1]] = true
	}
	for _, n := range regexp.MustCompile("`((?:Test|Fuzz)\\w*)").FindAllStringSubmatch(string(b)+string(shown), -1) {
		if !there[n[1]] {
			t.Errorf("docs/concepts/trust.md or testdata/trust.md names %s, which is not there", n[1])
		}
	}
}

// promisesOfTrust returns what page promises, by its first words: the first cell of each
// row in its tables of credentials and remedies, each boundary, which is bold, and each
// section with text.
func promisesOfTrust(t *testing.T, page string) []string {
	t.Helper()
	var out []string
	for section := range strings.SplitSeq(page, "\n## ") {
		title, text, _ := strings.Cut(section, "\n")
		switch title {
		case "Credentials", "Something got out":
			for first := range cells(text) {
				out = append(out, first)
			}
		case "Boundaries":
			for _, m := range regexp.MustCompile(`(?m)^\*\*([^*]+)\*\*`).FindAllStringSubmatch(text, -1) {
				out = append(out, strings.Join(strings.Fields(m[1]), " "))
			}
		case "In one sentence", "Signed commits", "Signed requests", "Rights of the service account":
			out = append(out, title)
		default:
			if !strings.HasPrefix(title, "# ") {
				t.Errorf("the section %q of docs/concepts/trust.md is new: say here what of it is to be shown", title)
			}
		}
	}
	if len(out) < 40 {
		t.Errorf("docs/concepts/trust.md says %d things, which cannot be all", len(out))
	}
	return out
}

// cells returns the second cells of a table's rows by the first ones, without marks.
func cells(table string) map[string]string {
	rows := map[string]string{}
	for line := range strings.Lines(table) {
		c := strings.Split(line, " | ")
		first := strings.NewReplacer("*", "", "`", "", "|", "").Replace(c[0])
		if first = strings.TrimSpace(first); len(c) < 2 || first == "who holds" || first == "lost" || first == "line" || strings.HasPrefix(first, "-") {
			continue
		}
		rows[first] = c[1]
	}
	return rows
}

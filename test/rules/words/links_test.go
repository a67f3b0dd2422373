package words

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	target  = regexp.MustCompile(`\]\(([^)\s#]*)(#[^)\s]*)?\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	named   = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	dropped = regexp.MustCompile(`[^\p{L}\p{N}_\- ]`)
)

// anchors returns the anchors of the headings of a page, as Git providers name them.
func anchors(page string) map[string]bool {
	out := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(page, -1) {
		text := named.ReplaceAllString(m[1], "$1")
		out["#"+strings.ReplaceAll(dropped.ReplaceAllString(strings.ToLower(text), ""), " ", "-")] = true
	}
	return out
}

// broken returns the links of the page at path that lead to no file or heading.
func broken(path, page string) []string {
	var out []string
	for _, m := range target.FindAllStringSubmatch(fence.ReplaceAllString(page, ""), -1) {
		if strings.Contains(m[1], ":") {
			continue // another site
		}
		to := path
		if m[1] != "" {
			to = filepath.Join(filepath.Dir(path), filepath.FromSlash(m[1]))
		}
		info, err := os.Stat(to)
		if err != nil {
			out = append(out, m[0]+": no such file")
			continue
		}
		if m[2] == "" || info.IsDir() {
			continue
		}
		if text, err := os.ReadFile(to); err != nil || !anchors(string(text))[m[2]] {
			out = append(out, m[0]+": no such heading")
		}
	}
	return out
}

// Links between pages, and to files of the repository, lead somewhere.
func TestLinks(t *testing.T) {
	pages := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == ".git" || d.Name() == "bin" || d.Name() == "testdata") {
			return fs.SkipDir
		}
		if !strings.HasSuffix(path, ".md") || d.IsDir() {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		pages++
		for _, b := range broken(path, string(text)) {
			t.Errorf("%s: %s", path, b)
		}
		return nil
	})
	if err != nil || pages < 50 {
		t.Errorf("%d pages, %v", pages, err)
	}
}

// A link to nothing is noticed.
func TestBrokenLinks(t *testing.T) {
	page := filepath.Join(root, "README.md")
	got := broken(page, "[x](docs/none.md) [y](#developing) [z](#c) [w](docs/glossary.md#none) [v](https://example.com) [u](docs/glossary.md#secrets-and-trust)\n")
	want := []string{"](docs/none.md): no such file", "](#c): no such heading", "](docs/glossary.md#none): no such heading"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

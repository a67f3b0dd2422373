// Package words holds the words of pages, help and messages against the table "Words to
// avoid" of docs/glossary.md. `make lint` runs it.
package words

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

const root = "../../.."

// messages are the folders with packages whose texts people read: help, results, conditions and
// errors. Doubles and suites, whose texts only tests show, are not among them.
func messages() []string {
	return []string{"agent", "fleet", "providers", "reconcile", "render", "sources"}
}

// shown reports whether people read the texts of the package in a folder.
func shown(folder string) bool {
	base := filepath.Base(folder)
	return base != "conformance" && base != "testdata" && !strings.HasSuffix(base, "test")
}

// excused are words to avoid that a file needs, as it names what others define.
func excused() map[string]string {
	return map[string]string{
		"agent/console/page/ask.go":                "wish",    // a field of request files
		"providers/driver/openstackauth/errors.go": "no more", // OpenStack's own message
	}
}

// A word is one to avoid, with what to write instead.
type word struct {
	match *regexp.Regexp
	write string
}

// avoided returns the words to avoid.
func avoided(t *testing.T) []word {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "docs/glossary.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, ok := strings.Cut(string(text), "\n## Words to avoid\n")
	if !ok {
		t.Fatal("docs/glossary.md has no table of words to avoid")
	}
	var out []word
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) != 2 || strings.HasPrefix(cells[0], "-") || strings.TrimSpace(cells[0]) == "avoid" {
			continue
		}
		for text := range strings.SplitSeq(cells[0], ",") {
			out = append(out, word{regexp.MustCompile(`(?i)\b` + regexp.QuoteMeta(strings.TrimSpace(text)) + `\b`), strings.TrimSpace(cells[1])})
		}
	}
	if len(out) < 10 {
		t.Fatalf("docs/glossary.md has %d words to avoid, which cannot be all", len(out))
	}
	return out
}

// check returns the words to avoid in text, with lines from first on.
func check(words []word, file string, first int, text string) []string {
	var out []string
	for i, line := range strings.Split(text, "\n") {
		for _, w := range words {
			if found := w.match.FindString(line); found != "" {
				out = append(out, fmt.Sprintf("%s:%d: %q: write %s", file, first+i, found, w.write))
			}
		}
	}
	return out
}

var (
	fence = regexp.MustCompile("(?ms)^ *```.*?^ *```$")
	code  = regexp.MustCompile("`[^`\n]*`")
	link  = regexp.MustCompile(`\]\([^)\s]*\)`)
)

// prose returns the page without code and addresses, line by line.
func prose(page string) string {
	page = fence.ReplaceAllStringFunc(page, func(s string) string { return strings.Repeat("\n", strings.Count(s, "\n")) })
	return link.ReplaceAllString(code.ReplaceAllString(page, ""), "]")
}

// literals returns the words to avoid in the texts of a file of Go. A text without a space is
// a name.
func literals(words []word, name string, content []byte) ([]string, error) {
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, name, content, 0)
	if err != nil {
		return nil, err
	}
	var out []string
	ast.Inspect(f, func(n ast.Node) bool {
		if _, ok := n.(*ast.ImportSpec); ok {
			return false
		}
		if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
			if text, err := strconv.Unquote(l.Value); err == nil && strings.Contains(text, " ") {
				if e := excused()[name]; e != "" {
					text = strings.ReplaceAll(text, e, "")
				}
				out = append(out, check(words, name, set.Position(l.Pos()).Line, text)...)
			}
		}
		return true
	})
	return out, nil
}

// found returns the words to avoid in all pages and packages, by file or folder.
func found(t *testing.T, words []word) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	read := func(name string) []byte {
		b, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	page := func(name string) {
		text := prose(string(read(name)))
		if name == "docs/glossary.md" {
			text, _, _ = strings.Cut(text, "\n## Words to avoid\n")
		}
		out[name] = check(words, name, 1, text)
	}
	page("README.md")
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(path string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel(root, path)
		// Decisions are records of their time.
		if name = filepath.ToSlash(name); err == nil && strings.HasSuffix(name, ".md") && !strings.HasPrefix(name, "docs/contributing/adr/") {
			page(name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range messages() {
		files := 0
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() && !shown(path) {
				return cmp.Or(err, fs.SkipDir)
			}
			if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return nil
			}
			files++
			name, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			name = filepath.ToSlash(name)
			hits, err := literals(words, name, read(name))
			out[filepath.Dir(name)] = append(out[filepath.Dir(name)], hits...)
			return err
		})
		if err != nil || files == 0 {
			t.Fatalf("%s has %d files: %v", folder, files, err)
		}
	}
	return out
}

// Pages, help and messages use no word to avoid.
func TestWords(t *testing.T) {
	for _, hits := range found(t, avoided(t)) {
		for _, h := range hits {
			t.Error(h)
		}
	}
}

// A page and a text with a word to avoid are noticed, code and names are not.
func TestWordsAreNoticed(t *testing.T) {
	words := avoided(t)
	if got := check(words, "p", 1, prose("One.\n`anew`\n```\nanew\n```\nIt is made Anew.\n")); len(got) != 1 || !strings.HasPrefix(got[0], `p:6: "Anew": write `) {
		t.Errorf("of a page: %q", got)
	}
	got, err := literals(words, "x.go", []byte("package x\n\n// anew\nconst a, b = \"anew\", \"is made anew\"\n"))
	if err != nil || len(got) != 1 || !strings.HasPrefix(got[0], `x.go:4: "anew"`) {
		t.Errorf("of texts: %q, %v", got, err)
	}
}

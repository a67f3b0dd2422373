// Package words holds the words of pages, help, messages and comments against the table "Words
// to avoid" of docs/glossary.md. `make lint` runs it.
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
	"slices"
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

// commented are the folders whose comments developers read, tests excepted.
func commented() []string { return append(messages(), "charts", "test", "tools") }

// shown reports whether people read the texts of a file of Go.
func shown(name string) bool {
	return !slices.ContainsFunc(strings.Split(filepath.Dir(name), "/"), func(folder string) bool {
		return folder == "conformance" || strings.HasSuffix(folder, "test")
	})
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
			match := strings.Join(strings.Fields(text), `\s+`) // a line may end between two of them
			out = append(out, word{regexp.MustCompile(`(?i)\b` + match + `\b`), strings.TrimSpace(cells[1])})
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
	for _, w := range words {
		for _, at := range w.match.FindAllStringIndex(text, -1) {
			line := first + strings.Count(text[:at[0]], "\n")
			out = append(out, fmt.Sprintf("%s:%d: %q: write %s", file, line, strings.Join(strings.Fields(text[at[0]:at[1]]), " "), w.write))
		}
	}
	return out
}

var (
	fence  = regexp.MustCompile("(?ms)^ *```.*?^ *```$")
	code   = regexp.MustCompile("`[^`\n]*`")
	quoted = regexp.MustCompile(`"[^"\n]*"`)
	ident  = regexp.MustCompile(`\w+`)
	link   = regexp.MustCompile(`\]\([^)\s]*\)`)
)

// prose returns the page without code and addresses, line by line.
func prose(page string) string {
	page = fence.ReplaceAllStringFunc(page, func(s string) string { return strings.Repeat("\n", strings.Count(s, "\n")) })
	return link.ReplaceAllString(code.ReplaceAllString(page, ""), "]")
}

// tag is a tag of HTML or an action of a template.
var tag = regexp.MustCompile(`(?s)\{\{.*?\}\}|<[a-zA-Z/!][^<>]*>`)

// markup returns a template, a page of HTML or a file of YAML without tags, line by line.
func markup(text string) string {
	return tag.ReplaceAllStringFunc(text, func(s string) string { return strings.Repeat("\n", strings.Count(s, "\n")) })
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

// mark begins a line of a comment.
var mark = regexp.MustCompile(`(?m)^[ \t]*(//|/\*)`)

// comments returns the words to avoid in the comments of a file of Go. A name of the file, and
// what is quoted, is no word.
func comments(words []word, name string, content []byte) ([]string, error) {
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, name, content, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			names[id.Name] = true
		}
		return true
	})
	var out []string
	for _, group := range f.Comments {
		from, to := set.Position(group.Pos()), set.Position(group.End())
		text := mark.ReplaceAllString(string(content[from.Offset:to.Offset]), "")
		text = quoted.ReplaceAllString(code.ReplaceAllString(text, ""), "")
		text = ident.ReplaceAllStringFunc(text, func(s string) string {
			if names[s] {
				return ""
			}
			return s
		})
		out = append(out, check(words, name, from.Line, text)...)
	}
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
	for _, folder := range append(commented(), "fleet-examples") {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() && d.Name() == "testdata" {
				return cmp.Or(err, fs.SkipDir)
			}
			name, err := filepath.Rel(root, path)
			if err != nil || d.IsDir() {
				return err
			}
			switch name = filepath.ToSlash(name); filepath.Ext(name) {
			case ".html", ".txt", ".yaml":
				out[name] = check(words, name, 1, markup(string(read(name))))
			case ".md":
				page(name)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, folder := range commented() {
		files := 0
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() && d.Name() == "testdata" {
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
			content := read(name)
			hits, err := comments(words, name, content)
			if err != nil {
				return err
			}
			if slices.Contains(messages(), folder) && shown(name) {
				texts, err := literals(words, name, content)
				if err != nil {
					return err
				}
				hits = append(hits, texts...)
			}
			out[filepath.Dir(name)] = append(out[filepath.Dir(name)], hits...)
			return nil
		})
		if err != nil || files == 0 {
			t.Fatalf("%s has %d files: %v", folder, files, err)
		}
	}
	return out
}

// Pages, templates, charts, examples, help and messages use no word to avoid.
func TestWords(t *testing.T) {
	for _, hits := range found(t, avoided(t)) {
		for _, h := range hits {
			t.Error(h)
		}
	}
}

// A page, a text and a comment with a word to avoid are noticed, code and names are not.
func TestWordsAreNoticed(t *testing.T) {
	words := avoided(t)
	if got := check(words, "p", 1, prose("One.\n`anew`\n```\nanew\n```\nIt is made Anew.\n")); len(got) != 1 || !strings.HasPrefix(got[0], `p:6: "Anew": write `) {
		t.Errorf("of a page: %q", got)
	}
	if got := check(words, "t", 1, markup("<p title=\"anew\">{{if .Anew}}\n<b>Nobody</b>{{end}}</p>\n")); len(got) != 1 || !strings.HasPrefix(got[0], `t:2: "Nobody": write `) {
		t.Errorf("of a template: %q", got)
	}
	got, err := literals(words, "x.go", []byte("package x\n\n// anew\nconst a, b = \"anew\", \"is made anew\"\n"))
	if err != nil || len(got) != 1 || !strings.HasPrefix(got[0], `x.go:4: "anew"`) {
		t.Errorf("of texts: %q, %v", got, err)
	}
	source := "package x\n\n// anew is `anew`, or \"anew\", of the Nobody-list, whose \"whom\" is here as\n// it is; made anew.\nvar anew = 1 // nobody\n"
	got, err = comments(words, "x.go", []byte(source))
	slices.Sort(got)
	if err != nil || len(got) != 3 || !strings.HasPrefix(got[0], `x.go:3: "Nobody"`) || !strings.HasPrefix(got[1], `x.go:3: "as it is"`) || !strings.HasPrefix(got[2], `x.go:5: "nobody"`) {
		t.Errorf("of comments: %q, %v", got, err)
	}
}

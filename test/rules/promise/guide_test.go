package promise

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"strings"
	"testing"
)

const guide = "../../../docs/contributing/providers.md"

// shown is a piece of code in the guide, and where it is from: a file, or a declaration in
// it.
var shown = regexp.MustCompile("(?s)<!-- from (\\S+?)(?: (\\S+))? -->\n```go\n(.*?)```\n")

// TestGuide: the code of the guide is that of the provider that it walks through. UPDATE=1
// writes it.
func TestGuide(t *testing.T) {
	data, err := os.ReadFile(guide)
	if err != nil {
		t.Fatal(err)
	}
	pieces := 0
	want := shown.ReplaceAllStringFunc(string(data), func(piece string) string {
		pieces++
		m := shown.FindStringSubmatch(piece)
		code, err := declaration("../../../"+m[1], m[2])
		if err != nil {
			t.Fatal(err)
		}
		from := strings.TrimSpace(m[1] + " " + m[2])
		if code != m[3] && os.Getenv("UPDATE") == "" {
			t.Errorf("the code of %s is another one than in %s: run UPDATE=1 go test ./test/rules/promise -run TestGuide", from, guide)
		}
		return "<!-- from " + from + " -->\n```go\n" + code + "```\n"
	})
	if pieces == 0 {
		t.Error("the guide has no code")
	}
	if os.Getenv("UPDATE") != "" && want != string(data) {
		if err := os.WriteFile(guide, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// declaration returns the one called name in a file, with its comment: of a function, a
// method, a type, a constant or a variable. Without a name it is the whole file.
func declaration(file, name string) (string, error) {
	text, err := os.ReadFile(file)
	if err != nil || name == "" {
		return string(text), err
	}
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, file, text, parser.ParseComments)
	if err != nil {
		return "", err
	}
	for _, d := range f.Decls {
		var doc *ast.CommentGroup
		found := false
		switch d := d.(type) {
		case *ast.FuncDecl:
			doc, found = d.Doc, d.Name.Name == name
		case *ast.GenDecl:
			doc = d.Doc
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					found = found || s.Name.Name == name
				case *ast.ValueSpec:
					found = found || s.Names[0].Name == name
				}
			}
		}
		if !found {
			continue
		}
		from := d.Pos()
		if doc != nil {
			from = doc.Pos()
		}
		return string(text[fset.Position(from).Offset:fset.Position(d.End()).Offset]) + "\n", nil
	}
	return "", fmt.Errorf("%s declares no %s", file, name)
}

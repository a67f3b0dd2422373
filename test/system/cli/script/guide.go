package script

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"fairlead.dev/test/run/needs"
	"fairlead.dev/test/run/waits"
)

// A guide is a page of docs with commands that a script runs.
type guide struct {
	page   string
	left   []string // commands that are left to run, in their order
	blocks bool     // they are whole blocks for a shell
}

// shellBlock is what a page has between fences for a shell.
var shellBlock = regexp.MustCompile("(?ms)^( *)```sh\n(.*?)^ *```$")

// openBlocks reads the page for its blocks.
func (g *guide) openBlocks(ts *testscript.TestScript, page string) {
	b, err := os.ReadFile(docs(page))
	ts.Check(err)
	g.page, g.blocks = page, true
	for _, found := range shellBlock.FindAllStringSubmatch(string(b), -1) {
		g.left = append(g.left, strings.TrimPrefix(strings.ReplaceAll("\n"+found[2], "\n"+found[1], "\n"), "\n"))
	}
}

// open reads the page.
func (g *guide) open(ts *testscript.TestScript, page string) {
	b, err := os.ReadFile(docs(page))
	ts.Check(err)
	g.page = page
	fenced := false
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
		}
		if command, ok := strings.CutPrefix(line, "    "); ok && !fenced {
			g.left = append(g.left, command)
		}
	}
}

// run writes the next command of the guide, which has to begin with PREFIX, to a shell
// script:
//
//	guide open PAGE
//	guide blocks PAGE
//	guide FILE PREFIX [OLD NEW]...
//	guide end
//
// It replaces OLD, which has to exist, by NEW, as a reader would. guide end fails while
// commands are left. Commands are the indented lines of a page, or its blocks of sh.
func (g *guide) run(ts *testscript.TestScript, neg bool, args []string) {
	switch {
	case neg || len(args) == 0:
		ts.Fatalf("usage: guide open PAGE | guide blocks PAGE | guide FILE PREFIX [OLD NEW]... | guide end")
	case args[0] == "open":
		g.open(ts, args[1])
		return
	case args[0] == "blocks":
		g.openBlocks(ts, args[1])
		return
	case args[0] == "end":
		if len(g.left) > 0 {
			ts.Fatalf("%s has commands that were not run:\n%s", g.page, strings.Join(g.left, "\n"))
		}
		return
	case len(g.left) == 0 || !strings.HasPrefix(g.left[0], args[1]):
		ts.Fatalf("the next commands of %s are\n%s", g.page, strings.Join(g.left, "\n"))
	}
	command := g.left[0]
	g.left = g.left[1:]
	for i := 2; i+1 < len(args); i += 2 {
		if !strings.Contains(command, args[i]) {
			ts.Fatalf("%q has no %q", command, args[i])
		}
		command = strings.ReplaceAll(command, args[i], args[i+1])
	}
	ts.Logf("%s", command)
	if !g.blocks {
		command = "exec " + command + "\n"
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(command), 0o644))
}

// docs returns the path of a page.
func docs(page string) string { return filepath.Join(needs.Module(), "docs", page) }

// guideOf is the key of a script's guide.
type guideOf struct{}

func runGuide(ts *testscript.TestScript, neg bool, args []string) {
	g, ok := ts.Value(guideOf{}).(*guide)
	if !ok {
		ts.Fatalf("the script has no guide")
	}
	g.run(ts, neg, args)
}

// ageKeygen builds the program that makes age identities, for the commands that
// follow.
func ageKeygen(ts *testscript.TestScript, _ bool, _ []string) {
	bin := ts.MkAbs("tools")
	ctx, cancel := context.WithTimeout(context.Background(), waits.Limit)
	defer cancel()
	out, err := exec.CommandContext(ctx, "go", "build", "-o", filepath.Join(bin, "age-keygen"), "filippo.io/age/cmd/age-keygen").CombinedOutput()
	if err != nil {
		ts.Fatalf("cannot build age-keygen: %v\n%s", err, out)
	}
	ts.Setenv("PATH", bin+string(os.PathListSeparator)+ts.Getenv("PATH"))
}

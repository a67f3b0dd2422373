package needs

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestCache: a test that skipped is taken from the cache of go test until what it lacked is
// there, and runs then.
func TestCache(t *testing.T) {
	g := Program(t, "go", "https://go.dev/dl")
	dir := t.TempDir()
	for name, text := range map[string]string{
		"module/go.mod":       "module example.com/m\n\ngo 1.26\n",
		"module/m/m_test.go":  "package m\n\nimport (\n\t\"testing\"\n\n\t\"example.com/m/needs\"\n)\n\nfunc TestM(t *testing.T) {\n\tneeds.Program(t, \"some-tool\", \"\")\n\tneeds.Corpus(t, \"some\")\n}\n",
		"programs/readme.txt": "",
		"shared/readme.txt":   "",
	} {
		write(t, filepath.Join(dir, name), text, 0o644)
	}
	text, err := os.ReadFile("needs.go")
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "module/needs/needs.go"), string(text), 0o644)
	run := func(want string) {
		t.Helper()
		c := exec.CommandContext(t.Context(), g, "test", "-vet=off", "-v", "./m")
		c.Dir = filepath.Join(dir, "module")
		c.Env = append(os.Environ(), "PATH="+os.Getenv("PATH")+string(os.PathListSeparator)+filepath.Join(dir, "programs"), "PWD="+c.Dir, "GOFLAGS=-trimpath", "FAIRLEAD_CORPUS=")
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		got := ""
		for _, what := range []string{"there is no some-tool", "there is no corpus", "--- PASS", "(cached)"} {
			if strings.Contains(string(out), what) {
				got += what + "; "
			}
		}
		if got != want {
			t.Errorf("it said %q, want %q:\n%s", got, want, out)
		}
	}
	run("there is no some-tool; ")
	run("there is no some-tool; (cached); ")
	write(t, filepath.Join(dir, "programs", "some-tool"), "#!/bin/sh\n", 0o755)
	run("there is no corpus; ")
	run("there is no corpus; (cached); ")
	write(t, filepath.Join(dir, "shared", "corpus", "some", "thing.yaml"), "", 0o644)
	run("--- PASS; ")
	run("--- PASS; (cached); ")
}

// write makes a file that is an hour old: go test keeps nothing that read a newer one.
func write(t *testing.T, name, text string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-time.Hour)
	for at := name; filepath.Base(filepath.Dir(at)) != "001" && len(at) > len(os.TempDir()); at = filepath.Dir(at) {
		if err := os.Chtimes(at, old, old); err != nil {
			t.Fatal(err)
		}
	}
}

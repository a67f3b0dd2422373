package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"fairlead.dev/test/run/needs"
)

// TestRun: a module with tests of each ending is told as go test tells it, and what did not
// run is named with what runs it.
func TestRun(t *testing.T) {
	g := needs.Program(t, "go", "https://go.dev/dl")
	for name, tt := range map[string]struct {
		files     map[string]string
		fails     bool
		want, not []string
	}{
		"all is well": {
			files: map[string]string{"a/a_test.go": "package a\nimport \"testing\"\n" +
				"func TestPass(t *testing.T) { t.Log(\"chatter\"); t.Run(\"one\", func(t *testing.T) {}); t.Run(\"two\", func(t *testing.T) {}) }\n" +
				"func TestShort(t *testing.T) { t.Log(\"short form; make test-all runs the whole one\") }\n" +
				"func TestSkip(t *testing.T) { t.Skip(\"there is no helm: run make kube\") }\n"},
			want: []string{"ok  \texample.com/m/a", "Not run here, and what runs it: make test-all (1 in short form here), make kube (1)\n3 passed, 0 failed, 1 skipped\n"},
			not:  []string{"chatter", "RUN", "FAIL"},
		},
		"failures": {
			files: map[string]string{
				"a/a_test.go": "package a\nimport \"testing\"\nfunc TestFail(t *testing.T) { t.Error(\"no good\") }\nfunc TestPass(t *testing.T) { t.Log(\"chatter\") }\n",
				"b/b_test.go": "package b\nimport \"testing\"\nfunc TestPanic(t *testing.T) { panic(\"out of order\") }\n",
				"c/c_test.go": "package c\nimport \"testing\"\nfunc TestTyping(t *testing.T) { missing() }\n",
			},
			fails: true,
			want:  []string{"no good", "out of order", "undefined: missing", "FAIL\texample.com/m/a", "FAIL\texample.com/m/b", "FAIL\texample.com/m/c [build failed]", "1 passed, 2 failed, 0 skipped\n"},
			not:   []string{"chatter"},
		},
		"a test without an end": {
			files: map[string]string{"a/a_test.go": "package a\nimport (\n\"os\"\n\"testing\"\n)\nfunc TestEnd(t *testing.T) { t.Run(\"one\", func(t *testing.T) {}); t.Run(\"two\", func(t *testing.T) { os.Exit(1) }) }\n"},
			fails: true,
			want:  []string{"1 passed, 0 failed, 0 skipped\nwithout an end: example.com/m/a TestEnd/two\n"},
			not:   []string{"TestEnd/one", "TestEnd\n"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			tt.files["go.mod"] = "module example.com/m\n\ngo 1.26\n"
			for file, text := range tt.files {
				if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, file)), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			c := exec.CommandContext(t.Context(), g, "test", "-vet=off", "-count=1", "-json", "./...")
			c.Dir, c.Env = dir, append(os.Environ(), "PWD="+dir, "GOFLAGS=-trimpath")
			events, _ := c.Output() // its exit code is what run has to find out
			var out bytes.Buffer
			times := filepath.Join(dir, "bin", "times.json")
			if err := run(bytes.NewReader(events), &out, times); (err != nil) != tt.fails {
				t.Errorf("run: %v, want an error: %v", err, tt.fails)
			}
			for _, want := range tt.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("it did not print %q:\n%s", want, out.String())
				}
			}
			for _, not := range tt.not {
				if strings.Contains(out.String(), not) {
					t.Errorf("it printed %q:\n%s", not, out.String())
				}
			}
			var slowest bytes.Buffer
			if err := printTimes(&slowest, times); err != nil || !strings.Contains(slowest.String(), "example.com/m/a\n") {
				t.Errorf("the times have no package a: %v\n%s", err, slowest.String())
			}
		})
	}
}

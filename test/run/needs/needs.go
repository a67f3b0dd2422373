package needs

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Corpus returns a folder of what upstream projects ship, or skips t: the folder in that of
// FAIRLEAD_CORPUS, or in ../shared/corpus beside the module.
func Corpus(t testing.TB, elements ...string) string {
	t.Helper()
	dir := os.Getenv("FAIRLEAD_CORPUS")
	if dir == "" {
		dir = filepath.Join(Module(), "..", "shared", "corpus")
	}
	dir = filepath.Join(append([]string{dir}, elements...)...)
	if _, err := Stat(dir); err != nil {
		t.Skipf("there is no corpus (%v): set FAIRLEAD_CORPUS", err)
	}
	return dir
}

// Program returns the path of a program, or skips t and says how to get it.
func Program(t testing.TB, name, how string) string {
	t.Helper()
	path, err := LookPath(name)
	if err != nil {
		t.Skipf("there is no %s: %s", name, how)
	}
	return path
}

// File skips t where a file is missing, and says how to get it.
func File(t testing.TB, path, how string) {
	t.Helper()
	if _, err := Stat(path); err != nil {
		t.Skipf("%v: %s", err, how)
	}
}

// LookPath is exec.LookPath, for the cache of go test to see.
func LookPath(name string) (string, error) {
	path, err := exec.LookPath(name)
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		at := filepath.Join(dir, name)
		if _, missing := Stat(at); missing == nil && at == path {
			break // what comes after it changes nothing
		}
	}
	return path, err
}

// Stat is os.Stat, for the cache of go test to see.
func Stat(path string) (fs.FileInfo, error) { return os.Stat(through(path)) }

// through returns a name of path that begins with the folder of the module, and path where
// there is none.
func through(path string) string {
	root := Module()
	abs, err := filepath.Abs(path)
	if err != nil || root == "" {
		return path
	}
	real, err := filepath.EvalSymlinks(root) // whose parents ".." leads to
	if err != nil {
		return path
	}
	rel, err := filepath.Rel(real, abs)
	if err != nil {
		return path
	}
	return root + string(filepath.Separator) + rel // Join would shorten it
}

// Module returns the folder of the module whose tests run; empty where there is none.
func Module() string {
	dir, err := os.Getwd()
	if err != nil {
		return ""
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			return ""
		}
		dir = up
	}
}

package secrets

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
)

// TestMain lets the test binary be the other process of a race or a crash.
func TestMain(m *testing.M) {
	if dir := os.Getenv("SECRETS_TEST_DIR"); dir != "" {
		os.Exit(child(dir, os.Getenv("SECRETS_TEST_DO")))
	}
	os.Exit(m.Run())
}

// child does one thing to the store in dir, and prints what it sees.
func child(dir, do string) int {
	ctx := context.Background()
	f, err := OpenFile(ctx, dir, Options{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	switch do {
	case "create":
		for i := range 20 {
			k := fleet.Key{Namespace: "prod", Name: fmt.Sprint("c-", i)}
			d, err := f.Create(ctx, k, fleet.ClusterCA, data(fmt.Sprint(os.Getpid())))
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				return 1
			}
			fmt.Printf("%s=%s\n", k, d[fleet.TLSKeyKey].Reveal())
		}
	case "crash before rename":
		f.disk = crashing{f.root}
		_ = f.Replace(ctx, eu1, fleet.ClusterCA, data("new"))
	}
	return 0
}

// A crashing root ends the process before a rename.
type crashing struct{ *os.Root }

func (crashing) Rename(string, string) error { os.Exit(3); return nil }

func run(t *testing.T, dir, do string) (string, error) {
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), "SECRETS_TEST_DIR="+dir, "SECRETS_TEST_DO="+do)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if stderr.Len() > 0 {
		t.Error(stderr.String())
	}
	return stdout.String(), err
}

// Processes that start on an empty folder and race get the same authorities,
// which takes the same identity first.
func TestProcessesThatRaceAgree(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	out := make([]string, 4)
	var wg sync.WaitGroup
	for i := range out {
		wg.Go(func() {
			var err error
			if out[i], err = run(t, dir, "create"); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if strings.Count(out[0], "\n") != 20 {
		t.Errorf("process 0 made:\n%s", out[0])
	}
	for i := range out {
		if d := cmp.Diff(out[0], out[i]); d != "" {
			t.Errorf("processes 0 and %d got different secrets (-0 +%d):\n%s", i, i, d)
		}
	}
}

func TestCrashBetweenWriteAndRename(t *testing.T) {
	dir := t.TempDir()
	f := openFile(t, dir)
	if _, err := f.Create(t.Context(), eu1, fleet.ClusterCA, data("old")); err != nil {
		t.Fatal(err)
	}
	_, err := run(t, dir, "crash before rename")
	if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 3 {
		t.Fatalf("the child did not crash as planned: %v", err)
	}
	left := filepath.Join(dir, "prod", ".eu-1.age.new")
	if _, err := os.Stat(left); err != nil {
		t.Fatalf("the crash left nothing behind, so this tests nothing: %v", err)
	}
	for _, s := range []*File{f, openFile(t, dir)} {
		got, err := s.Get(t.Context(), eu1, fleet.ClusterCA)
		if err != nil || string(got[fleet.TLSKeyKey].Reveal()) != "old" {
			t.Errorf("after the crash: %q, %v; want what was there before it", got[fleet.TLSKeyKey].Reveal(), err)
		}
	}
	if err := f.Replace(t.Context(), eu1, fleet.ClusterCA, data("newer")); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(left); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the next write leaves %s", left)
	}
	if got, err := openFile(t, dir).Get(t.Context(), eu1, fleet.ClusterCA); err != nil || string(got[fleet.TLSKeyKey].Reveal()) != "newer" {
		t.Errorf("after the next write: %q, %v", got[fleet.TLSKeyKey].Reveal(), err)
	}
}

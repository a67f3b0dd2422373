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
	"time"

	"filippo.io/age"
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

// A reader sees what another process wrote, in spite of its cache.
func TestCacheFollowsTheFile(t *testing.T) {
	dir := t.TempDir()
	reader, writer := openFile(t, dir), openFile(t, dir)
	for i := range 50 {
		want := fmt.Sprint("value ", i%10)
		if err := writer.Replace(t.Context(), eu1, fleet.Kubeconfig, data(want)); err != nil {
			t.Fatal(err)
		}
		got, err := reader.Get(t.Context(), eu1, fleet.Kubeconfig)
		if err != nil || string(got[fleet.TLSKeyKey].Reveal()) != want {
			t.Fatalf("write %d: got %q, %v; want %q", i, got[fleet.TLSKeyKey].Reveal(), err, want)
		}
	}
	if err := writer.Delete(t.Context(), eu1); err != nil {
		t.Fatal(err)
	}
	if _, err := reader.Get(t.Context(), eu1, fleet.Kubeconfig); fleet.KindOf(err) != "NotFound" {
		t.Errorf("after delete: %v, want the kind NotFound", err)
	}
}

func TestUnreadableFileIsNamedAndLeft(t *testing.T) {
	other := func(t *testing.T, _ string) []byte {
		id, err := age.GenerateX25519Identity()
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		w, err := age.Encrypt(&b, id.Recipient())
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(w, `{"version":1,"secrets":{}}`)
		w.Close()
		return b.Bytes()
	}
	// same returns what is encrypted for the right identity.
	same := func(plain string) func(t *testing.T, dir string) []byte {
		return func(t *testing.T, dir string) []byte {
			var b bytes.Buffer
			w, err := age.Encrypt(&b, openFile(t, dir).identities.first)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprint(w, plain)
			w.Close()
			return b.Bytes()
		}
	}
	content := func(change func([]byte) []byte) func(t *testing.T, dir string) []byte {
		return func(t *testing.T, dir string) []byte {
			b, err := os.ReadFile(filepath.Join(dir, "prod", "eu-1.age"))
			if err != nil {
				t.Fatal(err)
			}
			return change(b)
		}
	}
	for reason, c := range map[string]struct {
		content func(t *testing.T, dir string) []byte
		kind    fleet.ErrorKind
		hint    string
	}{
		"empty":                {content(func([]byte) []byte { return nil }), "Unknown", "restore it from a backup"},
		"cut off":              {content(func(b []byte) []byte { return b[:len(b)-1] }), "Unknown", "restore it from a backup"},
		"one bit changed":      {content(func(b []byte) []byte { b[len(b)-1] ^= 1; return b }), "Unknown", "restore it from a backup"},
		"not encrypted":        {content(func([]byte) []byte { return []byte(`{"very": "private"}`) }), "Unknown", "restore it from a backup"},
		"not a secret file":    {same(`{"very": "private"}`), "Unknown", "restore it from a backup"},
		"of a newer program":   {same(`{"version":2,"secrets":{}}`), "Unknown", "its version is 2"},
		"for another identity": {other, "Unauthorized", "restore the identity"},
	} {
		t.Run(reason, func(t *testing.T) {
			dir := t.TempDir()
			f := openFile(t, dir)
			if _, err := f.Create(t.Context(), eu1, fleet.ClusterCA, data("x")); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(dir, "prod", "eu-1.age")
			bad := c.content(t, dir)
			if err := os.WriteFile(file, bad, 0o600); err != nil {
				t.Fatal(err)
			}
			f = openFile(t, dir)
			_, get := f.Get(t.Context(), eu1, fleet.ClusterCA)
			_, create := f.Create(t.Context(), eu1, fleet.ClusterCA, data("y"))
			replace := f.Replace(t.Context(), eu1, fleet.Kubeconfig, data("y"))
			for what, err := range map[string]error{"get": get, "create": create, "replace": replace} {
				if fleet.KindOf(err) != c.kind || !strings.Contains(fmt.Sprint(err), file) || !strings.Contains(fmt.Sprint(err), c.hint) {
					t.Errorf("%s: %v\nwant kind %s, the file %s and %q", what, err, c.kind, file, c.hint)
				}
				if strings.Contains(fmt.Sprint(err), "private") {
					t.Errorf("%s shows the content: %v", what, err)
				}
			}
			if now, err := os.ReadFile(file); err != nil || !bytes.Equal(now, bad) {
				t.Errorf("the file was changed (%v)", err)
			}
			if err := f.Delete(t.Context(), eu1); err != nil {
				t.Errorf("delete: %v", err)
			}
		})
	}
}

func TestIdentity(t *testing.T) {
	t.Run("made with the folder, for its owner only", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "a", "b")
		openFile(t, dir)
		for name, want := range map[string]os.FileMode{"": 0o700, "identity.txt": 0o600} {
			info, err := os.Stat(filepath.Join(dir, name))
			if err != nil || info.Mode().Perm() != want {
				t.Errorf("%q: %v, %v; want mode %04o", name, info.Mode(), err, want)
			}
		}
	})
	t.Run("secrets are written for their owner only, encrypted", func(t *testing.T) {
		dir := t.TempDir()
		if _, err := openFile(t, dir).Create(t.Context(), eu1, fleet.ClusterCA, data("very private")); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, "prod", "eu-1.age")
		info, err := os.Stat(file)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v; want mode 0600", info.Mode(), err)
		}
		b, err := os.ReadFile(file)
		if err != nil || bytes.Contains(b, []byte("private")) || !bytes.HasPrefix(b, []byte("age-encryption.org/v1\n")) {
			t.Errorf("the file is not an age file: %q, %v", b[:22], err)
		}
	})
	t.Run("refused where others may read it", func(t *testing.T) {
		dir := t.TempDir()
		openFile(t, dir)
		file := filepath.Join(dir, "identity.txt")
		for mode, ok := range map[os.FileMode]bool{0o600: true, 0o400: true, 0o440: true, 0o644: false, 0o604: false, 0o620: false, 0o602: false} {
			if err := os.Chmod(file, mode); err != nil {
				t.Fatal(err)
			}
			_, err := OpenFile(t.Context(), dir, Options{})
			if ok != (err == nil) {
				t.Errorf("mode %04o: %v", mode, err)
			}
			if err != nil && (fleet.KindOf(err) != "Unauthorized" || !strings.Contains(err.Error(), "chmod 600 "+file)) {
				t.Errorf("mode %04o: %v", mode, err)
			}
		}
	})
	t.Run("not made anew where it was lost", func(t *testing.T) {
		dir := t.TempDir()
		if _, err := openFile(t, dir).Create(t.Context(), eu1, fleet.ClusterCA, data("x")); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(filepath.Join(dir, "identity.txt")); err != nil {
			t.Fatal(err)
		}
		_, err := OpenFile(t.Context(), dir, Options{})
		if fleet.KindOf(err) != "Unauthorized" || !strings.Contains(err.Error(), "restore it from its backup") {
			t.Errorf("%v", err)
		}
	})
	t.Run("not made anew where it was lost and only given Secrets are left", func(t *testing.T) {
		dir := t.TempDir()
		if err := openFile(t, dir).SetSecret(t.Context(), eu1, data("very private")); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(filepath.Join(dir, ".secrets", "prod", "eu-1.age"))
		if err != nil || bytes.Contains(b, []byte("private")) {
			t.Errorf("the file is not encrypted: %v", err)
		}
		if err := os.Remove(filepath.Join(dir, "identity.txt")); err != nil {
			t.Fatal(err)
		}
		if _, err := OpenFile(t.Context(), dir, Options{}); fleet.KindOf(err) != "Unauthorized" || !strings.Contains(err.Error(), "restore it from its backup") {
			t.Errorf("%v", err)
		}
	})
	t.Run("given", func(t *testing.T) {
		dir := t.TempDir()
		if _, err := openFile(t, dir).Create(t.Context(), eu1, fleet.ClusterCA, data("x")); err != nil {
			t.Fatal(err)
		}
		moved := filepath.Join(t.TempDir(), "key")
		if err := os.Rename(filepath.Join(dir, "identity.txt"), moved); err != nil {
			t.Fatal(err)
		}
		key, err := os.ReadFile(moved)
		if err != nil {
			t.Fatal(err)
		}
		for reason, o := range map[string]Options{
			"as a file": {IdentityFile: moved}, "as content": {Identity: fleet.NewSecret(key)},
		} {
			f, err := OpenFile(t.Context(), dir, o)
			if err != nil {
				t.Fatalf("%s: %v", reason, err)
			}
			if _, err := f.Get(t.Context(), eu1, fleet.ClusterCA); err != nil {
				t.Errorf("%s: %v", reason, err)
			}
			f.Close()
		}
		if _, err := os.Stat(filepath.Join(dir, "identity.txt")); !errors.Is(err, os.ErrNotExist) {
			t.Error("an identity was made beside the one that was given")
		}
	})
	t.Run("first of several encrypts, all decrypt", func(t *testing.T) {
		dir := t.TempDir()
		if _, err := openFile(t, dir).Create(t.Context(), eu1, fleet.ClusterCA, data("old")); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, "identity.txt")
		old, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		id, err := age.GenerateX25519Identity()
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, append([]byte(id.String()+"\n"), old...), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := openFile(t, dir).Replace(t.Context(), eu1, fleet.Kubeconfig, data("new")); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(id.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := openFile(t, dir).Get(t.Context(), eu1, fleet.ClusterCA); err != nil || string(got[fleet.TLSKeyKey].Reveal()) != "old" {
			t.Errorf("%v", err)
		}
	})
	for reason, content := range map[string]string{"empty": "", "damaged": "AGE-SECRET-KEY-1VERYPRIVATE", "a public key": "age1lggyhqrw2nlhcxprm67z43rta597azn8gknawjehu9d9dl0jq3yqqvfafg"} {
		t.Run("refused when "+reason, func(t *testing.T) {
			_, err := OpenFile(t.Context(), t.TempDir(), Options{Identity: fleet.NewSecret([]byte(content + "\n"))})
			if fleet.KindOf(err) != "Unauthorized" || strings.Contains(err.Error(), "PRIVATE") {
				t.Errorf("%v", err)
			}
		})
	}
}

// A lock that somebody else keeps is waited for as long as the context allows.
func TestLockEndsWithContext(t *testing.T) {
	f := openFile(t, t.TempDir())
	release, err := lock(t.Context(), f.root, lockName(eu1))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, err := f.Create(ctx, eu1, fleet.ClusterCA, data("x"))
		done <- err
	}()
	cancel()
	select {
	case err := <-done:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%v, want the context's error", err)
		}
	case <-time.After(time.Minute):
		t.Fatal("the lock is waited for without end")
	}
	release()
	if _, err := f.Create(t.Context(), eu1, fleet.ClusterCA, data("x")); err != nil {
		t.Errorf("after release: %v", err)
	}
}

func BenchmarkGet(b *testing.B) {
	const clusters = 1000
	dir := b.TempDir()
	f := openFile(b, dir)
	key := func(i int) fleet.Key { return fleet.Key{Namespace: "prod", Name: fmt.Sprint("c-", i%clusters)} }
	for i := range clusters {
		if _, err := f.Create(b.Context(), key(i), fleet.ClusterCA, data(strings.Repeat("x", 2000))); err != nil {
			b.Fatal(err)
		}
	}
	for name, store := range map[string]func() *File{
		"warm": func() *File { return f },
		"cold": func() *File { f.cache = make(map[fleet.Key]cached); return f },
	} {
		b.Run(name, func(b *testing.B) {
			i := 0
			for b.Loop() {
				s := f
				if i%clusters == 0 {
					s = store()
				}
				if _, err := s.Get(b.Context(), key(i), fleet.ClusterCA); err != nil {
					b.Fatal(err)
				}
				i++
			}
		})
	}
}

func BenchmarkCreate(b *testing.B) {
	f := openFile(b, b.TempDir())
	i := 0
	for b.Loop() {
		if _, err := f.Create(b.Context(), fleet.Key{Namespace: "prod", Name: fmt.Sprint("c-", i)}, fleet.ClusterCA, data("x")); err != nil {
			b.Fatal(err)
		}
		i++
	}
}

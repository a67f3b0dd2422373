package secrets

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"filippo.io/age"

	"fairlead.dev/fleet"
	"fairlead.dev/test/run/waits"
)

// What a process wrote it does not decrypt to read it, and the caller's own copy is not what it keeps.
func TestWrittenIsKnown(t *testing.T) {
	f := openFile(t, t.TempDir())
	given := data("value")
	if err := f.Replace(t.Context(), eu1, fleet.Kubeconfig, given); err != nil {
		t.Fatal(err)
	}
	given[fleet.TLSKeyKey] = fleet.NewSecret([]byte("another"))
	f.identities.all = nil
	got, err := f.Get(t.Context(), eu1, fleet.Kubeconfig)
	if err != nil || string(got[fleet.TLSKeyKey].Reveal()) != "value" {
		t.Errorf("got %q, %v", got[fleet.TLSKeyKey].Reveal(), err)
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
	case <-time.After(waits.Limit):
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

package secrets

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"filippo.io/age"

	"fairlead.dev/fleet"
)

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

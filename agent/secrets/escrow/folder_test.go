package escrow

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"filippo.io/age"

	"fairlead.dev/agent/secrets"
	"fairlead.dev/fleet"
)

// Each way in which a file may be wrong is said, and the others can be restored.
func TestVerify(t *testing.T) {
	private, public := identity(t)
	stranger, other := identity(t)
	for name, tc := range map[string]struct {
		damage func(t *testing.T, b *memory)
		with   fleet.Secret
		want   string // in the problem of eu-1
	}{
		"missing":   {func(_ *testing.T, b *memory) { delete(b.files, "clusters/prod/eu-1.age") }, private, "the file is missing"},
		"damaged":   {func(_ *testing.T, b *memory) { b.files["clusters/prod/eu-1.age"].Data[200]++ }, private, "not the one that the index tells of"},
		"stranger":  {func(*testing.T, *memory) {}, stranger, "encrypted for others"},
		"unopened":  {func(*testing.T, *memory) {}, fleet.Secret{}, ""},
		"exchanged": {func(t *testing.T, b *memory) { exchange(t, b) }, private, "lies in the place of another"},
		"forged":    {func(t *testing.T, b *memory) { forge(t, b, other) }, private, "encrypted for others"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newMemory()
			p := Branch("escrow", b)
			keep(t, keeper(t, p, filled(t, eu1, eu2), nil, public), eu1, eu2)
			tc.damage(t, b)
			e, err := Open(t.Context(), p, tc.with)
			if err != nil {
				t.Fatal(err)
			}
			got := e.Entries[0].Problem
			if tc.want == "" && got != "" || !strings.Contains(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
			if tc.with.IsZero() || name == "stranger" {
				return
			}
			to := secrets.NewMemory()
			if _, err := e.Restore(t.Context(), to); err != nil {
				t.Error(err)
			}
			if _, err := to.Get(t.Context(), eu1, fleet.ClusterCA); err == nil {
				t.Error("what is wrong was restored")
			}
			if _, err := to.Get(t.Context(), eu2, fleet.ClusterCA); err != nil && name != "exchanged" {
				t.Errorf("the damage costs another cluster: %v", err)
			}
		})
	}
	if _, err := Open(t.Context(), Branch("escrow", newMemory()), private); fleet.KindOf(err) != fleet.NotFound {
		t.Errorf("no escrow: %v, want the kind NotFound", err)
	}
}

// exchange puts the file of eu-2 in the place of eu-1, with an index that says so.
func exchange(t *testing.T, b *memory) {
	b.files["clusters/prod/eu-1.age"] = b.files["clusters/prod/eu-2.age"]
	reindex(t, b, "prod/eu-1", b.files["clusters/prod/eu-2.age"].Data)
}

// forge puts a file that is encrypted for another in the place of eu-1.
func forge(t *testing.T, b *memory, recipient string) {
	to, err := age.ParseX25519Recipient(recipient)
	if err != nil {
		t.Fatal(err)
	}
	file, err := encrypt([]byte("{}"), []age.Recipient{to})
	if err != nil {
		t.Fatal(err)
	}
	b.files["clusters/prod/eu-1.age"] = &fstest.MapFile{Data: file}
	reindex(t, b, "prod/eu-1", file)
}

func reindex(t *testing.T, b *memory, name string, file []byte) {
	i, err := readIndex("read", b.files)
	if err != nil {
		t.Fatal(err)
	}
	for n := range i.Entries {
		if i.Entries[n].Name == name {
			i.Entries[n].Sum = sumOf(file)
		}
	}
	data, err := i.encode()
	if err != nil {
		t.Fatal(err)
	}
	b.files[indexName] = &fstest.MapFile{Data: data}
}

func TestFolder(t *testing.T) {
	_, public := identity(t)
	from := filled(t, eu1)
	dir := t.TempDir()
	if _, err := keeper(t, Folder(filepath.Join(dir, "gone")), from, nil, public).Keep(t.Context(), []fleet.Key{eu1}, nil); fleet.KindOf(err) != fleet.Unavailable {
		t.Errorf("a mount that is not there: %v, want the kind Unavailable", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "thesis.doc"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := keeper(t, Folder(dir), from, nil, public).Keep(t.Context(), []fleet.Key{eu1}, nil); fleet.KindOf(err) != fleet.Invalid || !strings.Contains(err.Error(), "thesis.doc") {
		t.Errorf("a folder of somebody else: %v, want that it names what is there", err)
	}

	// A first write that was cut off before the index.
	dir = t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "clusters", "prod"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, ".index.yaml.new"), []byte("version: 1\nfl"), 0o600); err != nil { // or while it was written
		t.Fatal(err)
	}
	keep(t, keeper(t, Folder(dir), from, nil, public), eu1)
	info, err := os.Stat(filepath.Join(dir, "clusters", "prod", "eu-1.age"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("got %v, %v, want a file of mode 0600", info, err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*", "*", "*.new")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// An index is no way out of the place.
func TestHostileIndex(t *testing.T) {
	for _, text := range []string{
		"version: 1\nfleet: edge\nrecipients: []\nentries: [{kind: cluster, name: ../../etc/passwd, digest: '', sum: ''}]\n",
		"version: 1\nfleet: edge\nrecipients: []\nentries: [{kind: cluster, name: ../x, digest: '', sum: ''}]\n",
		"version: 1\nfleet: edge\nrecipients: []\nentries: [{kind: other, name: a/b, digest: '', sum: ''}]\n",
		"version: 2\n", "version: 1\nunknown: 1\n", "- a\n",
	} {
		if _, err := readIndex("read", fstest.MapFS{indexName: {Data: []byte(text)}}); fleet.KindOf(err) != fleet.Invalid {
			t.Errorf("%q: %v, want the kind Invalid", text, err)
		}
	}
}

// TestIndexIsReadBack: an index that could not be read again is not written.
func TestIndexIsReadBack(t *testing.T) {
	i := index{Fleet: "edge", Recipients: []string{"age1"}}
	for n := range 500 {
		i.Entries = append(i.Entries, entry{Kind: kindCluster, Name: fmt.Sprintf("prod/eu-%d", n), Holds: fleet.SecretNames(), Digest: sumOf(nil), Sum: sumOf(nil), Recipients: i.Recipients})
	}
	b, err := i.encode()
	if err != nil {
		t.Fatal(err)
	}
	if i, err := readIndex("read", fstest.MapFS{indexName: {Data: b}}); err != nil || len(i.Entries) != 500 {
		t.Errorf("%d entries, %v", len(i.Entries), err)
	}
	i.Entries[0].Digest = strings.Repeat("0", 17<<20)
	if b, err := i.encode(); fleet.KindOf(err) != fleet.Exhausted {
		_, err := readIndex("read", fstest.MapFS{indexName: {Data: b}})
		t.Errorf("an index was written that is read with %v", err)
	}
}

// A write that is cut off leaves a folder that can be restored from: with the old secrets
// before the index is written, with the new ones after that. The next write finishes it.
func TestFolderThatWasCutOff(t *testing.T) {
	private, public := identity(t)
	for name, tc := range map[string]struct {
		inTheWay string // a folder that lets nothing be written
		want     string // of eu-1, afterwards
	}{
		"before the index": {".index.yaml.new", "old"},
		"after the index":  {"clusters/prod/eu-1.age", "new"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := filled(t, eu1)
			k := keeper(t, Folder(dir), s, nil, public)
			put := func(text string) {
				t.Helper()
				if err := s.Replace(t.Context(), eu1, fleet.Kubeconfig, value(text)); err != nil {
					t.Fatal(err)
				}
			}
			held := func() (string, []string) {
				t.Helper()
				e, err := Open(t.Context(), Folder(dir), private)
				if err != nil {
					t.Fatal(err)
				}
				to := secrets.NewMemory()
				if _, err := e.Restore(t.Context(), to); err != nil {
					t.Fatal(err)
				}
				d, _ := to.Get(t.Context(), eu1, fleet.Kubeconfig)
				return strings.TrimPrefix(string(d[fleet.TLSKeyKey].Reveal()), "key of "), e.Problems()
			}
			put("old")
			keep(t, k, eu1)
			way := filepath.Join(dir, filepath.FromSlash(tc.inTheWay))
			if err := os.RemoveAll(way); err != nil {
				t.Fatal(err)
			}
			if err := os.MkdirAll(filepath.Join(way, "x"), 0o700); err != nil {
				t.Fatal(err)
			}
			put("new")
			if _, err := k.Keep(t.Context(), []fleet.Key{eu1}, nil); err == nil {
				t.Fatal("it was not cut off")
			}
			if got, problems := held(); got != tc.want || len(problems) > 0 {
				t.Errorf("after it was cut off %q can be restored, want %q: %v", got, tc.want, problems)
			}
			if err := os.RemoveAll(way); err != nil {
				t.Fatal(err)
			}
			put("newer")
			keep(t, k, eu1)
			if got, problems := held(); got != "newer" || len(problems) > 0 {
				t.Errorf("after the next write: %q, %v", got, problems)
			}
			if left, _ := filepath.Glob(filepath.Join(dir, "*", "*", ".*.new")); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// What was staged, and is what the index tells of, stays until the next index is written.
func TestFolderThatWasCutOffTwice(t *testing.T) {
	private, public := identity(t)
	dir := t.TempDir()
	s := filled(t, eu1)
	k := keeper(t, Folder(dir), s, nil, public)
	keep(t, k, eu1)
	file := filepath.Join(dir, "clusters", "prod", "eu-1.age")
	old, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Replace(t.Context(), eu1, fleet.Kubeconfig, value("new")); err != nil {
		t.Fatal(err)
	}
	keep(t, k, eu1)
	// It is as if the process had ended between the index and the file.
	if err := os.Rename(file, filepath.Join(filepath.Dir(file), ".eu-1.age.new")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, old, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, ".index.yaml.new", "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := s.Replace(t.Context(), eu1, fleet.Kubeconfig, value("newer")); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Keep(t.Context(), []fleet.Key{eu1}, nil); err == nil {
		t.Fatal("it was not cut off")
	}
	if e, err := Open(t.Context(), Folder(dir), private); err != nil || len(e.Problems()) > 0 {
		t.Errorf("cut off twice: %v, %v", e.Problems(), err)
	}
}

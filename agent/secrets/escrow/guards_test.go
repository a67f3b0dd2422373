package escrow

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"filippo.io/age"

	"fairlead.dev/agent/secrets"
	"fairlead.dev/fleet"
	"fairlead.dev/reconcile"
)

// Where there is no authority yet, nobody who reads the index can check guesses
// either: the key of digests is random, and good for one process.
func TestNothingShowsWithoutAuthorities(t *testing.T) {
	private, public := identity(t)
	b := newMemory()
	p := Branch("escrow", b)
	from := filled(t)
	k := keeper(t, p, from, nil, public)
	keep(t, k)
	first := indexed(t, b, kindSecret, login)
	plain := plainOf(t, login, "password: guessable")
	for _, key := range [][]byte{nil, {}, make([]byte, 32), []byte("edge"), []byte(public)} {
		if sum, _ := digest(key, plain); sum == first.Digest {
			t.Errorf("who guesses the content can check the guess against the index, with the key %q", key)
		}
	}
	keep(t, k)
	if len(b.commits) != 1 {
		t.Errorf("one process wrote %d commits, and nothing changed", len(b.commits))
	}
	keep(t, keeper(t, p, from, nil, public))
	if second := indexed(t, b, kindSecret, login); second.Digest == first.Digest {
		t.Error("two processes have one key: it is not random")
	}
	if e, err := Open(t.Context(), p, private); err != nil || len(e.Problems()) > 0 {
		t.Errorf("it cannot be opened: %v, %v", err, e.Problems())
	}
}

// A cluster whose kubeconfig alone is known has no key of its own.
func TestNothingShowsOfAClusterWithoutAuthority(t *testing.T) {
	_, public := identity(t)
	b := newMemory()
	from := secrets.NewMemory()
	config := value("an adopted cluster")
	if _, err := from.Create(t.Context(), eu1, fleet.Kubeconfig, config); err != nil {
		t.Fatal(err)
	}
	keep(t, keeper(t, Branch("escrow", b), from, nil, public), eu1)
	plain, err := item{kind: kindCluster, key: eu1, secrets: map[fleet.SecretName]fleet.SecretData{fleet.Kubeconfig: config}}.encode("edge")
	if err != nil {
		t.Fatal(err)
	}
	if sum, _ := digest(nil, plain); sum == indexed(t, b, kindCluster, eu1).Digest {
		t.Error("who guesses the content can check the guess against the index")
	}
}

// Opening checks what is in a file against the index, and the index cannot be
// made to fit without the private key of the cluster.
func TestVerifyContent(t *testing.T) {
	private, public := identity(t)
	to, err := age.ParseX25519Recipient(public)
	if err != nil {
		t.Fatal(err)
	}
	whole := func(t *testing.T, from Source) item {
		t.Helper()
		stored, err := reconcile.SecretsOf(t.Context(), from, []fleet.Key{eu1})
		if err != nil {
			t.Fatal(err)
		}
		i, err := clusterItem(eu1, stored[eu1])
		if err != nil {
			t.Fatal(err)
		}
		return i
	}
	for name, tc := range map[string]struct {
		fleet  fleet.ID
		change func(i item)
		want   string
	}{
		"a secret is missing":     {"edge", func(i item) { delete(i.secrets, fleet.ServiceAccount) }, "it does not hold what the index tells of"},
		"a secret is another one": {"edge", func(i item) { i.secrets[fleet.Kubeconfig] = value("somebody else") }, "its content is not the one that the index tells of"},
		"of another fleet":        {"other", func(item) {}, "lies in the place of another"},
		"as it was":               {"edge", func(item) {}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := newMemory()
			p := Branch("escrow", b)
			from := filled(t, eu1)
			keep(t, keeper(t, p, from, nil, public), eu1)
			i := whole(t, from)
			tc.change(i)
			plain, err := i.encode(tc.fleet)
			if err != nil {
				t.Fatal(err)
			}
			file, err := encrypt(plain, []age.Recipient{to})
			if err != nil {
				t.Fatal(err)
			}
			b.files["clusters/prod/eu-1.age"] = &fstest.MapFile{Data: file}
			reindex(t, b, "prod/eu-1", file)
			e, err := Open(t.Context(), p, private)
			if err != nil {
				t.Fatal(err)
			}
			if got := e.Entries[0].Problem; tc.want == "" && got != "" || !strings.Contains(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

// A file of a newer program is said to be that, rather than guessed at.
func TestVersionOfAFile(t *testing.T) {
	plain := plainOf(t, login, "x")
	newer := strings.Replace(string(plain), `"version":1`, `"version":2`, 1)
	e := entry{Kind: kindSecret, Name: login.String()}
	if _, err := decode([]byte(newer), "edge", e); err == nil || !strings.Contains(err.Error(), "its version is 2, this program knows 1") {
		t.Errorf("got %v", err)
	}
	if _, err := decode(plain, "edge", e); err != nil {
		t.Error(err)
	}
	for _, text := range []string{"", "null", "{}", `{"version":1,"hidden":"guessable"}`} {
		if _, err := decode([]byte(text), "edge", e); err == nil || strings.Contains(err.Error(), "guessable") {
			t.Errorf("%q: got %v, want an error that tells nothing of the content", text, err)
		}
	}
}

// Nothing is let go of while something cannot be read, however long it is gone;
// and what comes back is not gone any more.
func TestGoneAndNotSure(t *testing.T) {
	_, public := identity(t)
	clock := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	b := newMemory()
	p := Branch("escrow", b)
	from := filled(t, eu1, eu2)
	now := func() time.Time { return clock }
	k := keeper(t, p, from, now, public)
	keep(t, k, eu1, eu2)
	keep(t, k, eu1)
	if got := indexed(t, b, kindCluster, eu2).Gone; got != "2026-01-02" {
		t.Fatalf("a cluster that is gone is gone since %q", got)
	}
	clock = clock.Add(60 * 24 * time.Hour)
	if _, err := keeper(t, p, unreadable{from, eu1}, now, public).Keep(t.Context(), []fleet.Key{eu1}, nil); err == nil {
		t.Fatal("a store that cannot be read is no error")
	}
	if _, there := b.files["clusters/prod/eu-2.age"]; !there {
		t.Error("a cluster was let go of though the store could not be read")
	}
	keep(t, k, eu1, eu2)
	if got := indexed(t, b, kindCluster, eu2).Gone; got != "" {
		t.Errorf("a cluster that came back is gone since %q", got)
	}
	keep(t, k, eu1)
	if got := indexed(t, b, kindCluster, eu2).Gone; got != "2026-03-03" {
		t.Errorf("it is gone since %q, and not since it went the second time", got)
	}
}

// Who restores again finds what is there. An agent may have renewed a kubeconfig
// meanwhile, which is as good; an authority may not be another.
func TestRestoreBesideARenewedKubeconfig(t *testing.T) {
	private, public := identity(t)
	p := Branch("escrow", newMemory())
	from := filled(t, eu1)
	keep(t, keeper(t, p, from, nil, public), eu1)
	e, err := Open(t.Context(), p, private)
	if err != nil {
		t.Fatal(err)
	}
	renewed := value("a renewed one")
	if err := from.Replace(t.Context(), eu1, fleet.Kubeconfig, renewed); err != nil {
		t.Fatal(err)
	}
	done, err := e.Restore(t.Context(), from)
	if err != nil || !slices.Contains(done, Restored{Name: "cluster prod/eu-1 kubeconfig", Result: ResultAnother}) {
		t.Errorf("got %v, %v", done, err)
	}
	if got, _ := from.Get(t.Context(), eu1, fleet.Kubeconfig); !equal(got, renewed) {
		t.Error("the renewed kubeconfig was replaced by an old one")
	}
}

// forgetful is a store that takes everything and gives back something else.
type forgetful struct{ *secrets.Memory }

func (f forgetful) Create(ctx context.Context, c fleet.Key, name fleet.SecretName, _ fleet.SecretData) (fleet.SecretData, error) {
	return f.Memory.Create(ctx, c, name, value("something else"))
}

// What is stored is read back and compared.
func TestRestoreReadsBack(t *testing.T) {
	private, public := identity(t)
	p := Branch("escrow", newMemory())
	keep(t, keeper(t, p, filled(t, eu1), nil, public), eu1)
	e, err := Open(t.Context(), p, private)
	if err != nil {
		t.Fatal(err)
	}
	done, err := e.Restore(t.Context(), forgetful{secrets.NewMemory()})
	if err == nil || !strings.Contains(err.Error(), "does not give back what was stored") || len(done) != 1 {
		t.Errorf("%d secrets are restored, %v; want that of people alone", len(done), err)
	}
}

func indexed(t *testing.T, b *memory, kind string, k fleet.Key) entry {
	t.Helper()
	i, err := readIndex("read", b.files)
	if err != nil {
		t.Fatal(err)
	}
	e, ok := i.find(kind, k.String())
	if !ok {
		t.Fatalf("the index tells nothing of %s", k)
	}
	return e
}

// plainOf is the file of a Secret that people gave, before it is encrypted.
func plainOf(t *testing.T, k fleet.Key, content string) []byte {
	t.Helper()
	plain, err := item{kind: kindSecret, key: k, secrets: map[fleet.SecretName]fleet.SecretData{
		given: {"clouds.yaml": fleet.NewSecret([]byte(content))},
	}}.encode("edge")
	if err != nil {
		t.Fatal(err)
	}
	return plain
}

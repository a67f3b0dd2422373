package escrow

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"filippo.io/age"
	"github.com/google/go-cmp/cmp"

	"fairlead.dev/agent/secrets"
	"fairlead.dev/fleet"
	"fairlead.dev/sources"
)

var (
	eu1   = fleet.Key{Namespace: "prod", Name: "eu-1"}
	eu2   = fleet.Key{Namespace: "prod", Name: "eu-2"}
	login = fleet.Key{Namespace: "prod", Name: "login"}
)

// memory is a branch in memory. It refuses what was made from another head.
type memory struct {
	files   fstest.MapFS
	head    string
	commits []string // messages
	err     error    // of every commit
}

func newMemory() *memory { return &memory{files: fstest.MapFS{}} }

type tree struct{ fs.FS }

func (tree) Digest(string) (string, error) { return "", errors.New("not used") }

func (m *memory) Read(context.Context) (fleet.Revision, sources.Tree, error) {
	at := fstest.MapFS{}
	for name, f := range m.files {
		at[name] = f
	}
	return fleet.Revision{Digest: m.head}, tree{at}, nil
}

func (m *memory) Commit(_ context.Context, base fleet.Revision, c sources.Commit) (fleet.Revision, error) {
	if m.err != nil {
		return fleet.Revision{}, m.err
	}
	if base.Digest != m.head {
		return fleet.Revision{}, fleet.Errorf(fleet.Conflict, "commit", "somebody else wrote")
	}
	for name, content := range c.Edits {
		if content == nil {
			delete(m.files, name)
			continue
		}
		m.files[name] = &fstest.MapFile{Data: content}
	}
	m.commits = append(m.commits, c.Message)
	m.head += "x"
	return fleet.Revision{Digest: m.head}, nil
}

func value(s string) fleet.SecretData {
	return fleet.SecretData{fleet.TLSCertKey: fleet.NewSecret([]byte("certificate of " + s)), fleet.TLSKeyKey: fleet.NewSecret([]byte("key of " + s))}
}

// filled returns a store with the secrets of the clusters, and one that people
// gave.
func filled(t *testing.T, clusters ...fleet.Key) *secrets.Memory {
	t.Helper()
	m := secrets.NewMemory()
	for _, c := range clusters {
		for _, name := range append(fleet.Authorities(), fleet.Kubeconfig) {
			if _, err := m.Create(t.Context(), c, name, value(c.String()+" "+string(name))); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := m.SetSecret(t.Context(), login, fleet.SecretData{"clouds.yaml": fleet.NewSecret([]byte("password: guessable"))}); err != nil {
		t.Fatal(err)
	}
	return m
}

func identity(t *testing.T) (private fleet.Secret, public string) {
	t.Helper()
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	return fleet.NewSecret([]byte(id.String())), id.Recipient().String()
}

// keeper returns a new keeper, as a new agent makes one.
func keeper(t *testing.T, p Place, s Source, now func() time.Time, recipients ...string) *Keeper {
	t.Helper()
	k, err := NewKeeper(p, s, Options{Fleet: "edge", Recipients: recipients, Now: now})
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func keep(t *testing.T, k *Keeper, clusters ...fleet.Key) {
	t.Helper()
	if behind, err := k.Keep(t.Context(), clusters, nil); err != nil || len(behind) > 0 {
		t.Fatalf("behind with %v: %v", behind, err)
	}
}

// Everything comes back, in every kind of place, and into an empty store.
func TestRestore(t *testing.T) {
	private, public := identity(t)
	for name, p := range map[string]Place{"branch": Branch("escrow", newMemory()), "folder": Folder(t.TempDir())} {
		t.Run(name, func(t *testing.T) {
			from := filled(t, eu1, eu2)
			keep(t, keeper(t, p, from, nil, public), eu1, eu2)
			e, err := Open(t.Context(), p, private)
			if err != nil || len(e.Problems()) > 0 {
				t.Fatal(err, e.Problems())
			}
			to := secrets.NewMemory()
			done, err := e.Restore(t.Context(), to)
			if err != nil || len(done) != 11 {
				t.Fatalf("%d secrets restored, %v, want 11", len(done), err)
			}
			for _, c := range []fleet.Key{eu1, eu2} {
				for _, name := range append(fleet.Authorities(), fleet.Kubeconfig) {
					want, _ := from.Get(t.Context(), c, name)
					got, err := to.Get(t.Context(), c, name)
					if err != nil || !equal(got, want) {
						t.Errorf("%s of %s came back otherwise: %v", name, c, err)
					}
				}
			}
			if got, err := to.GetSecret(t.Context(), login); err != nil || string(got["clouds.yaml"].Reveal()) != "password: guessable" {
				t.Errorf("the Secret that people gave came back otherwise: %v", err)
			}
			again, err := e.Restore(t.Context(), to)
			if err != nil || len(again) != 11 || slices.ContainsFunc(again, func(r Restored) bool { return r.Result != "there already" }) {
				t.Errorf("restoring twice: %v, %v", again, err)
			}
			other := value("another authority")
			wrong := secrets.NewMemory()
			if _, err := wrong.Create(t.Context(), eu1, fleet.ClusterCA, other); err != nil {
				t.Fatal(err)
			}
			rest, err := e.Restore(t.Context(), wrong)
			if got, _ := wrong.Get(t.Context(), eu1, fleet.ClusterCA); err == nil || !strings.Contains(err.Error(), "restore cluster prod/eu-1 ca") || !equal(got, other) || len(rest) != 10 {
				t.Errorf("a store that has another authority: %v, and %d others restored, want a conflict and 10", err, len(rest))
			}
		})
	}
}

// Nothing that a person could use is in clear, and what is in clear tells
// nothing to who guesses.
func TestNothingShows(t *testing.T) {
	_, public := identity(t)
	b := newMemory()
	from := filled(t, eu1)
	keep(t, keeper(t, Branch("escrow", b), from, nil, public), eu1)
	for name, f := range b.files {
		for _, word := range []string{"key of", "certificate of", "guessable"} {
			if strings.Contains(string(f.Data), word) {
				t.Errorf("%s shows %q", name, word)
			}
		}
	}
	i, err := readIndex("read", b.files)
	if err != nil {
		t.Fatal(err)
	}
	given, _ := i.find(kindSecret, "prod/login")
	plain, err := item{kind: kindSecret, key: login, secrets: map[fleet.SecretName]fleet.SecretData{"given": {"clouds.yaml": fleet.NewSecret([]byte("password: guessable"))}}}.encode("edge")
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range [][]byte{nil, {}, []byte("edge"), []byte(public)} {
		if sum, _ := digest(key, plain); sum == given.Digest {
			t.Error("who guesses the content can check the guess against the index")
		}
	}
	if sumOf(plain) == given.Digest {
		t.Error("the digest of the content is a plain hash")
	}
}

// A second look, and a second agent, find nothing to write.
func TestNothingChanged(t *testing.T) {
	_, public := identity(t)
	_, second := identity(t)
	b := newMemory()
	from := filled(t, eu1, eu2)
	p := Branch("escrow", b)
	k := keeper(t, p, from, nil, public)
	keep(t, k, eu1, eu2)
	keep(t, k, eu1, eu2)
	keep(t, keeper(t, p, from, nil, public), eu1, eu2)
	if diff := cmp.Diff([]string{"escrow: Secret prod/login and 2 more"}, b.commits); diff != "" {
		t.Fatalf("commits (-want +got):\n%s", diff)
	}
	if err := from.Replace(t.Context(), eu1, fleet.Kubeconfig, value("a renewed one")); err != nil {
		t.Fatal(err)
	}
	before := string(b.files["clusters/prod/eu-2.age"].Data)
	keep(t, k, eu1, eu2)
	if got := b.commits[len(b.commits)-1]; got != "escrow: the secrets of cluster prod/eu-1" || before != string(b.files["clusters/prod/eu-2.age"].Data) {
		t.Errorf("a renewed kubeconfig made the commit %q, and must change one file", got)
	}
	keep(t, keeper(t, p, from, nil, public, second), eu1, eu2)
	if got := b.commits[len(b.commits)-1]; got != "escrow: Secret prod/login and 2 more" {
		t.Errorf("another recipient made the commit %q, want all files written again", got)
	}
	b.files["clusters/prod/eu-1.age"] = &fstest.MapFile{Data: []byte("damaged")}
	keep(t, keeper(t, p, from, nil, public, second), eu1, eu2)
	if got := b.commits[len(b.commits)-1]; got != "escrow: the secrets of cluster prod/eu-1" {
		t.Errorf("a damaged file made the commit %q, want it mended", got)
	}
}

// What the store has lost stays in escrow: that is what it is for.
func TestAnEmptyStoreTakesNothingOut(t *testing.T) {
	private, public := identity(t)
	b := newMemory()
	p := Branch("escrow", b)
	keep(t, keeper(t, p, filled(t, eu1), nil, public), eu1)
	before := b.head
	empty := secrets.NewMemory()
	if behind, err := keeper(t, p, empty, nil, public).Keep(t.Context(), []fleet.Key{eu1}, nil); err != nil || len(behind) > 0 {
		t.Errorf("behind with %v: %v", behind, err)
	}
	if _, err := empty.Create(t.Context(), eu1, fleet.Kubeconfig, value("a new one")); err != nil {
		t.Fatal(err)
	}
	behind, err := keeper(t, p, empty, nil, public).Keep(t.Context(), []fleet.Key{eu1}, nil)
	if err == nil || !strings.Contains(err.Error(), "has lost") || len(behind) != 1 {
		t.Errorf("a store that lost the authorities and has a kubeconfig: %v, behind with %v", err, behind)
	}
	e, err := Open(t.Context(), p, private)
	if err != nil || len(e.Problems()) > 0 || len(e.Entries) != 2 || len(e.Entries[0].Holds) != 5 {
		t.Errorf("the escrow is %+v, %v; at head %q, before %q", e, err, b.head, before)
	}
}

// A cluster that is gone is kept for thirty days.
func TestGone(t *testing.T) {
	private, public := identity(t)
	clock := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	now := func() time.Time { return clock }
	b := newMemory()
	p := Branch("escrow", b)
	from := filled(t, eu1, eu2)
	k := keeper(t, p, from, now, public)
	keep(t, k, eu1, eu2)
	if err := from.Delete(t.Context(), eu2); err != nil {
		t.Fatal(err)
	}
	gone := func() string {
		e, err := Open(t.Context(), p, private)
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range e.Entries {
			if entry.Name == "cluster prod/eu-2" {
				return entry.Gone
			}
		}
		return "not there"
	}
	keep(t, k, eu1)
	clock = clock.Add(29 * 24 * time.Hour)
	commits := len(b.commits)
	keep(t, k, eu1)
	if gone() != "2026-01-02" || len(b.commits) != commits {
		t.Errorf("after 29 days it is gone since %q, with %d more commits", gone(), len(b.commits)-commits)
	}
	clock = clock.Add(2 * 24 * time.Hour)
	keep(t, k, eu1)
	if _, there := b.files["clusters/prod/eu-2.age"]; there || gone() != "not there" {
		t.Error("after 31 days it is still there")
	}
	if gone := b.files["clusters/prod/eu-1.age"]; gone == nil {
		t.Error("the other one went with it")
	}
}

// unlisted is a store that may not be listed, as the chart's rights have it.
type unlisted struct{ Source }

func (unlisted) ListSecrets(context.Context) ([]fleet.Key, error) {
	return nil, fleet.Errorf(fleet.Unauthorized, "list Secrets", "it may not")
}

// Without the right to list, what clusters name is kept, and what was in escrow before;
// what the store has no more is let go of in time, as it is with the right.
func TestNothingIsListed(t *testing.T) {
	private, public := identity(t)
	p, from, now := Folder(t.TempDir()), filled(t, eu1), time.Now()
	clock := func() time.Time { return now }
	other := fleet.Key{Namespace: "prod", Name: "other"}
	if err := from.SetSecret(t.Context(), other, value("other")); err != nil {
		t.Fatal(err)
	}
	entries := func(named ...fleet.Key) (out []string) {
		t.Helper()
		if behind, err := keeper(t, p, unlisted{from}, clock, public).Keep(t.Context(), []fleet.Key{eu1}, named); err != nil || len(behind) > 0 {
			t.Fatalf("behind with %v: %v", behind, err)
		}
		e, err := Open(t.Context(), p, private)
		if err != nil || len(e.Problems()) > 0 {
			t.Fatal(err, e.Problems())
		}
		for _, e := range e.Entries {
			out = append(out, e.Name)
		}
		return out
	}
	cluster, secret, second := "cluster prod/eu-1", "secret "+login.String(), "secret prod/other"
	for _, step := range []struct {
		what  string
		named []fleet.Key
		do    func() error
		want  []string
	}{
		{"one is named, and one that nobody has", []fleet.Key{login, {Namespace: "prod", Name: "nobody"}}, nil, []string{cluster, secret}},
		{"another one", []fleet.Key{other}, nil, []string{cluster, secret, second}},
		{"none", nil, nil, []string{cluster, secret, second}},
		{"one goes", nil, func() error { return from.DeleteSecret(t.Context(), other) }, []string{cluster, secret, second}},
		{"long after", nil, func() error { now = now.Add(2 * keepGone); return nil }, []string{cluster, secret}},
	} {
		if step.do != nil {
			if err := step.do(); err != nil {
				t.Fatal(err)
			}
		}
		if got := entries(step.named...); !slices.Equal(got, step.want) {
			t.Errorf("%s: in escrow are %q, want %q", step.what, got, step.want)
		}
	}
}

// walled is an unlisted store of which one namespace may not be read.
type walled struct {
	unlisted
	namespace string
}

func (w walled) FilterSecrets(ctx context.Context, keys []fleet.Key) ([]fleet.Key, error) {
	got, _ := w.unlisted.FilterSecrets(ctx, keys) // a store in memory
	return slices.DeleteFunc(got, func(k fleet.Key) bool { return k.Namespace == w.namespace }), fleet.Errorf(fleet.Unauthorized, "get Secret", "it may not")
}

// Whoever names a Secret that the agent may not read keeps no other out of escrow.
func TestOneNamespaceMayNotBeRead(t *testing.T) {
	private, public := identity(t)
	p, from, vault := Folder(t.TempDir()), filled(t, eu1), fleet.Key{Namespace: "vault", Name: "shared"}
	if err := from.SetSecret(t.Context(), vault, value("shared")); err != nil {
		t.Fatal(err)
	}
	named := []fleet.Key{vault}
	if _, err := keeper(t, p, unlisted{from}, nil, public).Keep(t.Context(), []fleet.Key{eu1}, named); err != nil {
		t.Fatal(err)
	}
	_, err := keeper(t, p, walled{unlisted{from}, "vault"}, nil, public).Keep(t.Context(), []fleet.Key{eu1}, append(named, login))
	if fleet.KindOf(err) != fleet.Unauthorized {
		t.Errorf("%v, want the kind Unauthorized", err)
	}
	e, err := Open(t.Context(), p, private)
	if err != nil || len(e.Problems()) > 0 {
		t.Fatal(err, e.Problems())
	}
	for i, want := range []string{"cluster prod/eu-1", "secret " + login.String(), "secret vault/shared"} {
		if i >= len(e.Entries) || e.Entries[i].Name != want || e.Entries[i].Gone != "" {
			t.Fatalf("in escrow are %+v, want %s at %d, and nothing gone", e.Entries, want, i)
		}
	}
}

// unreadable is a store that cannot be read for one cluster.
type unreadable struct {
	Source
	cluster fleet.Key
}

func (u unreadable) Get(ctx context.Context, c fleet.Key, name fleet.SecretName) (fleet.SecretData, error) {
	if c == u.cluster {
		return nil, fleet.Errorf(fleet.Unavailable, "get", "the store is away")
	}
	return u.Source.Get(ctx, c, name)
}

func TestFailures(t *testing.T) {
	private, public := identity(t)
	b := newMemory()
	p := Branch("escrow", b)
	from := filled(t, eu1, eu2)
	keep(t, keeper(t, p, from, nil, public), eu1)
	behind, err := keeper(t, p, unreadable{from, eu1}, nil, public).Keep(t.Context(), []fleet.Key{eu1, eu2}, nil)
	if err == nil || len(behind) != 1 || behind[0] != eu1 {
		t.Errorf("a cluster that cannot be read: behind with %v, %v", behind, err)
	}
	if e, err := Open(t.Context(), p, private); err != nil || len(e.Entries) != 3 || len(e.Problems()) > 0 || e.Entries[0].Gone != "" {
		t.Errorf("the other was brought in, and the one that cannot be read stays: %+v, %v", e, err)
	}
	b.err = fleet.Errorf(fleet.Unauthorized, "commit", "read-only token")
	if err := from.Replace(t.Context(), eu1, fleet.Kubeconfig, value("another")); err != nil {
		t.Fatal(err)
	}
	behind, err = keeper(t, p, from, nil, public).Keep(t.Context(), []fleet.Key{eu1, eu2}, nil)
	if fleet.KindOf(err) != fleet.Unauthorized || len(behind) != 1 || behind[0] != eu1 {
		t.Errorf("a place that takes nothing: behind with %v, %v; want the one that changed", behind, err)
	}
	b.err = nil
	k, err := NewKeeper(p, from, Options{Fleet: "other", Recipients: []string{public}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := k.Keep(t.Context(), []fleet.Key{eu1}, nil); fleet.KindOf(err) != fleet.Conflict {
		t.Errorf("the escrow of another fleet: %v, want a conflict", err)
	}
	for _, recipients := range [][]string{nil, {"age1nonsense"}} {
		if _, err := NewKeeper(p, from, Options{Fleet: "edge", Recipients: recipients}); err == nil {
			t.Errorf("recipients %q are accepted", recipients)
		}
	}
}

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

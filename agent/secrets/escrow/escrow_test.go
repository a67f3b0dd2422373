package escrow

import (
	"context"
	"errors"
	"io/fs"
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

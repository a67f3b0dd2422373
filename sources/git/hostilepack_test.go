package git_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/sources/git"
	"fairlead.dev/sources/git/gitserver"
)

func TestSHA256(t *testing.T) {
	p := newPlace(t, gitserver.Options{})
	if err := os.RemoveAll(p.work); err != nil {
		t.Fatal(err)
	}
	p.bare = filepath.Join(p.root, "new.git")
	p.run("", "git", "init", "--quiet", "--bare", "--initial-branch=main", "--object-format=sha256", p.bare)
	p.run("", "git", "init", "--quiet", "--initial-branch=main", "--object-format=sha256", p.work)
	p.push("main", map[string]string{"a": "1"})
	for _, url := range []string{strings.Replace(p.url, "fleet.git", "new.git", 1), p.bare} {
		_, err := open(t, git.Options{URL: url}).Resolve(t.Context())
		wantKind(t, err, fleet.Invalid, "SHA-256")
	}
}

func TestManyRefs(t *testing.T) {
	p := newPlace(t, gitserver.Options{})
	one := p.push("main", map[string]string{"a": "1\n"})
	var refs strings.Builder
	refs.WriteString("# pack-refs with: peeled fully-peeled sorted \n")
	for i := range 20_000 {
		fmt.Fprintf(&refs, "%s refs/heads/b%05d\n", one, i)
	}
	if err := os.WriteFile(filepath.Join(p.bare, "packed-refs"), []byte(refs.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	r := open(t, git.Options{URL: p.url})
	if got := read(t, r, "a"); got != "1\n" {
		t.Errorf("a is %q", got)
	}
	_, err := open(t, git.Options{URL: p.url, Ref: "none"}).Resolve(t.Context())
	wantKind(t, err, fleet.NotFound, "and 19996 more")
}

// Deltas of deltas, in one pack and of older objects, have the content that git has.
func TestDeltas(t *testing.T) {
	p := newPlace(t, gitserver.Options{})
	files := map[string]string{}
	blocks := make([]string, 60)
	for i := range 60 {
		for j := range blocks {
			if blocks[j] == "" || i == j {
				blocks[j] = strings.Repeat(fmt.Sprintf("%x ", (i*60+j)*7919), 40) + "\n"
			}
		}
		files[fmt.Sprintf("f%02d", i)] = strings.Join(blocks, "")
	}
	p.push("main", files)
	p.git("repack", "-adfq", "--depth=50", "--window=100")
	if stats := p.git("verify-pack", "-v", p.run("", "sh", "-c", "ls "+p.bare+"/objects/pack/*.idx")); !strings.Contains(stats, "chain length = 5") {
		t.Fatalf("the pack has no chains: %s", stats[len(stats)-200:])
	}
	r := open(t, git.Options{URL: p.url})
	for range 2 {
		for name, want := range files {
			if got := read(t, r, name); got != want {
				t.Fatalf("%s differs", name)
			}
		}
		for name := range files {
			files[name] = "new first line\n" + files[name]
		}
		p.push("main", files)
		p.git("repack", "-adfq", "--depth=50", "--window=100")
	}
}

// An answer that ends too early leaves nothing behind.
func TestTruncatedPack(t *testing.T) {
	p := newPlace(t, gitserver.Options{})
	s, err := gitserver.New(p.root, gitserver.Options{})
	if err != nil {
		t.Fatal(err)
	}
	cut := 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec := httptest.NewRecorder()
		s.ServeHTTP(rec, r)
		b := rec.Body.Bytes()
		if cut > 0 && strings.HasSuffix(r.URL.Path, "/git-upload-pack") {
			b = b[:len(b)*cut/10]
		}
		w.Header().Set("Content-Type", rec.Header().Get("Content-Type"))
		_, _ = w.Write(b)
	}))
	defer srv.Close()
	files := map[string]string{}
	rnd := rand.New(rand.NewPCG(1, 2))
	for i := range 50 {
		var junk strings.Builder // so that the pack has many packets
		for range 1000 {
			fmt.Fprintf(&junk, "%016x", rnd.Uint64())
		}
		files[fmt.Sprintf("f%d", i)] = junk.String()
	}
	p.push("main", files)
	r := open(t, git.Options{URL: srv.URL + "/fleet.git"})
	for i := range 2 {
		rev, err := r.Resolve(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for cut = 1; cut < 10; cut++ {
			_, err := r.Fetch(t.Context(), rev)
			if k := fleet.KindOf(err); k != fleet.Unavailable && k != fleet.Unknown {
				t.Errorf("cut at %d/10: %v of kind %s", cut, err, k)
			}
		}
		cut = 0
		if got := read(t, r, "f49"); got != files["f49"] {
			t.Errorf("after that f49 differs")
		}
		files["f49"] = fmt.Sprint("again", i)
		files["f7"] = fmt.Sprint("again", i)
		p.push("main", files)
	}
}

package git_test

import (
	"bytes"
	"crypto/sha256"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
	"fairlead.dev/sources/git"
	"fairlead.dev/sources/git/gitserver"
)

// noise returns n bytes that cannot be compressed. They are the same each time.
func noise(n int) []byte {
	var out []byte
	for sum := sha256.Sum256(nil); len(out) < n; sum = sha256.Sum256(sum[:]) {
		out = append(out, sum[:]...)
	}
	return out[:n]
}

// pushes returns Options that record the size of each push, and change git's list of refs
// by edit.
func pushes(sizes *[]int, edit func([]byte) []byte) gitserver.Options {
	var real http.Handler
	return gitserver.Options{Before: func(w http.ResponseWriter, r *http.Request) bool {
		switch {
		case r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/git-receive-pack"):
			body, _ := io.ReadAll(r.Body)
			*sizes = append(*sizes, len(body))
			r.Body = io.NopCloser(bytes.NewReader(body))
		case edit != nil && r.URL.Query().Get("service") == "git-receive-pack" && r.Header.Get("X-Real") == "":
			r.Header.Set("X-Real", "1")
			rec := httptest.NewRecorder()
			real = r.Context().Value(http.ServerContextKey).(*http.Server).Handler
			real.ServeHTTP(rec, r)
			for k, v := range rec.Header() {
				w.Header()[k] = v
			}
			_, _ = w.Write(edit(rec.Body.Bytes()))
			return true
		}
		return false
	}}
}

// changed writes big files, and then changes a byte of one of them.
func changed(t *testing.T, p *place, between func()) {
	t.Helper()
	b := branch(t, git.Options{URL: p.url})
	content := noise(100_000)
	first, err := b.Commit(t.Context(), fleet.Revision{}, sources.Commit{
		Edits: map[string][]byte{"d/big": content, "d/other": noise(50_000), "e": []byte("1")}, Message: "first",
	})
	if err != nil {
		t.Fatal(err)
	}
	if between != nil {
		between()
	}
	content = bytes.Clone(content)
	content[70_000]++
	head, err := b.Commit(t.Context(), first, sources.Commit{Edits: map[string][]byte{"d/big": content}, Message: "second"})
	if err != nil {
		t.Fatal(err)
	}
	if got := "sha1:" + p.git("rev-parse", "fairlead/status"); got != head.Digest {
		t.Errorf("head is %s, want %s", got, head.Digest)
	}
	if got := p.git("show", "fairlead/status:d/big"); got != strings.TrimSpace(string(content)) {
		t.Error("the server has another file")
	}
}

// A push sends deltas.
func TestPushIsWhatDiffers(t *testing.T) {
	for name, limit := range map[string]string{"unpacked": "100", "kept as a pack": "1"} {
		t.Run(name, func(t *testing.T) {
			var sizes []int
			p := newPlace(t, pushes(&sizes, nil))
			p.git("config", "receive.unpackLimit", limit)
			changed(t, p, nil)
			p.git("fsck", "--strict")
			if len(sizes) != 2 || sizes[1] > 1500 {
				t.Errorf("pushes have %v bytes", sizes)
			}
		})
	}
}

// A server that says no-thin gets whole objects.
func TestPushToServerWithoutThinPacks(t *testing.T) {
	var sizes []int
	p := newPlace(t, pushes(&sizes, func(b []byte) []byte {
		return bytes.Replace(b, []byte("agent=git/"), []byte("no-thin x="), 1)
	}))
	changed(t, p, nil)
	if len(sizes) != 2 || sizes[1] < 100_000 {
		t.Errorf("pushes have %v bytes", sizes)
	}
}

// A server that lacks the base of a delta gets whole objects.
func TestPushWithoutBase(t *testing.T) {
	var sizes []int
	p := newPlace(t, pushes(&sizes, nil))
	changed(t, p, func() {
		h := p.git("rev-parse", "fairlead/status:d/big")
		if err := os.Remove(filepath.Join(p.bare, "objects", h[:2], h[2:])); err != nil {
			t.Fatal(err)
		}
	})
	if len(sizes) != 3 || sizes[1] > 1500 || sizes[2] < 100_000 {
		t.Errorf("pushes have %v bytes", sizes)
	}
}

// Of two files that change places, one at most is sent as a delta of the other.
func TestFilesChangePlaces(t *testing.T) {
	var sizes []int
	p := newPlace(t, pushes(&sizes, nil))
	b := branch(t, git.Options{URL: p.url})
	x, y := noise(10_000), append(noise(9_000), "other"...)
	head, err := b.Commit(t.Context(), fleet.Revision{}, sources.Commit{Edits: map[string][]byte{"x": x, "y": y}, Message: "first"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Commit(t.Context(), head, sources.Commit{Edits: map[string][]byte{"x": y, "y": x}, Message: "second"}); err != nil {
		t.Fatal(err)
	}
	p.git("fsck", "--strict")
	if len(sizes) != 2 || sizes[1] < 18_000 {
		t.Errorf("pushes have %v bytes: each file is made of the other one", sizes)
	}
	if p.git("rev-parse", "fairlead/status:x") != p.git("rev-parse", "fairlead/status~1:y") {
		t.Error("the files are others")
	}
}

//go:build linux

package gitea_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"fairlead.dev/agent/inputs/webhook"
	"fairlead.dev/fleet"
	"fairlead.dev/sources"
	"fairlead.dev/sources/git"
	"fairlead.dev/test/lab/gitea"
)

type m = map[string]any

// recorder passes requests on to Gitea and counts what they are.
type recorder struct {
	url      string
	listed   int   // lists of refs in version 2
	fetched  int64 // bytes of answers to fetches
	pushed   int64 // bytes of pushes
	filtered int   // fetches without files
}

func record(t *testing.T, s *gitea.Server) *recorder {
	target, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	r := &recorder{}
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.ModifyResponse = func(res *http.Response) error {
		b, err := io.ReadAll(res.Body)
		if strings.HasSuffix(res.Request.URL.Path, "/git-upload-pack") {
			r.fetched += int64(len(b))
		}
		res.Body = io.NopCloser(bytes.NewReader(b))
		return err
	}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		b, _ := io.ReadAll(req.Body)
		req.Body = io.NopCloser(bytes.NewReader(b))
		switch {
		case strings.HasSuffix(req.URL.Path, "/git-receive-pack"):
			r.pushed += int64(len(b))
		case bytes.Contains(b, []byte("command=ls-refs")):
			r.listed++
		case bytes.Contains(b, []byte("filter blob:none")):
			r.filtered++
		}
		proxy.ServeHTTP(w, req)
	}))
	t.Cleanup(web.Close)
	r.url = web.URL
	return r
}

// TestGitea follows a fleet in a folder of a repository on a real Gitea, and writes its
// status there, over http with a token and over Gitea's own ssh; a push is told, signed.
func TestGitea(t *testing.T) {
	s := gitea.Start(t)
	s.Call("POST", "/user/repos", m{"name": "fleet", "auto_init": true, "default_branch": "main"}, nil)
	put := func(branch, name string, content []byte) {
		t.Helper()
		s.Call("POST", "/repos/ann/fleet/contents/"+name, m{"content": base64.StdEncoding.EncodeToString(content), "message": name, "branch": branch}, nil)
	}
	big := make([]byte, 500_000)
	_, _ = rand.Read(big)
	put("main", "films/a.mp4", big)
	put("main", "teams/a/fleet.yaml", []byte("a\n"))
	heard := hooked(t, s)
	r := record(t, s)
	public, key := newKey(t)
	s.Call("POST", "/user/keys", m{"title": "t", "key": public}, nil)
	for name, o := range map[string]git.Options{
		"http": {URL: r.url + "/ann/fleet.git", Auth: git.Auth{Token: fleet.NewSecret([]byte(s.Token))}},
		"ssh":  {URL: s.SSH + "/ann/fleet.git", KnownHosts: s.KnownHosts, Auth: git.Auth{Key: fleet.NewSecret(key)}},
	} {
		t.Run(name, func(t *testing.T) {
			o.Path = "teams/a"
			repo, err := git.New(o)
			if err != nil {
				t.Fatal(err)
			}
			read(t, repo, "fleet.yaml", "a\n")
			file := "clusters-" + name
			put("main", "teams/a/"+file, []byte("b\n"))
			read(t, repo, file, "b\n")
			written(t, repo, "status/"+name, r)
			protected(t, s, repo)
		})
	}
	put("main", "teams/a/hook", []byte("1\n"))
	for what := ""; what != "accepted"; { // pushes to the status branches are told of as well
		what = <-heard
		if what != "accepted" && what != "ignored" && what != "ping" {
			t.Fatalf("a push of Gitea's is %s", what)
		}
	}
	if r.listed == 0 || r.filtered == 0 || r.fetched > 100_000 {
		t.Errorf("refs were listed %d times in version 2, fetches without files were %d, of %d bytes", r.listed, r.filtered, r.fetched)
	}
}

// hooked has Gitea tell an agent's webhook of pushes, signed, and returns what came of it.
func hooked(t *testing.T, s *gitea.Server) <-chan string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte("s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	secrets, err := webhook.NewSecrets([]string{"gitea=" + file}, "")
	if err != nil {
		t.Fatal(err)
	}
	heard := make(chan string, 100)
	web := httptest.NewServer(webhook.New(webhook.Options{
		Target: webhook.Target{Repository: s.URL + "/ann/fleet.git", Ref: "main"}, Secrets: secrets, Trigger: func() {},
		Observe: func(_, result string) { heard <- result }, Log: slog.New(slog.DiscardHandler),
	}))
	t.Cleanup(web.Close)
	s.Call("POST", "/repos/ann/fleet/hooks", m{
		"type": "gitea", "active": true, "events": []string{"push"},
		"config": m{"url": web.URL + "/hook/gitea", "content_type": "json", "secret": "s3cret"},
	}, nil)
	return heard
}

func read(t *testing.T, r *git.Repository, file, want string) {
	t.Helper()
	rev, err := r.Resolve(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	tree, err := r.Fetch(t.Context(), rev)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := fs.ReadFile(tree, file); err != nil || string(b) != want {
		t.Errorf("%s is %q, %v; want %q", file, b, err, want)
	}
}

// written: a change of one line of a large file is pushed as what differs, and a lost race
// is told for one.
func written(t *testing.T, r *git.Repository, name string, rec *recorder) {
	t.Helper()
	b, err := r.Branch(name, git.BranchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	big := make([]byte, 300_000)
	_, _ = rand.Read(big)
	first, err := b.Commit(t.Context(), fleet.Revision{}, sources.Commit{Message: "one", Edits: map[string][]byte{"report": big}})
	if err != nil {
		t.Fatal(err)
	}
	before := rec.pushed
	big[1000]++
	second, err := b.Commit(t.Context(), first, sources.Commit{Message: "two", Edits: map[string][]byte{"report": big}})
	if err != nil {
		t.Fatal(err)
	}
	if n := rec.pushed - before; n > 10_000 {
		t.Errorf("a byte that changed was pushed as %d bytes", n)
	}
	if got, _, err := b.Read(t.Context()); err != nil || got != second {
		t.Errorf("the branch is at %v, %v; want %v", got, err, second)
	}
	_, err = b.Commit(t.Context(), first, sources.Commit{Message: "three", Edits: map[string][]byte{"report": []byte("x")}})
	if fleet.KindOf(err) != fleet.Conflict {
		t.Errorf("a push from an old head gives %v", err)
	}
}

// protected: who may not push is told so in Gitea's words.
func protected(t *testing.T, s *gitea.Server, r *git.Repository) {
	t.Helper()
	name := fmt.Sprintf("closed-%s", strings.ToLower(rand.Text()))
	s.Call("POST", "/repos/ann/fleet/branch_protections", m{"rule_name": name, "enable_push": false}, nil)
	b, err := r.Branch(name, git.BranchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = b.Commit(t.Context(), fleet.Revision{}, sources.Commit{Message: "m", Edits: map[string][]byte{"a": []byte("1")}})
	if fleet.KindOf(err) != fleet.Unauthorized || !strings.Contains(err.Error(), "protected branch") {
		t.Errorf("a push to a protected branch gives %v of kind %q", err, fleet.KindOf(err))
	}
}

// newKey returns a key pair, as authorized_keys and OpenSSH have it.
func newKey(t *testing.T) (string, []byte) {
	t.Helper()
	pub, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		t.Fatal(err)
	}
	key, err := ssh.NewPublicKey(pub)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key))), pem.EncodeToMemory(block)
}

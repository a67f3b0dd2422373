package oci_test

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
	"fairlead.dev/sources/oci"
	"fairlead.dev/sources/oci/ocitest"
	"fairlead.dev/sources/tree"
	"fairlead.dev/test/lab/kube/binaries"
)

// at returns the nth of the moments at which artifacts are made.
func at(n int) time.Time { return time.Date(2026, 1, 1, n, 0, 0, 0, time.UTC) }

var files = map[string]string{"fleet.yaml": "a: b\n", "clusters/prod/eu-1/kustomization.yaml": "resources: []\n"}

func open(t *testing.T, r ocitest.Repository, o oci.Options) *oci.Repository {
	t.Helper()
	o.URL = r.OCI()
	repo, err := oci.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return repo
}

// get returns the newest content of repo.
func get(t *testing.T, repo *oci.Repository) (fleet.Revision, sources.Tree, error) {
	t.Helper()
	rev, err := repo.Resolve(t.Context())
	if err != nil {
		return rev, nil, err
	}
	content, err := repo.Fetch(t.Context(), rev)
	return rev, content, err
}

func wantError(t *testing.T, err error, kind fleet.ErrorKind, words string) {
	t.Helper()
	if fleet.KindOf(err) != kind || !strings.Contains(fmt.Sprint(err), words) {
		t.Errorf("got %v of kind %q, want %q of kind %q", err, fleet.KindOf(err), words, kind)
	}
}

// TestFollow reads what was pushed, from a registry in this process and from the one of
// crane.
func TestFollow(t *testing.T) {
	for name, registry := range map[string]func(t *testing.T) string{
		"in memory": func(t *testing.T) string { return ocitest.New(t).URL },
		"crane":     craneRegistry,
	} {
		t.Run(name, func(t *testing.T) {
			r := ocitest.Repository{URL: registry(t), Name: "team/fleet"}
			key, public := ocitest.NewKey(t)
			keys, err := oci.NewKeys(map[string][]byte{"cosign.pub": public})
			if err != nil {
				t.Fatal(err)
			}
			one := r.Artifact(t, "main", at(1), files, nil)
			r.Sign(t, one, key, nil)
			repo := open(t, r, oci.Options{Ref: "main", Verify: keys.Verify})
			rev, content, err := get(t, repo)
			if err != nil || rev != (fleet.Revision{Ref: "main", Digest: one}) {
				t.Fatalf("got %v, %v", rev, err)
			}
			for name, want := range files {
				if b, err := fs.ReadFile(content, name); err != nil || string(b) != want {
					t.Errorf("%s: got %q, %v", name, b, err)
				}
			}
			two := r.Artifact(t, "main", at(2), map[string]string{"./x/": "", "./x/a.yaml": "c: d\n"}, nil)
			r.Bundle(t, two, key, "https://sigstore.dev/cosign/sign/v1")
			next, content, err := get(t, repo)
			if err != nil || next.Digest != two {
				t.Fatalf("got %v, %v", next, err)
			}
			if err := repo.Continues(t.Context(), rev, next); err != nil {
				t.Error(err)
			}
			if _, err := fs.Stat(content, "x/a.yaml"); err != nil {
				t.Error(err)
			}
			if _, err := repo.Fetch(t.Context(), rev); err != nil {
				t.Errorf("the one before: %v", err)
			}
			_, _, err = get(t, open(t, r, oci.Options{Ref: "other"}))
			wantError(t, err, fleet.NotFound, "other")
		})
	}
}

// craneRegistry runs the registry that crane has.
func craneRegistry(t *testing.T) string {
	crane, err := binaries.Path("crane")
	if err != nil {
		t.Skip(err)
	}
	cmd := exec.CommandContext(t.Context(), crane, "registry", "serve", "--address", "127.0.0.1:0")
	out, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	var said []byte
	for b := make([]byte, 256); ; {
		n, err := out.Read(b)
		said = append(said, b[:n]...)
		if m := regexp.MustCompile(`serving on port (\d+)`).FindSubmatch(said); m != nil {
			go func() { _, _ = io.Copy(io.Discard, out) }()
			return "http://127.0.0.1:" + string(m[1])
		}
		if err != nil {
			t.Fatalf("crane: %v: %s", err, said)
		}
	}
}

// TestRefs: tags, digests and ranges.
func TestRefs(t *testing.T) {
	r := ocitest.New(t).Repository("fleet")
	digests := map[string]string{}
	for i, tag := range []string{"v1.0.0", "v1.2.0", "v1.10.0", "v2.0.0-rc.1", "latest", "main-7", "main-9"} {
		digests[tag] = r.Artifact(t, tag, at(i), files, nil)
	}
	r.Sign(t, digests["latest"], func() ed25519.PrivateKey { _, k, _ := ed25519.GenerateKey(nil); return k }(), nil)
	for ref, want := range map[string]string{
		"": "latest", "v1.2.0": "v1.2.0", "semver:1.x": "v1.10.0", "semver:>=2.0.0-0": "v2.0.0-rc.1", "main-*": "main-9", "*": "v2.0.0-rc.1",
		digests["main-7"]: digests["main-7"],
	} {
		repo := open(t, r, oci.Options{Ref: ref})
		if one := ref == "" || ref == "v1.2.0"; !repo.Follows(want) || repo.Follows("other") == one {
			t.Errorf("%q follows %s: %v, other: %v", ref, want, repo.Follows(want), repo.Follows("other"))
		}
		rev, _, err := get(t, repo)
		if err != nil || rev.Ref != want || digests[want] != "" && rev.Digest != digests[want] {
			t.Errorf("%q: got %v, %v", ref, rev, err)
		}
	}
	_, _, err := get(t, open(t, r, oci.Options{Ref: "semver:3.x"}))
	wantError(t, err, fleet.NotFound, "matches")
	for ref, words := range map[string]string{"semver:x.y.z.": "not a range", "a b": "neither a tag nor a digest", "sha256:abc": "neither a tag nor a digest", "[*": "not a pattern"} {
		_, err := oci.New(oci.Options{URL: r.OCI(), Ref: ref})
		wantError(t, err, fleet.Invalid, words)
	}
	for url, words := range map[string]string{
		"oci://h/a:v1": "--ref v1", "oci://h/a@sha256:1": "--ref sha256:1", "oci://u:p@h/a": "has a user", "oci://h": "oci://HOST/REPOSITORY", "oci://h/A": "lower case", "https://h/a": "begin with",
	} {
		_, err := oci.New(oci.Options{URL: url})
		wantError(t, err, fleet.Invalid, words)
		if strings.Contains(fmt.Sprint(err), "u:p") {
			t.Errorf("shows a password: %v", err)
		}
	}
	_, _, err = get(t, open(t, r, oci.Options{Ref: "semver:1.x", Budget: oci.Budget{Tags: 3}}))
	wantError(t, err, fleet.Exhausted, "more than 3")
}

// TestKept: older artifacts stay at hand while there is room for them.
func TestKept(t *testing.T) {
	registry := ocitest.New(t)
	r := registry.Repository("fleet")
	for size, want := range map[int]int{100: 0, 600: 1} {
		repo := open(t, r, oci.Options{Budget: oci.Budget{Tree: tree.Budget{Bytes: 1000}}})
		first := fleet.Revision{}
		for i := range 2 {
			r.Artifact(t, "latest", at(i), map[string]string{"a": strings.Repeat(fmt.Sprint(i), size)}, nil)
			rev, _, err := get(t, repo)
			if err != nil {
				t.Fatal(err)
			}
			if i == 0 {
				first = rev
			}
		}
		registry.Requests()
		if _, err := repo.Fetch(t.Context(), first); err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(strings.Join(registry.Requests(), "\n"), "/blobs/"); got != want {
			t.Errorf("of %d bytes each: the older one is fetched %d times again, want %d", size, got, want)
		}
	}
}

// TestPath: a fleet in a folder of an artifact.
func TestPath(t *testing.T) {
	registry := ocitest.New(t)
	r := registry.Repository("fleet")
	r.Artifact(t, "latest", at(1), map[string]string{
		"teams/a/fleet.yaml": "a", "teams/a/clusters/x/c.yaml": "b", "other/big": strings.Repeat("x", 2000), "docs/a.md": "", "file": "",
	}, nil)
	budget := oci.Budget{Tree: tree.Budget{Bytes: 1000}}
	_, content, err := get(t, open(t, r, oci.Options{Path: "teams/a", Budget: budget}))
	if err != nil {
		t.Fatal(err)
	}
	if b, err := fs.ReadFile(content, "fleet.yaml"); err != nil || string(b) != "a" {
		t.Errorf("got %q, %v", b, err)
	}
	_, _, err = get(t, open(t, r, oci.Options{Budget: budget}))
	wantError(t, err, fleet.Invalid, "more than 1000 bytes")
	for _, path := range []string{"teams/b", "file", "teams/a/fleet.yaml", "file/a"} {
		_, _, err := get(t, open(t, r, oci.Options{Path: path}))
		wantError(t, err, fleet.Invalid, "there is no folder \""+path+"\" in the artifact, which --path names")
	}
	for _, path := range []string{"/a", "a/", "../a", "a//b"} {
		_, err := oci.New(oci.Options{URL: r.OCI(), Path: path})
		wantError(t, err, fleet.Invalid, "is no folder in an artifact")
	}
	for path, want := range map[string]string{"": ".", "teams/a": "teams/a", "teams/a/clusters/x": "teams/a", "teams/a/typo": "teams/a", "teams": ".", "docs": ".", "typo": "."} {
		repo := open(t, r, oci.Options{Path: path})
		rev, err := repo.Resolve(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		root, err := repo.Root(t.Context(), rev, []string{"fleet.yaml", "clusters"})
		if err != nil || root != want {
			t.Errorf("%q: got %q, %v; want %q", path, root, err, want)
		}
		content, err := repo.Fetch(t.Context(), rev)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimPrefix("teams/a/clusters/x/c.yaml", strings.TrimPrefix(want+"/", "./"))
		if b, err := fs.ReadFile(content, name); err != nil || string(b) != "b" {
			t.Errorf("%q: %s: got %q, %v", path, name, b, err)
		}
	}
}

// TestCredentials: they go to their registry, and over TLS alone.
func TestCredentials(t *testing.T) {
	registry := ocitest.New(t)
	r := registry.Repository("fleet")
	r.Artifact(t, "latest", at(1), files, nil)
	registry.Fault(func(w http.ResponseWriter, req *http.Request) bool {
		user, password, _ := req.BasicAuth()
		if user == "bot" && password == "secret" {
			return false
		}
		w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
		w.WriteHeader(401)
		return true
	})
	bot := oci.Auth{Username: "bot", Password: fleet.NewSecret([]byte("secret"))}
	if _, _, err := get(t, open(t, r, oci.Options{Auth: bot})); err != nil {
		t.Error(err)
	}
	_, _, err := get(t, open(t, r, oci.Options{}))
	wantError(t, err, fleet.Unauthorized, "")
	_, err = oci.New(oci.Options{URL: "oci://registry.example.com/fleet", PlainHTTP: true, Auth: bot})
	wantError(t, err, fleet.Invalid, "plain http")

	var mu sync.Mutex
	auth := oci.Auth{}
	repo := open(t, r, oci.Options{Refresh: func(o *oci.Options) error { mu.Lock(); defer mu.Unlock(); o.Auth = auth; return nil }})
	_, _, err = get(t, repo)
	wantError(t, err, fleet.Unauthorized, "")
	mu.Lock()
	auth = bot
	mu.Unlock()
	if _, _, err := get(t, repo); err != nil {
		t.Errorf("credentials that have changed: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = repo.Resolve(ctx)
	wantError(t, err, fleet.Unknown, "canceled")
}

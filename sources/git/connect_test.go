package git_test

import (
	"context"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"

	"golang.org/x/crypto/ssh"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
	"fairlead.dev/sources/git"
	"fairlead.dev/sources/git/gitserver"
	"fairlead.dev/test/run/needs"
)

func secret(s string) fleet.Secret { return fleet.NewSecret([]byte(s)) }

func startSSH(t *testing.T, readOnly bool) *gitserver.SSHServer {
	t.Helper()
	needs.File(t, "/usr/sbin/sshd", "apt-get install openssh-server")
	s, err := gitserver.StartSSH(context.Background(), t.TempDir(), readOnly)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func TestSSH(t *testing.T) {
	p := newPlace(t, gitserver.Options{})
	p.push("main", map[string]string{"a": "1\n"})
	s := startSSH(t, false)
	o := git.Options{URL: s.URL + p.bare, KnownHosts: s.KnownHosts, Auth: git.Auth{Key: fleet.NewSecret(s.Key)}}
	r := open(t, o)
	if got := read(t, r, "a"); got != "1\n" {
		t.Fatalf("a is %q", got)
	}
	p.push("main", map[string]string{"a": "2\n"})
	if got := read(t, r, "a"); got != "2\n" {
		t.Fatalf("a is %q after a push", got)
	}
	b := branch(t, o)
	head, _, err := b.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	one, err := b.Commit(t.Context(), head, sources.Commit{Edits: map[string][]byte{"x": []byte("1")}, Message: "m"})
	if err != nil || one.Digest != "sha1:"+p.git("rev-parse", "fairlead/status") {
		t.Fatalf("pushed %v, %v", one, err)
	}
	_, err = b.Commit(t.Context(), head, sources.Commit{Edits: map[string][]byte{"x": []byte("2")}, Message: "m"})
	wantKind(t, err, fleet.Conflict, "somebody else wrote")

	o.URL = s.URL + p.root + "/none.git"
	_, err = open(t, o).Resolve(t.Context())
	wantKind(t, err, fleet.NotFound, "does not appear to be a git repository")
}

func TestSSHCredentials(t *testing.T) {
	p := newPlace(t, gitserver.Options{})
	p.push("main", map[string]string{"a": "1\n"})
	s, other := startSSH(t, false), startSSH(t, false)
	good := git.Options{URL: s.URL + p.bare, KnownHosts: s.KnownHosts, Auth: git.Auth{Key: fleet.NewSecret(s.Key)}}

	encrypted := good
	encrypted.Auth = git.Auth{Key: fleet.NewSecret(encrypt(t, s.Key, "horse")), Passphrase: secret("horse")}
	if got := read(t, open(t, encrypted), "a"); got != "1\n" {
		t.Errorf("with an encrypted key a is %q", got)
	}
	for name, c := range map[string]struct {
		change func(o *git.Options)
		words  string
	}{
		"no known_hosts":   {func(o *git.Options) { o.KnownHosts = nil }, "ssh needs known_hosts"},
		"no key":           {func(o *git.Options) { o.Auth = git.Auth{} }, "ssh needs a private key"},
		"bad key":          {func(o *git.Options) { o.Auth.Key = secret("x") }, "private key cannot be read"},
		"no passphrase":    {func(o *git.Options) { o.Auth = encrypted.Auth; o.Auth.Passphrase = fleet.Secret{} }, "encrypted and there is no passphrase"},
		"wrong passphrase": {func(o *git.Options) { o.Auth = encrypted.Auth; o.Auth.Passphrase = secret("cow") }, "private key cannot be read"},
	} {
		o := good
		c.change(&o)
		_, err := git.New(o)
		if err == nil {
			t.Errorf("%s is accepted", name)
			continue
		}
		wantKind(t, err, fleet.Invalid, c.words)
	}

	changed := good
	changed.KnownHosts = []byte(strings.Replace(string(s.KnownHosts), strings.Fields(string(s.KnownHosts))[2], strings.Fields(string(other.KnownHosts))[2], 1))
	_, err := open(t, changed).Resolve(t.Context())
	wantKind(t, err, fleet.Unauthorized, "key mismatch")

	unknown := good
	unknown.KnownHosts = other.KnownHosts
	_, err = open(t, unknown).Resolve(t.Context())
	wantKind(t, err, fleet.Unauthorized, "key is unknown (get it with ssh-keyscan -p ")

	foreign := good
	foreign.Auth.Key = fleet.NewSecret(other.Key)
	_, err = open(t, foreign).Resolve(t.Context())
	wantKind(t, err, fleet.Unauthorized, "unable to authenticate")

	ro := startSSH(t, true)
	b := branch(t, git.Options{URL: ro.URL + p.bare, KnownHosts: ro.KnownHosts, Auth: git.Auth{Key: fleet.NewSecret(ro.Key)}})
	_, err = b.Commit(t.Context(), fleet.Revision{}, sources.Commit{Edits: map[string][]byte{"x": []byte("1")}, Message: "m"})
	wantKind(t, err, fleet.Unauthorized, "marked as read only")
}

// encrypt returns the private key key, encrypted.
func encrypt(t *testing.T, key []byte, passphrase string) []byte {
	t.Helper()
	raw, err := ssh.ParseRawPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKeyWithPassphrase(raw, "", []byte(passphrase))
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(block)
}

func TestHTTPCredentials(t *testing.T) {
	p := newPlace(t, gitserver.Options{Username: "bot", Password: "s3cret"})
	p.push("main", map[string]string{"a": "1\n"})
	host := strings.TrimPrefix(p.url, "http://")
	for name, c := range map[string]struct {
		url  string
		auth git.Auth
		bad  bool
	}{
		"basic":             {url: p.url, auth: git.Auth{Username: "bot", Password: secret("s3cret")}},
		"token with a user": {url: p.url, auth: git.Auth{Username: "bot", Token: secret("s3cret")}},
		"in the URL":        {url: "http://bot:s3cret@" + host},
		"wrong":             {url: p.url, auth: git.Auth{Username: "bot", Password: secret("guess")}, bad: true},
		"token":             {url: p.url, auth: git.Auth{Token: secret("s3cret")}, bad: true},
		"none":              {url: p.url, bad: true},
	} {
		t.Run(name, func(t *testing.T) {
			r := open(t, git.Options{URL: c.url, Auth: c.auth})
			_, err := r.Resolve(t.Context())
			if !c.bad && err != nil {
				t.Fatal(err)
			}
			if c.bad {
				wantKind(t, err, fleet.Unauthorized, "wrong or missing credentials")
			}
			if strings.Contains(r.URL(), "s3cret") || err != nil && strings.Contains(err.Error(), "guess") {
				t.Errorf("a credential is shown: %s, %v", r.URL(), err)
			}
		})
	}
	_, err := git.New(git.Options{URL: "http://git.example.com/fleet.git", Auth: git.Auth{Token: secret("x")}})
	wantKind(t, err, fleet.Invalid, "use https")
	_, err = git.New(git.Options{URL: "http://bot:s3cret@git.example.com/fleet.git"})
	wantKind(t, err, fleet.Invalid, "use https")
	if strings.Contains(err.Error(), "s3cret") {
		t.Errorf("a credential is shown: %v", err)
	}
}

func TestCABundle(t *testing.T) {
	root := t.TempDir()
	s, err := gitserver.New(root, gitserver.Options{Password: "s3cret"})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewTLSServer(s)
	defer srv.Close()
	p := &place{t: t, root: root, work: t.TempDir() + "/work"}
	if p.bare, err = s.Init("fleet.git"); err != nil {
		t.Fatal(err)
	}
	p.run("", "git", "init", "--quiet", p.work)
	p.push("main", map[string]string{"a": "1\n"})
	o := git.Options{URL: srv.URL + "/fleet.git", Auth: git.Auth{Token: secret("s3cret")}}
	_, err = open(t, o).Resolve(t.Context())
	wantKind(t, err, fleet.Unauthorized, "certificate signed by unknown authority")
	o.CABundle = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw})
	r := open(t, o)
	for range 2 {
		if got := read(t, r, "a"); got != "1\n" {
			t.Errorf("a is %q", got)
		}
		r.Close()
	}
	o.CABundle = []byte("nothing")
	_, err = git.New(o)
	wantKind(t, err, fleet.Invalid, "no certificate")
}

// TestSlashAtTheEnd: slashes at the end of a URL are not in the paths of requests, as with Git.
func TestSlashAtTheEnd(t *testing.T) {
	p := newPlace(t, gitserver.Options{})
	p.push("main", map[string]string{"a": "1\n"})
	to, err := url.Parse(p.url)
	if err != nil {
		t.Fatal(err)
	}
	to.Path = ""
	var mu sync.Mutex
	var paths []string
	proxy := httputil.NewSingleHostReverseProxy(to)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		paths = append(paths, r.URL.Path)
		mu.Unlock()
		proxy.ServeHTTP(w, r)
	}))
	defer srv.Close()
	if got := read(t, open(t, git.Options{URL: srv.URL + "/fleet.git//"}), "a"); got != "1\n" {
		t.Errorf("a is %q", got)
	}
	mu.Lock()
	defer mu.Unlock()
	for _, path := range paths {
		if !strings.HasPrefix(path, "/fleet.git/") || strings.Contains(path, "//") {
			t.Errorf("a request of %s", path)
		}
	}
	if len(paths) < 2 {
		t.Errorf("requests: %q", paths)
	}
}

func TestNormaliseURL(t *testing.T) {
	for raw, want := range map[string]string{
		"https://Git.Example.com:443/team/fleet.git/": "https://git.example.com/team/fleet",
		"https://bot:s3cret@git.example.com/fleet":    "https://git.example.com/fleet",
		"http://git.example.com:8080//a/../b.git":     "http://git.example.com:8080/b",
		"git@git.example.com:team/fleet.git":          "ssh://git@git.example.com/team/fleet",
		"ssh://git@git.example.com:22/team/fleet.git": "ssh://git@git.example.com/team/fleet",
		"bot:s3cret@git.example.com:team/fleet.git":   "ssh://bot@git.example.com/team/fleet",
		"ssh://bot:s3cret@git.example.com/team/fleet": "ssh://bot@git.example.com/team/fleet",
		"file:///srv/fleet.git":                       "file:///srv/fleet",
		"/srv/fleet.git":                              "file:///srv/fleet",
	} {
		if got, err := git.NormaliseURL(raw); err != nil || got != want {
			t.Errorf("%s gives %s, %v; want %s", raw, got, err, want)
		}
	}
	for _, raw := range []string{"", "git://x/y", "https://", "https://host", "ftp://bot:s3cret@x/y", "file://host/x", "https://bot:s3cret@[x/y", "ssh://-oProxyCommand=x/y", "https://git.example.com/fleet?private_token=s3cret", "https://git.example.com/fleet#s3cret"} {
		_, err := git.NormaliseURL(raw)
		if fleet.KindOf(err) != fleet.Invalid || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s gives %v", raw, err)
		}
	}
}

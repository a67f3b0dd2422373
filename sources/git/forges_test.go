package git_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"io/fs"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
	"fairlead.dev/sources/git"
	"fairlead.dev/sources/git/gitserver"
)

// A token is sent as a bearer, and as a password where the server accepts no bearers.
func TestBearer(t *testing.T) {
	for name, c := range map[string]struct {
		want  string
		auth  git.Auth
		asked int32 // requests that the server refused
	}{
		"a bearer":             {"Bearer s3cret", git.Auth{Bearer: secret("s3cret")}, 0},
		"a forge of passwords": {"Basic eC1hY2Nlc3MtdG9rZW46czNjcmV0", git.Auth{Bearer: secret("s3cret")}, 1},
		"with a user":          {"Basic Ym90OnMzY3JldA==", git.Auth{Username: "bot", Bearer: secret("s3cret")}, 0},
		"a token as before":    {"Basic eC1hY2Nlc3MtdG9rZW46czNjcmV0", git.Auth{Token: secret("s3cret")}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var refused atomic.Int32
			p := newPlace(t, gitserver.Options{Before: func(w http.ResponseWriter, r *http.Request) bool {
				if r.Header.Get("Authorization") == c.want {
					return false
				}
				refused.Add(1)
				w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
				http.Error(w, "wrong or missing credentials", http.StatusUnauthorized)
				return true
			}})
			p.push("main", map[string]string{"a": "1\n"})
			o := git.Options{URL: p.url, Auth: c.auth}
			for range 2 {
				if got := read(t, open(t, o), "a"); got != "1\n" {
					t.Errorf("a is %q", got)
				}
			}
			b := branch(t, o)
			head, _, err := b.Read(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := b.Commit(t.Context(), head, sources.Commit{Edits: map[string][]byte{"x": []byte("1")}, Message: "m"}); err != nil {
				t.Fatal(err)
			}
			if n := refused.Load(); n != 3*c.asked {
				t.Errorf("%d requests were turned away, want %d for each connection", n, c.asked)
			}
			o.Auth.Bearer, o.Auth.Token = secret("guess"), fleet.Secret{}
			_, err = open(t, o).Resolve(t.Context())
			wantKind(t, err, fleet.Unauthorized, "wrong or missing credentials")
		})
	}
}

// certificate returns a self-signed certificate, and its key.
func certificate(t *testing.T) (cert, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw})
}

func TestClientCertificate(t *testing.T) {
	p := newPlace(t, gitserver.Options{})
	p.push("main", map[string]string{"a": "1\n"})
	s, err := gitserver.New(p.root, gitserver.Options{})
	if err != nil {
		t.Fatal(err)
	}
	cert, key := certificate(t)
	srv := httptest.NewUnstartedServer(s)
	srv.TLS = &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: x509.NewCertPool()}
	srv.TLS.ClientCAs.AppendCertsFromPEM(cert)
	srv.StartTLS()
	defer srv.Close()
	o := git.Options{
		URL: srv.URL + "/fleet.git", CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw}),
		Auth: git.Auth{Certificate: cert, CertificateKey: fleet.NewSecret(key)},
	}
	if got := read(t, open(t, o), "a"); got != "1\n" {
		t.Errorf("a is %q", got)
	}
	without := o
	without.Auth = git.Auth{}
	if _, err := open(t, without).Resolve(t.Context()); err == nil || !strings.Contains(err.Error(), "certificate required") {
		t.Errorf("without a certificate: %v", err)
	}
	for words, change := range map[string]func(*git.Options){
		"needs both the certificate and its key": func(o *git.Options) { o.Auth.CertificateKey = fleet.Secret{} },
		"cannot be used":                         func(o *git.Options) { o.Auth.CertificateKey = secret("x") },
		"does not work over http":                func(o *git.Options) { o.URL = p.url },
		"does not work over ssh":                 func(o *git.Options) { o.URL = "git@example.com:x.git" },
	} {
		bad := o
		change(&bad)
		_, err := git.New(bad)
		wantKind(t, err, fleet.Invalid, words)
	}
}

// Each source has its own proxy, whatever the environment says.
func TestProxy(t *testing.T) {
	p := newPlace(t, gitserver.Options{})
	p.push("main", map[string]string{"a": "1\n"})
	target, err := url.Parse(p.url)
	if err != nil {
		t.Fatal(err)
	}
	var asked []string
	proxy := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		asked = append(asked, r.In.Host+" "+r.In.Header.Get("Proxy-Authorization"))
		r.Out.URL.Scheme, r.Out.URL.Host = target.Scheme, target.Host
	}})
	defer proxy.Close()
	o := git.Options{URL: "http://git.invalid/fleet.git", Proxy: secret(strings.Replace(proxy.URL, "http://", "http://bot:s3cret@", 1))}
	if got := read(t, open(t, o), "a"); got != "1\n" {
		t.Errorf("a is %q", got)
	}
	if len(asked) == 0 || asked[0] != "git.invalid Basic Ym90OnMzY3JldA==" {
		t.Errorf("the proxy was asked for %q", asked)
	}
	for url, words := range map[string]string{"http://git.invalid/x": "is no URL of http", "git@git.invalid:x": "a proxy does not work over ssh"} {
		bad := git.Options{URL: url, Proxy: secret("s3cret:3128"), KnownHosts: []byte("x")}
		_, err := git.New(bad)
		wantKind(t, err, fleet.Invalid, words)
		if strings.Contains(err.Error(), "s3cret") {
			t.Errorf("a credential is shown: %v", err)
		}
	}
}

// A server that requires multi_ack, as Azure DevOps does, gets it with every fetch.
func TestServerThatInsistsOnMultiACK(t *testing.T) {
	var refused atomic.Int32
	p := newPlace(t, gitserver.Options{Before: func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, "/git-upload-pack") {
			return false
		}
		body, _ := io.ReadAll(r.Body)
		if !bytes.Contains(body, []byte(" multi_ack")) && !bytes.Contains(body, []byte("command=ls-refs")) {
			refused.Add(1)
			http.Error(w, "the client does not support multi_ack", http.StatusBadRequest)
			return true
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		return false
	}})
	r := open(t, git.Options{URL: p.url})
	for _, want := range []string{"1\n", "2\n", "3\n"} {
		p.push("main", map[string]string{"a": want, "b" + want[:1]: strings.Repeat(want, 1000)})
		if got := read(t, r, "a"); got != want {
			t.Errorf("a is %q, want %q", got, want)
		}
	}
	b, err := r.Branch("fairlead/status", git.BranchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	head, _, err := b.Read(t.Context())
	if err == nil {
		_, err = b.Commit(t.Context(), head, sources.Commit{Edits: map[string][]byte{"x": []byte("1")}, Message: "m"})
	}
	if err != nil {
		t.Error(err)
	}
	if n := refused.Load(); n != 1 {
		t.Errorf("%d requests were turned away, want the first", n)
	}
}

// The highest tag that matches is followed.
func TestPatternsOfTags(t *testing.T) {
	p := newPlace(t, gitserver.Options{})
	tag := func(name string) {
		commit := p.push("main", map[string]string{"a": name + "\n"})
		if strings.HasPrefix(name, "v1.1") {
			p.git("-c", "user.name=a", "-c", "user.email=a@b", "tag", "-a", "-m", "x", name, commit)
			return
		}
		p.git("update-ref", "refs/tags/"+name, commit)
	}
	for _, name := range []string{"v1.10.0", "v1.9.0", "v2.0.0-rc.1", "v0.9", "prod-2026-01-31", "prod-2026-02-01", "latest"} {
		tag(name)
	}
	for ref, want := range map[string]string{
		"semver:*": "v1.10.0", "semver:>=1.0.0 <1.10": "v1.9.0", "semver:1.9.x": "v1.9.0", "semver:>=2.0.0-0": "v2.0.0-rc.1", "semver:<1": "v0.9",
		"v1.*": "v1.10.0", "refs/tags/v2.*": "v2.0.0-rc.1", "prod-*": "prod-2026-02-01",
	} {
		r := open(t, git.Options{URL: p.url, Ref: ref})
		rev, err := r.Resolve(t.Context())
		if err != nil || rev.Ref != want {
			t.Errorf("%s is %v, %v, want %s", ref, rev, err, want)
			continue
		}
		if got := read(t, r, "a"); got != want+"\n" {
			t.Errorf("%s: a is %q", ref, got)
		}
	}
	_, err := open(t, git.Options{URL: p.url, Ref: "semver:>=3"}).Resolve(t.Context())
	wantKind(t, err, fleet.NotFound, `no tag matches "semver:>=3"`)
	for ref, words := range map[string]string{"semver:new": "is not a range of versions", "v[*": "is not a pattern", "refs/heads/*": "only tags"} {
		_, err := git.New(git.Options{URL: p.url, Ref: ref})
		wantKind(t, err, fleet.Invalid, words)
	}
}

// A Git LFS pointer is named as such where somebody reads it.
func TestLFSPointer(t *testing.T) {
	p := newPlace(t, gitserver.Options{})
	p.push("main", map[string]string{
		"a":   "1\n",
		"big": "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n",
	})
	r := open(t, git.Options{URL: p.url})
	if got := read(t, r, "a"); got != "1\n" {
		t.Errorf("a is %q", got)
	}
	rev, err := r.Resolve(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	tr, err := r.Fetch(t.Context(), rev)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = fs.ReadFile(tr, "big"); err == nil || !strings.Contains(err.Error(), "read big: is a Git LFS pointer") {
		t.Errorf("read with %v", err)
	}
}

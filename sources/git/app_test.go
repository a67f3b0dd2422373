package git_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/sources/git"
	"fairlead.dev/sources/git/gitserver"
)

func newHub(t *testing.T) (*hub, *place, string) {
	h := &hub{t: t, owners: map[string]string{"orgs/acme": "77"}, number: "77", lives: time.Hour, valid: map[string]bool{}}
	p := newPlace(t, gitserver.Options{Before: h.before})
	return h, p, h.newKey()
}

func cutLast(s, sep string) (string, string, bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// TestGitHubApp: one token serves for the fleet and the status branch, until it is about to
// end.
func TestGitHubApp(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*hub, *git.App)
		asked  []string
	}{
		"a number":        {func(*hub, *git.App) {}, []string{"app/installations/77/access_tokens"}},
		"an organisation": {func(_ *hub, a *git.App) { a.Installation, a.Owner = "", "acme" }, []string{"orgs/acme/installation", "app/installations/77/access_tokens"}},
		"a user": {func(h *hub, a *git.App) {
			a.Installation, a.Owner, h.owners = "", "ann", map[string]string{"users/ann": "77"}
		}, []string{"orgs/ann/installation", "users/ann/installation", "app/installations/77/access_tokens"}},
		"a clock that is slow": {func(h *hub, _ *git.App) { h.ahead = -2 * time.Hour }, []string{"app/installations/77/access_tokens", "app/installations/77/access_tokens"}},
		"a clock that is fast": {func(h *hub, _ *git.App) { h.ahead = 2 * time.Hour }, []string{"app/installations/77/access_tokens", "app/installations/77/access_tokens"}},
	} {
		t.Run(name, func(t *testing.T) {
			h, p, key := newHub(t)
			p.push("main", map[string]string{"a": "1\n"})
			auth := h.app(key)
			c.change(h, &auth.App)
			r := open(t, git.Options{URL: p.url, Auth: auth})
			use(t, r)
			use(t, r)
			if !slices.Equal(h.asked, c.asked) {
				t.Errorf("the API was asked for %q, want %q", h.asked, c.asked)
			}
		})
	}
}

// Errors of GitHub about an app are reported, refuse no revision, and end with their cause.
func TestGitHubAppIsRefused(t *testing.T) {
	answer := func(code int, header, text string) func(http.ResponseWriter) bool {
		return func(w http.ResponseWriter) bool {
			for h := range strings.FieldsSeq(header) {
				k, v, _ := strings.Cut(h, "=")
				w.Header().Set(k, v)
			}
			w.WriteHeader(code)
			_, _ = w.Write([]byte(text))
			return true
		}
	}
	thief := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("another host was asked: %s with %s", r.URL, r.Header.Get("Authorization"))
	}))
	defer thief.Close()
	for name, c := range map[string]struct {
		change func(*hub)
		kind   fleet.ErrorKind
		words  string
	}{
		"revoked key":      {func(h *hub) { h.keys = nil }, fleet.Unauthorized, "A JSON web token could not be decoded (HTTP 401): githubAppPrivateKey is not"},
		"another clock":    {func(h *hub) { h.ahead = time.Hour; h.bad = answer(401, "", "") }, fleet.Unauthorized, "the clock of this computer is 1h0m0s off"},
		"uninstalled":      {func(h *hub) { h.number = "1" }, fleet.Unauthorized, "no installation 77 (any more)"},
		"suspended":        {func(h *hub) { h.bad = answer(403, "", `{"message":"This installation has been suspended"}`) }, fleet.Unauthorized, "has been suspended (HTTP 403): the installation is suspended"},
		"down":             {func(h *hub) { h.bad = answer(502, "Content-Type=text/html", "<title>Unicorn!</title>") }, fleet.Unavailable, "HTTP 502"},
		"a page":           {func(h *hub) { h.bad = answer(200, "Content-Type=text/html", "<title>Log in</title>") }, fleet.Unavailable, "web page"},
		"noise":            {func(h *hub) { h.bad = answer(200, "", "noise") }, fleet.Unavailable, "not GitHub's"},
		"no token":         {func(h *hub) { h.bad = answer(201, "", "{}") }, fleet.Unavailable, "the answer has none"},
		"a token of lines": {func(h *hub) { h.bad = answer(201, "", `{"token":"a\r\nX: y"}`) }, fleet.Unavailable, "the answer has none"},
		"sent elsewhere":   {func(h *hub) { h.bad = answer(307, "Location="+thief.URL, "") }, fleet.Unauthorized, "Temporary Redirect (HTTP 307)"},
		"too often":        {func(h *hub) { h.bad = answer(429, "Retry-After=300", `{"message":"slow down"}`) }, fleet.Unavailable, "slow down (HTTP 429): it asks to be left alone for 5m0s"},
		"rate limit": {func(h *hub) {
			h.bad = answer(403, "X-RateLimit-Remaining=0 X-RateLimit-Reset=4102444800", `{"message":"API rate limit exceeded"}`)
		}, fleet.Unavailable, "it asks to be left alone for 15m0s"},
	} {
		t.Run(name, func(t *testing.T) {
			h, p, key := newHub(t)
			p.push("main", map[string]string{"a": "1\n"})
			r := open(t, git.Options{URL: p.url, Auth: h.app(key)})
			keys := h.keys
			c.change(h)
			for range 2 {
				_, err := r.Resolve(t.Context())
				wantKind(t, err, c.kind, "")
				if !strings.Contains(err.Error(), c.words) {
					t.Errorf("it says %v, want %q", err, c.words)
				}
			}
			if n := len(h.asked); strings.Contains(c.words, "left alone") && n != 1 {
				t.Errorf("the API was asked %d times, want once", n)
			}
			if strings.Contains(c.words, "left alone") {
				return
			}
			h.keys, h.number, h.bad, h.ahead = keys, "77", nil, 0
			use(t, r)
		})
	}
}

// A token that ends, or that the server refuses, is replaced. While GitHub issues none, the
// old token serves until its end.
func TestGitHubAppTokens(t *testing.T) {
	h, p, key := newHub(t)
	p.push("main", map[string]string{"a": "1\n"})
	r := open(t, git.Options{URL: p.url, Auth: h.app(key)})
	use(t, r)
	h.valid = map[string]bool{} // revoked
	use(t, r)
	if n := len(h.asked); n != 2 {
		t.Errorf("the API was asked %d times, want twice", n)
	}

	h, p, key = newHub(t)
	p.push("main", map[string]string{"a": "1\n"})
	h.lives = 0 // each token has to be renewed at once
	r = open(t, git.Options{URL: p.url, Auth: h.app(key)})
	for range 2 {
		if _, err := r.Resolve(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(h.asked); n != 2 {
		t.Errorf("the API was asked %d times, want twice", n)
	}

	h, p, key = newHub(t)
	p.push("main", map[string]string{"a": "1\n"})
	r = open(t, git.Options{URL: p.url, Auth: h.app(key)})
	use(t, r)
	r.RenewToken()
	h.bad = func(w http.ResponseWriter) bool { http.Error(w, "down", http.StatusServiceUnavailable); return true }
	use(t, r)
	use(t, r)
	if n := len(h.asked); n != 2 {
		t.Errorf("the API was asked %d times while a token was good, want once more", n)
	}
}

// A rotated key is used without a restart.
func TestGitHubAppKeyIsRotated(t *testing.T) {
	h, p, key := newHub(t)
	p.push("main", map[string]string{"a": "1\n"})
	r := open(t, git.Options{URL: p.url, Refresh: func(o *git.Options) error { o.Auth = h.app(key); return nil }})
	use(t, r)
	h.keys, h.valid = nil, map[string]bool{}
	next := h.newKey()
	_, err := r.Resolve(t.Context())
	wantKind(t, err, fleet.Unauthorized, "")
	key = next
	use(t, r)
	key = "no key"
	_, err = r.Resolve(t.Context())
	wantKind(t, err, fleet.Unauthorized, "githubAppPrivateKey is no RSA key")
	key = next
	use(t, r)
}

func TestGitHubAppIsWhole(t *testing.T) {
	h, _, key := newHub(t)
	for name, c := range map[string]struct {
		url    string
		change func(*git.App)
		words  string
	}{
		"no app":      {"", func(a *git.App) { a.ID = "" }, "githubAppID is missing"},
		"neither":     {"", func(a *git.App) { a.Installation = "" }, "needs githubAppInstallationID or githubAppInstallationOwner"},
		"both":        {"", func(a *git.App) { a.Owner = "acme" }, "one says it"},
		"no number":   {"", func(a *git.App) { a.Installation = "../x" }, "and no number"},
		"no key":      {"", func(a *git.App) { a.Key = fleet.Secret{} }, "githubAppPrivateKey is no RSA key"},
		"plain API":   {"", func(a *git.App) { a.API = "http://github.example.com" }, "githubAppBaseURL is no URL of https"},
		"user in API": {"", func(a *git.App) { a.API = "https://a:b@github.example.com" }, "githubAppBaseURL is no URL of https"},
		"over ssh":    {"git@github.com:acme/fleet.git", func(*git.App) {}, "a GitHub App does not work over ssh"},
		"over http":   {"http://github.example.com/acme/fleet.git", func(*git.App) {}, "credentials are not sent over plain http"},
	} {
		auth := h.app(key)
		c.change(&auth.App)
		url := c.url
		if url == "" {
			url = "https://github.com/acme/fleet.git"
		}
		_, err := git.New(git.Options{URL: url, Auth: auth, KnownHosts: []byte("x")})
		if fleet.KindOf(err) != fleet.Invalid || !strings.Contains(err.Error(), c.words) {
			t.Errorf("%s: %v, want %q", name, err, c.words)
		}
	}
	for repository, want := range map[string]string{
		"https://github.com/acme/fleet": "https://api.github.com", "https://acme.ghe.com/acme/fleet": "https://api.acme.ghe.com",
		"https://github.example.com:8443/acme/fleet": "https://github.example.com:8443/api/v3",
	} {
		r := open(t, git.Options{URL: repository, Auth: h.app(key)})
		if got := r.API(); got != want {
			t.Errorf("the API for %s is at %s, want %s", repository, got, want)
		}
	}
	for given, want := range map[string]string{
		"https://github.example.com": "https://github.example.com/api/v3", "https://github.example.com/api/v3/": "https://github.example.com/api/v3", "https://api.acme.ghe.com/": "https://api.acme.ghe.com",
	} {
		auth := h.app(key)
		auth.App.API = given
		if got := open(t, git.Options{URL: "https://github.example.com/a/b", Auth: auth}).API(); got != want {
			t.Errorf("the API %s is at %s, want %s", given, got, want)
		}
	}
}

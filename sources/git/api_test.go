package git_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/sources/git"
	"fairlead.dev/sources/git/gitserver"
)

func TestAPI(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("another host was asked, with %q", r.Header.Get("Authorization"))
	}))
	defer elsewhere.Close()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/api/away":
			http.Redirect(w, r, elsewhere.URL, http.StatusFound)
		case "/api/endless":
			_, _ = io.CopyN(w, zeros{}, 9<<20)
		default:
			_, _ = io.WriteString(w, r.Header.Get("Authorization"))
		}
	}))
	defer srv.Close()
	ask := func(t *testing.T, auth git.Auth, path string, as git.Authorization) (int, string, error) {
		t.Helper()
		api, err := git.NewAPI(srv.URL+"/api", git.Options{URL: srv.URL + "/team/fleet.git", Auth: auth})
		if err != nil {
			t.Fatal(err)
		}
		req, _ := http.NewRequest(http.MethodGet, path, http.NoBody)
		res, err := api.Do(t.Context(), req, as)
		if err != nil {
			return 0, "", err
		}
		defer res.Body.Close()
		b, err := io.ReadAll(res.Body)
		return res.StatusCode, string(b), err
	}
	token := git.Auth{Token: secret("s3cret")}
	for name, c := range map[string]struct {
		auth git.Auth
		as   git.Authorization
		want string
	}{
		"a token":                    {token, git.AsBearer, "Bearer s3cret"},
		"a bearer":                   {git.Auth{Bearer: secret("s3cret")}, git.AsBearer, "Bearer s3cret"},
		"a user":                     {git.Auth{Username: "bot", Password: secret("s3cret")}, git.AsBearer, "Basic Ym90OnMzY3JldA=="},
		"a password that is a token": {git.Auth{Username: "bot", Password: secret("s3cret")}, git.AsToken, "Bearer s3cret"},
		"nothing":                    {git.Auth{}, git.AsBearer, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if _, got, err := ask(t, c.auth, srv.URL+"/api/x", c.as); err != nil || got != c.want {
				t.Errorf("%q, %v, want %q", got, err, c.want)
			}
		})
	}
	if code, _, err := ask(t, token, srv.URL+"/api/away", git.AsBearer); err != nil || code != http.StatusFound {
		t.Errorf("a redirect is %d, %v", code, err)
	}
	if _, body, err := ask(t, token, srv.URL+"/api/endless", git.AsBearer); err == nil || len(body) > 8<<20 {
		t.Errorf("%d bytes of an endless answer, %v", len(body), err)
	}
	_, _, err := ask(t, token, elsewhere.URL, git.AsBearer)
	wantKind(t, err, fleet.Invalid, "the request is for")
	_, err = git.NewAPI("http://forge.example.com/api", git.Options{URL: srv.URL})
	wantKind(t, err, fleet.Invalid, "no URL of https")
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

// The API is asked with the token of a GitHub App that Git is.
func TestAPIOfAnApp(t *testing.T) {
	h := &hub{t: t, number: "77", lives: time.Hour, valid: map[string]bool{}}
	p := newPlace(t, gitserver.Options{Before: func(w http.ResponseWriter, r *http.Request) bool {
		token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ghs_")
		if ok && r.URL.Path == "/api/v3/repos/team/fleet" && h.valid["ghs_"+token] {
			return true
		}
		return h.before(w, r)
	}})
	base := strings.TrimSuffix(p.url, "/fleet.git") + "/api/v3"
	api, err := git.NewAPI(base, git.Options{URL: p.url, Auth: h.app(h.newKey())})
	if err != nil {
		t.Fatal(err)
	}
	req, _ := http.NewRequest(http.MethodGet, base+"/repos/team/fleet", http.NoBody)
	res, err := api.Do(t.Context(), req, git.AsBearer)
	if err != nil || res.StatusCode != http.StatusOK || api.App() != "12" {
		t.Fatal(res, err)
	}
	_ = res.Body.Close()
}

package git_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/sources/git"
	"fairlead.dev/sources/git/gitserver"
)

// An answer that is not Git's is recognised, reported in its own words without markup, and
// never taken for a verdict on the request.
func TestAnswersThatAreNotGits(t *testing.T) {
	page := func(code int, head string) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			w.WriteHeader(code)
			fmt.Fprint(w, "<html><head>"+head+"</head><body>quota, not our ref, access denied"+strings.Repeat("<br>", 50_000))
		}
	}
	for name, c := range map[string]struct {
		answer func(http.ResponseWriter)
		only   string
		kind   fleet.ErrorKind
		words  string
	}{
		"a login page for refs":   {page(200, "<title>Sign\n in</title>"), "/info/refs", fleet.Unavailable, `a web page and not Git's, with the title "Sign in"`},
		"a login page for a pack": {page(200, ""), "/git-upload-pack", fleet.Unavailable, "a web page and not Git's:"},
		"a proxy's page":          {page(502, "<TITLE lang=en>Bad &lt;Gateway&gt;</TITLE>"), "/git-upload-pack", fleet.Unavailable, "Bad <Gateway> (HTTP 502 Bad Gateway)"},
		"a page of not found":     {page(404, "<title>Gone fishing</title>"), "/git-upload-pack", fleet.NotFound, "Gone fishing"},
	} {
		t.Run(name, func(t *testing.T) {
			bad := false
			p := newPlace(t, gitserver.Options{Before: func(w http.ResponseWriter, r *http.Request) bool {
				if !bad || !strings.HasSuffix(r.URL.Path, c.only) {
					return false
				}
				c.answer(w)
				return true
			}})
			p.push("main", map[string]string{"a": "1\n"})
			r := open(t, git.Options{URL: p.url})
			bad = c.only == "/info/refs"
			rev, err := r.Resolve(t.Context())
			if err == nil {
				bad = true
				_, err = r.Fetch(t.Context(), rev)
			}
			wantKind(t, err, c.kind, c.words)
			if len(err.Error()) > 500 || strings.Contains(err.Error(), "<br>") {
				t.Errorf("the whole page is told: %.300s", err.Error())
			}
			bad = false
			if got := read(t, r, "a"); got != "1\n" {
				t.Errorf("after that a is %q", got)
			}
		})
	}
}

// Redirects end, with and without credentials.
func TestRedirectsEnd(t *testing.T) {
	n := 0
	p := newPlace(t, gitserver.Options{Before: func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasPrefix(r.URL.Path, "/round") {
			return false
		}
		n++
		to := *r.URL
		to.Path = fmt.Sprintf("/round%d.git/info/refs", n)
		http.Redirect(w, r, to.String(), http.StatusFound)
		return true
	}})
	p.push("main", map[string]string{"a": "1\n"})
	for _, auth := range []git.Auth{{}, {Token: secret("x")}} {
		n = 0
		_, err := open(t, git.Options{URL: strings.Replace(p.url, "/fleet.git", "/round.git", 1), Auth: auth}).Resolve(t.Context())
		wantKind(t, err, fleet.Unavailable, "stopped after 5 redirects")
		if n > 6 {
			t.Errorf("the server was asked %d times", n)
		}
	}
}

// A server that assumes objects which are missing here is asked again, without a base.
func TestBaseThatIsNotThere(t *testing.T) {
	text := func(first string) string {
		var b strings.Builder
		b.WriteString(first)
		for i := range 2000 {
			fmt.Fprintf(&b, "line %d of a file that is sent as a delta\n", i*i)
		}
		return b.String()
	}
	var have, other string
	lied := 0
	p := newPlace(t, gitserver.Options{Before: func(_ http.ResponseWriter, r *http.Request) bool {
		if have != "" && strings.HasSuffix(r.URL.Path, "/git-upload-pack") {
			body, _ := io.ReadAll(r.Body)
			if bytes.Contains(body, []byte("have "+have)) {
				lied++
			}
			r.Body = io.NopCloser(bytes.NewReader(bytes.ReplaceAll(body, []byte(have), []byte(other))))
		}
		return false
	}})
	other = p.push("main", map[string]string{"f": text("old\n")})
	have2 := p.push("main", map[string]string{"f": "", "a": "1\n"})
	r := open(t, git.Options{URL: p.url})
	if got := read(t, r, "a"); got != "1\n" {
		t.Fatalf("a is %q", got)
	}
	p.push("main", map[string]string{"f": text("new\n")})
	have = have2
	if got := read(t, r, "f"); got != text("new\n") {
		t.Error("f differs")
	}
	if lied == 0 {
		t.Error("the server was never misled")
	}
}

//go:build linux

package gitea_test

import (
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"fairlead.dev/agent/plans/forge"
	"fairlead.dev/test/lab/gitea"
)

// A browser is one without scripts that a person signed in with.
type browser struct {
	t *testing.T
	c *http.Client
}

func signIn(t *testing.T, s *gitea.Server) *browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	b := &browser{t, &http.Client{Jar: jar}}
	at, _ := b.open(s.URL + "/user/login")
	b.send(at, url.Values{"user_name": {s.User}, "password": {s.Password}})
	return b
}

// open returns where it was led to, and what is there.
func (b *browser) open(address string) (at, text string) {
	b.t.Helper()
	resp, err := b.c.Get(address)
	if err != nil {
		b.t.Fatal(err)
	}
	return b.read(resp)
}

func (b *browser) send(address string, form url.Values) (at, text string) {
	b.t.Helper()
	resp, err := b.c.PostForm(address, form)
	if err != nil {
		b.t.Fatal(err)
	}
	return b.read(resp)
}

func (b *browser) read(resp *http.Response) (at, text string) {
	b.t.Helper()
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		b.t.Fatalf("%s %s: %s, %v\n%.2000s", resp.Request.Method, resp.Request.URL, resp.Status, err, body)
	}
	return resp.Request.URL.String(), string(body)
}

var (
	input    = regexp.MustCompile(`<input[^>]*>`)
	textarea = regexp.MustCompile(`(?s)<textarea[^>]* name="([^"]*)"[^>]*>(.*?)</textarea>`)
	named    = regexp.MustCompile(` name="([^"]*)"`)
	valued   = regexp.MustCompile(` value="([^"]*)"`)
)

// fields returns what a form would send.
func fields(text string) url.Values {
	out := url.Values{}
	for _, tag := range input.FindAllString(text, -1) {
		name, value := named.FindStringSubmatch(tag), valued.FindStringSubmatch(tag)
		if name != nil && value != nil && out.Get(name[1]) == "" {
			out.Set(name[1], html.UnescapeString(value[1]))
		}
	}
	for _, m := range textarea.FindAllStringSubmatch(text, -1) {
		out.Set(m[1], html.UnescapeString(m[2]))
	}
	return out
}

// TestEditor: the links of a page lead to editors that are filled in, and what these commit is
// the request.
func TestEditor(t *testing.T) {
	asked(t)
	server := gitea.Start(t)
	s := newSite(server, "pages")
	const branch, file, text = "fairlead/status", "requests/dev/a/suspend.yaml", "apiVersion: fairlead.dev/v1alpha1\nkind: Request\nwish: suspend\ncluster: dev/a\nreason: \"\"\n"
	s.push(s.repo, "main", "main", map[string]string{"fleet.yaml": "a: b\n"})
	s.push(s.repo, "main", branch, map[string]string{"README.md": "status\n"})
	f, err := forge.LinksOf("gitea", server.URL+"/"+server.User+"/pages.git")
	if err != nil {
		t.Fatal(err)
	}
	b := signIn(t, server)
	open := func(link string) (at string, form url.Values) {
		t.Helper()
		at, body := b.open("http" + strings.TrimPrefix(link, "https"))
		form = fields(body)
		if form.Get("tree_path") != file {
			t.Errorf("%s is of file %q, want %q", link, form.Get("tree_path"), file)
		}
		return at, form
	}
	at, form := open(f.New(branch, file, text))
	u, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	form.Set("content", u.Query().Get("value")) // Gitea's script does (web_src/js/features/repo-editor.ts)
	form.Set("commit_choice", "direct")
	form.Set("commit_summary", "Create suspend.yaml")
	b.send(at, form)
	_, form = open(f.Edit(branch, file))
	if got := form.Get("content"); got != text {
		t.Errorf("what was committed is shown as %q, want %q", got, text)
	}
	var head struct{ Commit struct{ ID string } }
	s.Call(http.MethodGet, s.repo+"/branches/"+branch, nil, &head)
	for _, link := range []string{f.History(branch, file), f.Line(head.Commit.ID, "", file, 2)} {
		if _, body := b.open("http" + strings.TrimPrefix(link, "https")); !strings.Contains(body, "suspend.yaml") {
			t.Errorf("%s does not show it", link)
		}
	}
}

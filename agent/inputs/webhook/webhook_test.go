package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

const secret = "s3cret"

// heard is what a handler did.
type heard struct {
	mu      sync.Mutex
	polls   int
	results map[string]int // "kind result"
}

func (h *heard) trigger() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.polls++
}

func (h *heard) observe(kind, result string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.results[kind+" "+result]++
}

func (h *heard) count() (int, map[string]int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.polls, h.results
}

// listening returns a handler of all kinds for git@git.example.com:team/fleet.
func listening(t testing.TB, change func(*Options)) (*Handler, *heard) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range Kinds() {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("older\n"+secret+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	secrets, err := NewSecrets(nil, dir)
	if err != nil {
		t.Fatal(err)
	}
	did := &heard{results: make(map[string]int)}
	o := Options{
		Target: Target{
			Repository: "git@git.example.com:team/fleet.git",
			Own:        func(branch string) bool { return branch == "fairlead/status" },
		},
		Secrets: secrets, Trigger: did.trigger, Observe: did.observe, Log: slog.New(slog.DiscardHandler),
	}
	if change != nil {
		change(&o)
	}
	return New(o), did
}

func sum(key, body string) string {
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte(body))
	return hex.EncodeToString(mac.Sum(nil))
}

// call makes a call of a kind; headers are "Name: value".
func call(kind, body string, headers ...string) *http.Request {
	r := httptest.NewRequest("POST", "/hook/"+kind, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	return r
}

func serve(h http.Handler, r *http.Request) (int, string) {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code, strings.TrimSpace(w.Body.String())
}

// The payloads are what each forge documents, cut to what anybody might read.
const (
	githubPush = `{"ref": "refs/heads/main", "before": "6113728f27ae82c7b1a177c8d03f9e96e0adf246", "after": "59b20b8d5c6ff8d09518454d4dd8b7b30f095ab5",
		"deleted": false, "forced": false, "repository": {"id": 1, "full_name": "team/fleet", "html_url": "https://git.example.com/team/fleet",
		"clone_url": "https://git.example.com/team/fleet.git", "ssh_url": "git@git.example.com:team/fleet.git", "default_branch": "main"}, "pusher": {"name": "ann"}}`
	githubPing = `{"zen": "Keep it logically awesome.", "hook_id": 30, "hook": {"type": "Repository", "events": ["push"]}}`
	gitlabPush = `{"object_kind": "push", "event_name": "push", "before": "95790bf8", "after": "da156088", "ref": "refs/heads/main", "checkout_sha": "da156088",
		"project": {"id": 15, "name": "Fleet", "web_url": "https://git.example.com/team/fleet", "git_ssh_url": "git@git.example.com:team/fleet.git",
		"git_http_url": "https://git.example.com/team/fleet.git", "path_with_namespace": "team/fleet", "default_branch": "main"}, "total_commits_count": 1}`
	giteaPush = `{"ref": "refs/heads/main", "before": "28e1879d", "after": "bffeb742", "compare_url": "https://git.example.com/team/fleet/compare/28e..bff",
		"repository": {"id": 140, "full_name": "team/fleet", "html_url": "https://git.example.com/team/fleet", "ssh_url": "ssh://git@git.example.com:2222/team/fleet.git",
		"clone_url": "https://git.example.com/team/fleet.git", "default_branch": "main"}, "pusher": {"login": "ann"}}`
	cloudPush = `{"push": {"changes": [{"old": {"type": "branch", "name": "main", "target": {"hash": "1e65c05c"}}, "new": {"type": "branch", "name": "main",
		"target": {"hash": "709d6582"}}, "created": false, "forced": false, "closed": false}]}, "actor": {"type": "user"},
		"repository": {"type": "repository", "full_name": "team/fleet", "links": {"html": {"href": "https://bitbucket.org/team/fleet"}}}}`
	centerPush = `{"eventKey": "repo:refs_changed", "date": "2026-01-02T12:00:00+0000", "actor": {"name": "ann"}, "repository": {"slug": "fleet", "id": 84,
		"scmId": "git", "project": {"key": "TEAM", "id": 84}, "links": {"clone": [{"href": "ssh://git@git.example.com:7999/team/fleet.git", "name": "ssh"},
		{"href": "https://git.example.com/scm/team/fleet.git", "name": "http"}]}},
		"changes": [{"ref": {"id": "refs/heads/main", "displayId": "main", "type": "BRANCH"}, "refId": "refs/heads/main", "fromHash": "ecddabb6", "toHash": "178864a7", "type": "UPDATE"}]}`
)

// now is what callers sign.
func now() string { return strconv.FormatInt(time.Now().Unix(), 10) }

// standardKey is a signing token as GitLab makes them.
const standardKey = "whsec_c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0"

func standardSum(id, at, body string) string {
	key, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(standardKey, "whsec_"))
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(id + "." + at + "." + body))
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

func TestForges(t *testing.T) {
	form := url.Values{"payload": {githubPush}}.Encode()
	at, old := now(), strconv.FormatInt(time.Now().Add(-time.Hour).Unix(), 10)
	change := strings.NewReplacer
	for name, tc := range map[string]struct {
		reason string
		call   *http.Request
		code   int
		result string
	}{
		"github push":        {"it is the fleet's branch", call("github", githubPush, "X-GitHub-Event: push", "X-Hub-Signature-256: sha256="+sum(secret, githubPush)), 202, "accepted"},
		"github older":       {"every secret of the file is valid", call("github", githubPush, "X-GitHub-Event: push", "X-Hub-Signature-256: sha256="+sum("older", githubPush)), 202, "accepted"},
		"github form":        {"GitHub sends forms by default", call("github", form, "Content-Type: application/x-www-form-urlencoded", "X-GitHub-Event: push", "X-Hub-Signature-256: sha256="+sum(secret, form)), 202, "accepted"},
		"github ping":        {"a ping asks for an answer", call("github", githubPing, "X-GitHub-Event: ping", "X-Hub-Signature-256: sha256="+sum(secret, githubPing)), 200, "ping"},
		"github unsigned":    {"the ping is verified too", call("github", githubPing, "X-GitHub-Event: ping"), 401, "unauthorized"},
		"github wrong":       {"another secret", call("github", githubPush, "X-GitHub-Event: push", "X-Hub-Signature-256: sha256="+sum("guess", githubPush)), 401, "unauthorized"},
		"github changed":     {"the body is not the one that was signed", call("github", githubPush+" ", "X-GitHub-Event: push", "X-Hub-Signature-256: sha256="+sum(secret, githubPush)), 401, "unauthorized"},
		"github sha1":        {"SHA-1 is not enough", call("github", githubPush, "X-GitHub-Event: push", "X-Hub-Signature: sha1=aa"), 401, "unauthorized"},
		"github issue":       {"not a push", call("github", `{}`, "X-GitHub-Event: issues", "X-Hub-Signature-256: sha256="+sum(secret, `{}`)), 202, "ignored"},
		"github broken":      {"signed, and no JSON", call("github", `{`, "X-GitHub-Event: push", "X-Hub-Signature-256: sha256="+sum(secret, `{`)), 400, "malformed"},
		"gitlab token":       {"the secret itself", call("gitlab", gitlabPush, "X-Gitlab-Event: Push Hook", "X-Gitlab-Token: "+secret), 202, "accepted"},
		"gitlab wrong token": {"a prefix of the secret", call("gitlab", gitlabPush, "X-Gitlab-Token: "+secret[:5]), 401, "unauthorized"},
		"gitlab no token":    {"nothing", call("gitlab", gitlabPush), 401, "unauthorized"},
		"gitlab signed":      {"a signing token", call("gitlab", gitlabPush, "Webhook-Id: a", "Webhook-Timestamp: "+at, "Webhook-Signature: v1,AAAA "+standardSum("a", at, gitlabPush)), 202, "accepted"},
		"gitlab signed long ago": {
			"a signature of an hour ago may be somebody else's by now",
			call("gitlab", gitlabPush, "Webhook-Id: a", "Webhook-Timestamp: "+old, "Webhook-Signature: "+standardSum("a", old, gitlabPush)), 401, "unauthorized",
		},
		"gitlab signed as another": {"the id is signed", call("gitlab", gitlabPush, "Webhook-Id: b", "Webhook-Timestamp: "+at, "Webhook-Signature: "+standardSum("a", at, gitlabPush)), 401, "unauthorized"},
		"gitlab note":              {"not a push", call("gitlab", `{"object_kind": "note"}`, "X-Gitlab-Token: "+secret), 202, "ignored"},
		"gitlab merge":             {"a merge request may have another head", call("gitlab", `{"object_kind": "merge_request"}`, "X-Gitlab-Token: "+secret), 202, "accepted"},
		"github pull request":      {"a pull request may have another head", call("github", githubPush, "X-GitHub-Event: pull_request", "X-Hub-Signature-256: sha256="+sum(secret, githubPush)), 202, "accepted"},
		"gitea pull request": {
			"of another repository", call("gitea", pullElsewhere, "X-Gitea-Event: pull_request_sync", "X-Gitea-Signature: "+sum(secret, pullElsewhere)), 202, "ignored",
		},
		"gitea push":      {"its port is another one", call("gitea", giteaPush, "X-Gitea-Event: push", "X-Gitea-Signature: "+sum(secret, giteaPush)), 202, "accepted"},
		"forgejo push":    {"the header of Forgejo", call("gitea", giteaPush, "X-Forgejo-Event: push", "X-Forgejo-Signature: "+sum(secret, giteaPush)), 202, "accepted"},
		"gitea wrong":     {"another secret", call("gitea", giteaPush, "X-Gitea-Event: push", "X-Gitea-Signature: "+sum("guess", giteaPush)), 401, "unauthorized"},
		"bitbucket cloud": {"of bitbucket.org", call("bitbucket", cloudPush, "X-Event-Key: repo:push", "X-Hub-Signature: sha256="+sum(secret, cloudPush)), 202, "accepted"},
		"bitbucket cloud deleted": {
			"a branch that is gone moved too",
			signedBitbucket("repo:push", change(`"new": {"type": "branch", "name": "main",
		"target": {"hash": "709d6582"}}`, `"new": null`).Replace(cloudPush)), 202, "accepted",
		},
		"bitbucket cloud other":   {"another branch", signedBitbucket("repo:push", change(`"name": "main"`, `"name": "fairlead/status"`).Replace(cloudPush)), 202, "ignored"},
		"bitbucket data center":   {"by key and slug", signedBitbucket("repo:refs_changed", centerPush), 202, "accepted"},
		"bitbucket ping":          {"its test connection", signedBitbucket("diagnostics:ping", `{"test":true}`), 200, "ping"},
		"bitbucket wrong":         {"another secret", call("bitbucket", cloudPush, "X-Event-Key: repo:push", "X-Hub-Signature: sha256="+sum("guess", cloudPush)), 401, "unauthorized"},
		"generic":                 {"any body will do", call("generic", "pushed", "Content-Type: text/plain", "X-Signature: sha256="+sum(secret, "pushed")), 202, "accepted"},
		"generic wrong":           {"another secret", call("generic", "pushed", "X-Signature: sha256="+sum("guess", "pushed")), 401, "unauthorized"},
		"generic unknown":         {"no such algorithm", call("generic", "pushed", "X-Signature: md5="+sum(secret, "pushed")), 401, "unauthorized"},
		"another repository":      {"nothing of ours", signedGitHub(change("team/fleet", "team/other").Replace(githubPush)), 202, "ignored"},
		"another branch":          {"nothing of ours", signedGitHub(change("refs/heads/main", "refs/heads/next").Replace(githubPush)), 202, "ignored"},
		"a tag":                   {"nothing of ours", signedGitHub(change("refs/heads/main", "refs/tags/main").Replace(githubPush)), 202, "ignored"},
		"the status branch":       {"our own push", signedGitHub(change("refs/heads/main", "refs/heads/fairlead/status").Replace(githubPush)), 202, "ignored"},
		"the forge's other host":  {"a forge has several names", signedGitHub(change("git.example.com", "forge.internal:3000").Replace(githubPush)), 202, "accepted"},
		"other case":              {"forges do not tell case apart", signedGitHub(change("team/fleet", "Team/Fleet").Replace(githubPush)), 202, "accepted"},
		"an address of a payload": {"it is compared and never called", signedGitHub(change("https://git.example.com/team/fleet.git", "http://127.0.0.1:1/team/fleet").Replace(githubPush)), 202, "accepted"},
		"get":                     {"only POST", httptest.NewRequest("GET", "/hook/github", nil), 405, "malformed"},
		"xml":                     {"another content type", call("github", githubPush, "Content-Type: text/xml"), 415, "malformed"},
		"gitea form":              {"only GitHub's forms are read", call("gitea", form, "Content-Type: application/x-www-form-urlencoded"), 415, "malformed"},
	} {
		t.Run(name, func(t *testing.T) {
			h, did := listening(t, func(o *Options) {
				o.Secrets.files["gitlab"] = append(o.Secrets.files["gitlab"], filepath.Join(t.TempDir(), "signing"))
				if err := os.WriteFile(o.Secrets.files["gitlab"][1], []byte(standardKey), 0o600); err != nil {
					t.Fatal(err)
				}
			})
			kind := strings.TrimPrefix(tc.call.URL.Path, "/hook/")
			code, text := serve(h, tc.call)
			polls, results := did.count()
			if code != tc.code || results[kind+" "+tc.result] != 1 || len(results) != 1 {
				t.Errorf("%s: got %d %q and results %v, want %d and %q", tc.reason, code, text, results, tc.code, tc.result)
			}
			if want := tc.result == "accepted"; (polls == 1) != want {
				t.Errorf("%s: %d polls for a call that is %s", tc.reason, polls, tc.result)
			}
		})
	}
}

// pullElsewhere is of a pull request of another repository.
const pullElsewhere = `{"action": "synchronized", "repository": {"full_name": "someone/else", "clone_url": "https://git.example.com/someone/else.git"}}`

func signedGitHub(body string) *http.Request {
	return call("github", body, "X-GitHub-Event: push", "X-Hub-Signature-256: sha256="+sum(secret, body))
}

func signedBitbucket(key, body string) *http.Request {
	return call("bitbucket", body, "X-Event-Key: "+key, "X-Hub-Signature: sha256="+sum(secret, body))
}

func TestUnknownPaths(t *testing.T) {
	h, did := listening(t, func(o *Options) { delete(o.Secrets.files, "gitea") })
	for _, path := range []string{"/", "/hook/", "/hook", "/github", "/hook/gogs", "/hook/github/x", "/hook/gitea"} {
		if code, _ := serve(h, httptest.NewRequest("POST", path, nil)); code != 404 {
			t.Errorf("%s: got %d, want 404", path, code)
		}
	}
	if _, results := did.count(); len(results) != 1 || results["none not_found"] != 7 {
		t.Errorf("counted %v, want all of them under one name: a path is chosen by who calls", results)
	}
}

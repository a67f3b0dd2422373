package wiring

import (
	"errors"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"fairlead.dev/agent/secrets/credentials"
	"fairlead.dev/fleet"
	"fairlead.dev/sources"
	"fairlead.dev/test/run/needs"
)

// Safety: who writes fleet.yaml chooses no credential: each goes to the sources that
// whoever runs the agent gave it for, and that of the fleet to none of them.
func TestPinnedCredentials(t *testing.T) {
	guarded, other := newPinnedServer(t, "guarded-secret"), newPinnedServer(t, "")
	commit, elsewhere := guarded.push("1"), other.push("2")
	fleetToken := folderWith(t, map[string]string{"token": "fleet-secret"})
	s := Settings{
		Source: other.url, Credentials: credentials.Files{Dir: fleetToken, TokenFile: filepath.Join(fleetToken, "token")},
		AllowedSources: []AllowedSource{
			{Prefix: strings.TrimSuffix(guarded.url, "/bases.git"), Credentials: folderWith(t, map[string]string{"username": "u", "password": "guarded-secret"})},
			{Prefix: strings.TrimSuffix(other.url, "/platform/bases.git")},
		},
	}
	c := s.getPinned(t.Context(), guarded.pin(commit))
	if c.Err != nil {
		t.Fatal(c.Err)
	}
	if b, err := fs.ReadFile(c.Tree, "dev/c.yaml"); err != nil || string(b) != "1" {
		t.Errorf("got %q, %v", b, err)
	}
	if c = s.getPinned(t.Context(), other.pin(elsewhere)); c.Err != nil {
		t.Error(c.Err)
	}
	if _, secrets := other.seen(); len(secrets) > 0 {
		t.Errorf("a server that no credential is for was sent %q", secrets)
	}
	_, secrets := guarded.seen()
	for _, h := range secrets {
		if !strings.HasPrefix(h, "Basic dTpndWFyZGVkLXNlY3JldA") { // u:guarded-secret
			t.Errorf("the server was sent %q", h)
		}
	}
	if len(secrets) == 0 {
		t.Error("the credential was not used")
	}

	before, _ := other.seen()
	guarded.redirect = other.url
	if c = s.getPinned(t.Context(), guarded.pin(commit)); c.Err == nil {
		t.Error("a redirect to another server is followed with credentials")
	}
	after, secrets := other.seen()
	if after != before || len(secrets) > 0 {
		t.Errorf("another server was asked %d times, and sent %q", after-before, secrets)
	}
}

// Safety: nothing is asked of a server that is not allowed.
func TestPinnedMustBeAllowed(t *testing.T) {
	other := newPinnedServer(t, "")
	commit := other.push("1")
	host := strings.TrimSuffix(other.url, "/platform/bases.git")
	for _, prefix := range []string{host + "/plat", host + "/platform/bases/below", host + "0", "https" + strings.TrimPrefix(host, "http"), "oci" + strings.TrimPrefix(host, "http"), ""} {
		s := Settings{}
		if prefix != "" {
			a, err := ParseAllowedSource(prefix)
			if err != nil {
				t.Errorf("%s: %v", prefix, err)
				continue
			}
			s.AllowedSources = []AllowedSource{a}
		}
		c := s.getPinned(t.Context(), other.pin(commit))
		if fleet.KindOf(c.Err) != fleet.Invalid || !strings.Contains(c.Err.Error(), "--allow-source") {
			t.Errorf("%q allows it: %v", prefix, c.Err)
		}
	}
	if n, _ := other.seen(); n > 0 {
		t.Errorf("it was asked %d times", n)
	}
	for _, text := range []string{"", "=", "/srv/git", "file:///srv/git", "https://", "https://git.example.com=", "ftp://git.example.com"} {
		if _, err := ParseAllowedSource(text); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
	for prefix, urls := range map[string][]string{
		"https://git.example.com":           {"https://git.example.com/a/b", "https://GIT.example.com:443/a/b.git"},
		"https://git.example.com/a/":        {"https://git.example.com/a/b"},
		"https://git.example.com/a/b.git":   {"https://git.example.com/a/b", "https://git.example.com/a/b.git"},
		"git@git.example.com:a":             {"ssh://git@git.example.com/a/b", "git@git.example.com:a/b.git"},
		"oci://registry.example.com":        {"oci://registry.example.com/a/b"},
		"https://git.example.com/a=/secret": {"https://git.example.com/a/b"},
	} {
		a, err := ParseAllowedSource(prefix)
		if err != nil {
			t.Error(err)
		}
		for _, url := range urls {
			if _, err := (Settings{AllowedSources: []AllowedSource{a}}).allowed(url); err != nil {
				t.Errorf("%s: %v", prefix, err)
			}
		}
	}
}

// Safety: with trusted keys a pin counts as one of them signed it, the commit or the tag
// that it is found by.
func TestPinnedSignatures(t *testing.T) {
	needs.Program(t, "ssh-keygen", "apt-get install openssh-client")
	s := newPinnedServer(t, "")
	s.key = filepath.Join(t.TempDir(), "key")
	if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", s.key).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	unsigned, between, good := s.push("1"), s.push("between"), s.push("2", "--gpg-sign")
	s.git("-c", "gpg.format=ssh", "-c", "user.signingkey="+s.key, "tag", "--sign", "--message", "m", "v1", unsigned)
	s.git("tag", "light", good)
	s.git("tag", "elsewhere", good)
	s.git("push", "--quiet", s.bare, "v1", "light", "elsewhere")
	settings := Settings{AllowedSources: []AllowedSource{{Prefix: s.url}}}
	for name, tc := range map[string]struct {
		commit, tag string
		keys        []string
		refused     bool
	}{
		"no keys":                          {commit: unsigned},
		"an unsigned commit":               {commit: unsigned, keys: []string{s.key + ".pub"}, refused: true},
		"a signed commit":                  {commit: good, keys: []string{s.key + ".pub"}},
		"a signed tag":                     {commit: unsigned, tag: "v1", keys: []string{s.key + ".pub"}},
		"a signed commit, a light tag":     {commit: good, tag: "light", keys: []string{s.key + ".pub"}},
		"an unsigned commit, another tag":  {commit: unsigned, tag: "elsewhere", keys: []string{s.key + ".pub"}, refused: true},
		"an unsigned commit, no such tag":  {commit: unsigned, tag: "none", keys: []string{s.key + ".pub"}, refused: true},
		"a tag of another commit, no keys": {commit: unsigned, tag: "elsewhere"},
	} {
		t.Run(name, func(t *testing.T) {
			settings := settings
			settings.TrustedKeys = tc.keys
			pin := s.pin(tc.commit)
			pin.Tag = tc.tag
			c := settings.getPinned(t.Context(), pin)
			if tc.refused != (c.Err != nil) || tc.refused && !errors.Is(c.Err, sources.ErrUntrusted) {
				t.Fatalf("got %v", c.Err)
			}
			if tc.refused {
				return
			}
			want := map[string]string{unsigned: "1", good: "2"}[tc.commit]
			if b, err := fs.ReadFile(c.Tree, "dev/c.yaml"); err != nil || string(b) != want {
				t.Errorf("got %q, %v, want what the commit has", b, err)
			}
		})
	}

	// A server that gives only what its refs lead to gives it by the tag.
	s.git("--git-dir", s.bare, "config", "--unset", "uploadpack.allowAnySHA1InWant")
	for _, ref := range []string{"refs/heads/main", "refs/tags/light", "refs/tags/elsewhere"} {
		s.git("--git-dir", s.bare, "update-ref", "-d", ref)
	}
	c := settings.getPinned(t.Context(), s.pin(between))
	if c.Err == nil || fleet.KindOf(c.Err) == fleet.Invalid || !strings.Contains(c.Err.Error(), "name one that is at it as tag") {
		t.Errorf("got %v", c.Err)
	}
	pin := s.pin(unsigned)
	pin.Tag = "v1"
	if c = settings.getPinned(t.Context(), pin); c.Err != nil {
		t.Error(c.Err)
	}
	pin.Path = "none"
	if c = settings.getPinned(t.Context(), pin); fleet.KindOf(c.Err) != fleet.Invalid {
		t.Errorf("a folder that is not there: %v", c.Err)
	}
}

// A credential that cannot be read, as a Secret that is not mounted yet, refuses nothing
// for good.
func TestPinnedCredentialsThatCome(t *testing.T) {
	s := Settings{AllowedSources: []AllowedSource{{Prefix: "https://git.example.invalid", Credentials: filepath.Join(t.TempDir(), "none")}}}
	c := s.getPinned(t.Context(), fleet.PinnedSource{Name: "p", URL: "https://git.example.invalid/p", Commit: strings.Repeat("a", 40)})
	if fleet.KindOf(c.Err) != fleet.Unauthorized {
		t.Errorf("got %v", c.Err)
	}
}

// The home that an agent moves to pins what it did, and is not moved to without the
// credentials for that.
func TestPinnedSourcesMoveAlong(t *testing.T) {
	s := Settings{Source: "https://git.example.com/fleet", AllowedSources: []AllowedSource{{Prefix: "https://git.example.com/platform"}}}
	o, err := s.HomeOptions(Installation{Version: "1.0.0"})
	if err != nil {
		t.Fatal(err)
	}
	if args, _ := o.Release.Values["extraArgs"].([]any); len(args) != 1 || args[0] != "--allow-source=https://git.example.com/platform" {
		t.Errorf("got %v", o.Release.Values["extraArgs"])
	}
	s.AllowedSources[0].Credentials = t.TempDir()
	if _, err := s.HomeOptions(Installation{Version: "1.0.0"}); err == nil || !strings.Contains(err.Error(), "do not go along") {
		t.Errorf("got %v", err)
	}
}

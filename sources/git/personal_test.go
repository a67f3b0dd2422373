package git

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
	"fairlead.dev/test/run/needs"
)

// TestPersonal: a URL is shown what git and OpenSSH would show it on this computer, and no
// other's.
func TestPersonal(t *testing.T) {
	home := t.TempDir()
	config := filepath.Join(home, "gitconfig")
	helper := "[credential \"https://git.example.com\"]\n\thelper = \"!f() { test $1 = get && echo username=me && echo password=secret; }; f\"\n" +
		"[credential \"http://git.example.com\"]\n\thelper = \"!f() { echo username=me; echo password=secret; }; f\"\n"
	for name, content := range map[string]string{config: helper, filepath.Join(home, ".ssh", "known_hosts"): "hosts", filepath.Join(home, ".ssh", "id_ed25519"): "key"} {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("HOME", home)
	t.Setenv("GIT_CONFIG_GLOBAL", config)
	t.Setenv("GIT_CONFIG_SYSTEM", os.DevNull)
	type shown struct{ User, Password, Key, Agent string }
	for name, tc := range map[string]struct {
		reason, url, agent string
		want               shown
	}{
		"helper":     {"a credential helper knows the host", "https://git.example.com/fleet.git", "", shown{User: "me", Password: "secret"}},
		"other host": {"nothing is known, and nobody is asked", "https://other.example.com/fleet.git", "", shown{}},
		"in clear":   {"no credential is looked for that may not be sent", "http://git.example.com/fleet.git", "", shown{}},
		"in the URL": {"a password in the URL is nearer", "https://bot:p@git.example.com/fleet.git", "", shown{}},
		"key":        {"without an agent", "git@git.example.com:fleet.git", "", shown{Key: "key"}},
		"agent":      {"an ssh-agent is nearer than a file", "git@git.example.com:fleet.git", "/run/agent", shown{Agent: "/run/agent"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("SSH_AUTH_SOCK", tc.agent)
			o := Options{URL: tc.url}
			if err := Personal(&o); err != nil {
				t.Fatal(err)
			}
			got := shown{o.Auth.Username, string(o.Auth.Password.Reveal()), string(o.Auth.Key.Reveal()), o.Auth.Agent}
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Errorf("%s: (-want +got)\n%s", tc.reason, d)
			}
		})
	}
}

// TestPersonalSSHConfig: a host of ~/.ssh/config is reached as OpenSSH reaches it.
func TestPersonalSSHConfig(t *testing.T) {
	needs.Program(t, "ssh", "apt-get install openssh-client")
	home := t.TempDir()
	work := filepath.Join(home, ".ssh", "work")
	for name, content := range map[string]string{
		work: "work key", filepath.Join(home, ".ssh", "known_hosts"): "hosts", filepath.Join(home, ".ssh", "id_ed25519"): "own key",
		filepath.Join(home, ".ssh", "config"): "Host git-work\n  HostName git.example.com\n  Port 2222\n  User git\n  IdentityFile " + work + "\n  IdentitiesOnly yes\n" +
			"Host behind\n  ProxyJump door.example.com\n",
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("HOME", home)
	t.Setenv("SSH_AUTH_SOCK", "/run/agent")
	type reached struct{ Address, User, Key, Agent string }
	for url, want := range map[string]reached{
		"git-work:team/fleet.git":                {"git.example.com:2222", "git", "work key", "/run/agent"},
		"git@git-work:team/fleet.git":            {"git.example.com:2222", "", "work key", "/run/agent"},
		"ssh://git@other.example.com:2022/fleet": {"other.example.com:2022", "", "", "/run/agent"},
		"git@other.example.com:team/fleet.git":   {"other.example.com:22", "", "", "/run/agent"},
		"ssh://deploy@git-work/team/fleet.git":   {"git.example.com:2222", "", "work key", "/run/agent"},
	} {
		o := Options{URL: url}
		if err := Personal(&o); err != nil {
			t.Errorf("%s: %v", url, err)
			continue
		}
		if d := cmp.Diff(want, reached{o.Address, o.Auth.Username, string(o.Auth.Key.Reveal()), o.Auth.Agent}); d != "" {
			t.Errorf("%s (-want +got)\n%s", url, d)
		}
	}
	if err := Personal(&Options{URL: "behind:fleet.git"}); fleet.KindOf(err) != fleet.Invalid || !strings.Contains(err.Error(), "door.example.com") {
		t.Errorf("a host behind another one: %v", err)
	}
}

package wiring

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"fairlead.dev/agent"
	"fairlead.dev/agent/observability/metrics"
	"fairlead.dev/sources"
	"fairlead.dev/sources/git/gitserver"
	"fairlead.dev/test/run/needs"
	"fairlead.dev/test/run/waits"
)

// A forge is a real Git server behind something that may answer badly, and a clone
// that people push from.
type forge struct {
	t    *testing.T
	url  string
	bare string
	work string
	bad  atomic.Pointer[http.HandlerFunc] // answers requests for packs in place of Git
	seen atomic.Int32                     // requests that it answered
}

func newForge(t *testing.T) *forge {
	t.Helper()
	f := &forge{t: t, work: t.TempDir()}
	s, err := gitserver.New(t.TempDir(), gitserver.Options{Before: func(w http.ResponseWriter, r *http.Request) bool {
		bad := f.bad.Load()
		if bad == nil || !strings.HasSuffix(r.URL.Path, "/git-upload-pack") {
			return false
		}
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		if bytes.Contains(body, []byte("command=ls-refs")) { // a list, and no pack
			return false
		}
		f.seen.Add(1)
		(*bad)(w, r)
		return true
	}})
	if err != nil {
		t.Fatal(err)
	}
	if f.bare, err = s.Init("fleet.git"); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	f.url = server.URL + "/fleet.git"
	f.git("init", "--quiet", "--initial-branch=main", f.work)
	return f
}

// git runs git in the clone, and returns what it says.
func (f *forge) git(args ...string) string {
	f.t.Helper()
	cmd := exec.Command("git", append([]string{"-C", f.work, "-c", "user.name=a", "-c", "user.email=a@b"}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull)
	out, err := cmd.CombinedOutput()
	if err != nil {
		f.t.Fatalf("git %v: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// push makes content the file called name on main, and returns the commit.
func (f *forge) push(name, content string) string {
	f.t.Helper()
	file := filepath.Join(f.work, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		f.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		f.t.Fatal(err)
	}
	f.git("add", "-A")
	f.git("commit", "--quiet", "-m", "change "+name)
	f.git("push", "--quiet", f.bare, "HEAD:refs/heads/main")
	return f.git("rev-parse", "HEAD")
}

// agent runs an agent on the forge until the test ends.
func (f *forge) agent(change func(*Settings)) *agent.Agent {
	f.t.Helper()
	s := Settings{Built: builtIn(), Source: f.url, Ref: "main", Secrets: f.t.TempDir(), StatusInterval: 10 * time.Millisecond, Log: slog.New(slog.DiscardHandler)}
	if change != nil {
		change(&s)
	}
	ctx, cancel := context.WithCancel(f.t.Context())
	m := metrics.New("v0")
	w, err := OpenRuntime(ctx, s, ReadWrite, m)
	if err != nil {
		f.t.Fatal(err)
	}
	a, err := NewAgent(s, agent.Options{Name: "fairlead", Interval: time.Second, Resync: time.Minute, Workers: 1, StatusBranch: "fairlead/status"}, w, m)
	if err != nil {
		f.t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	f.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			f.t.Error(err)
		}
		w.Close()
	})
	return a
}

// until waits until the status branch tells of the fleet what is wanted.
func (f *forge) until(what string, wanted func(sources.FleetStatus) bool) {
	f.t.Helper()
	var last sources.FleetStatus
	for deadline := time.Now().Add(waits.Limit); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		s, err := Settings{Source: f.bare}.ReadStatus(f.t.Context(), "fairlead/status")
		if err != nil {
			f.t.Fatal(err)
		}
		if last = s.Fleet; wanted(last) {
			return
		}
	}
	f.t.Fatalf("the status branch never told %s; at last %+v", what, last)
}

// holds waits until the agent holds to a commit without problems.
func (f *forge) holds(commit string) {
	f.t.Helper()
	f.until("that the agent holds to "+commit, func(s sources.FleetStatus) bool {
		return s.Revision.Hash() == commit && len(s.Problems) == 0
	})
}

const fleetFile = "apiVersion: fairlead.dev/v1alpha1\nkind: Fleet\nmetadata: {name: f}\n"

// What comes from the wire is no verdict on a revision: it is told as what it is, and
// the revision is followed as soon as the server gives it.
func TestOnlyContentRefusesARevision(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		tells  string
	}{
		"a replica that has not seen the push": {func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "no such thing here", http.StatusNotFound)
		}, "no such thing here"},
		"a replica with another tip": {func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			_, want, _ := strings.Cut(string(body), "want ")
			line := "ERR upload-pack: not our ref " + want[:40]
			w.Header().Set("Content-Type", "application/x-git-upload-pack-result")
			fmt.Fprintf(w, "%04x%s", len(line)+4, line)
		}, "not our ref"},
		"a login page": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			fmt.Fprint(w, "<html><head><title>Sign in to\n Example &amp; Co</title></head>"+strings.Repeat("<p>x", 50_000))
		}, `"Sign in to Example & Co"`},
		"a proxy's page": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(http.StatusBadGateway)
			fmt.Fprint(w, "<html><title>nginx says no</title><body>object is forbidden</body>")
		}, "nginx says no (HTTP 502 Bad Gateway)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newForge(t)
			f.agent(nil)
			f.holds(f.push("fleet.yaml", fleetFile))
			f.bad.Store(&c.answer)
			next := f.push("README", "news\n")
			f.until("what is wrong", func(s sources.FleetStatus) bool {
				return s.Revision.Hash() == next && len(s.Problems) == 1 && strings.Contains(s.Problems[0].Message, c.tells) &&
					!strings.Contains(s.Problems[0].Message, "<")
			})
			f.bad.Store(nil)
			f.holds(next)
		})
	}
	t.Run("a push that is taken back meanwhile", func(t *testing.T) {
		t.Parallel()
		f := newForge(t)
		f.agent(nil)
		first := f.push("fleet.yaml", fleetFile)
		f.holds(first)
		answer := http.HandlerFunc(http.NotFound)
		f.bad.Store(&answer)
		next := f.push("README", "news\n")
		f.until("what is wrong", func(s sources.FleetStatus) bool { return s.Revision.Hash() == next && len(s.Problems) == 1 })
		f.git("push", "--quiet", "--force", f.bare, first+":refs/heads/main")
		f.holds(first)
	})
}

// A person signs what she pushes, and asks.
type person struct {
	*forge
	key string
}

func newPerson(t *testing.T, f *forge) *person {
	t.Helper()
	needs.Program(t, "ssh-keygen", "apt-get install openssh-client")
	p := &person{forge: f, key: filepath.Join(t.TempDir(), "ada")}
	if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "ada", "-f", p.key).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	f.git("config", "gpg.format", "ssh")
	f.git("config", "user.signingKey", p.key)
	return p
}

func (p *person) signs(yes bool) { p.git("config", "commit.gpgSign", strconv.FormatBool(yes)) }

func (p *person) trusted(s *Settings) { s.TrustedKeys = []string{p.key + ".pub"} }

// Whoever may push and has no key makes the agent follow nothing that was once signed,
// nor anything under a signed commit, before and after a restart.
func TestSignedHistoryIsNotRewound(t *testing.T) {
	t.Parallel()
	f := newForge(t)
	ada := newPerson(t, f)
	ada.signs(true)
	first := f.push("fleet.yaml", fleetFile)
	second := f.push("README", "two\n")
	refused := func(words string) func(sources.FleetStatus) bool {
		return func(s sources.FleetStatus) bool {
			return len(s.Problems) == 1 && strings.Contains(s.Problems[0].Message, words) && s.Applied.Hash() == second
		}
	}
	home := t.TempDir()
	again := func(s *Settings) { ada.trusted(s); s.Secrets = home }
	t.Run("Before", func(t *testing.T) {
		f.t = t
		f.agent(again)
		f.holds(second)
		f.git("push", "--quiet", "--force", f.bare, first+":refs/heads/main")
		f.until("that the rewind is refused", refused("does not continue commit "+second))
	})
	f.t = t
	f.agent(again)
	ada.signs(false)
	slipped := f.push("README", "slipped in\n")
	f.until("that what nobody signed is refused", refused("it is not signed"))
	ada.signs(true)
	f.push("README", "on top\n")
	f.until("that what is on top of it is refused", refused("commit "+slipped+" came before it"))
	f.git("commit", "--quiet", "--allow-empty", "-m", "I read it\n\nFairlead-Replaces: "+second)
	f.git("push", "--quiet", f.bare, "HEAD:refs/heads/main")
	f.holds(f.git("rev-parse", "HEAD"))
}

// A commit that was refused for its key is followed once the key is trusted.
func TestKeyThatComesLater(t *testing.T) {
	t.Parallel()
	f := newForge(t)
	ada, bob := newPerson(t, f), newPerson(t, f)
	f.git("config", "user.signingKey", ada.key)
	ada.signs(true)
	keys := t.TempDir()
	trust := func(p *person, name string) {
		public, err := os.ReadFile(p.key + ".pub")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(keys, name), public, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	trust(ada, "ada")
	first := f.push("fleet.yaml", fleetFile)
	f.agent(func(s *Settings) { s.TrustedKeys = []string{keys} })
	f.holds(first)
	f.git("config", "user.signingKey", bob.key)
	next := f.push("README", "bob's\n")
	f.until("that bob's key is not trusted", func(s sources.FleetStatus) bool {
		return len(s.Problems) == 1 && strings.Contains(s.Problems[0].Message, "a key that is not trusted")
	})
	trust(bob, "bob")
	f.holds(next)
}

// TestKeyThatIsWithdrawn: what a withdrawn key signed, or one that expires soon, is told while the
// agent runs, since an agent that starts then follows nothing. Clusters stay held to it.
func TestKeyThatIsWithdrawn(t *testing.T) {
	t.Parallel()
	f := newForge(t)
	ada, bob := newPerson(t, f), newPerson(t, f)
	f.git("config", "user.signingKey", ada.key)
	ada.signs(true)
	keys := t.TempDir()
	trust := func(option string, people ...*person) {
		var lines strings.Builder
		for _, p := range people {
			public, err := os.ReadFile(p.key + ".pub")
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&lines, "%s%s", option, public)
		}
		if err := os.WriteFile(filepath.Join(keys, "keys"), []byte(lines.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	trust("", ada, bob)
	first := f.push("fleet.yaml", fleetFile)
	f.agent(func(s *Settings) { s.TrustedKeys = []string{keys} })
	f.holds(first)
	told := func(words string) func(sources.FleetStatus) bool {
		return func(s sources.FleetStatus) bool {
			return len(s.Problems) == 1 && strings.Contains(s.Problems[0].Message, words) && s.Applied.Hash() == first
		}
	}
	soon := time.Now().Add(3 * 24 * time.Hour).UTC()
	trust(`expiry-time="`+soon.Format("20060102")+`Z" `, ada, bob)
	f.until("that the key expires soon", told("expires at "+soon.Format(time.DateOnly)))
	trust("", bob)
	f.until("that the key is withdrawn", told("no trusted key vouches any more"))
	trust("", ada, bob)
	f.until("that the key is trusted again", func(s sources.FleetStatus) bool { return len(s.Problems) == 0 })
}

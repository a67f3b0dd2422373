package git

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fairlead.dev/fleet"
)

// person has a clone of a new repository, whose branch main is pushed, and the folder above both.
func person(t *testing.T) (clone WorkingTree, folder string) {
	t.Helper()
	folder = t.TempDir()
	for name, value := range map[string]string{"HOME": folder, "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": filepath.Join(folder, "none"), "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b"} {
		t.Setenv(name, value)
	}
	clone = WorkingTree(filepath.Join(folder, "clone"))
	if err := os.Mkdir(string(clone), 0o750); err != nil {
		t.Fatal(err)
	}
	command(t, string(clone), "init", "--quiet", "--bare", "--initial-branch=main", filepath.Join(folder, "fleet.git"))
	command(t, string(clone), "init", "--quiet", "--initial-branch=main")
	command(t, string(clone), "remote", "add", "origin", filepath.Join(folder, "fleet.git"))
	command(t, string(clone), "commit", "--quiet", "--allow-empty", "--message", "first")
	command(t, string(clone), "push", "--quiet", "--set-upstream", "origin", "main")
	return clone, folder
}

func command(t *testing.T, folder string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "git", append([]string{"-C", folder}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v: %s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// TestPushGoesToTheBranch: a person's configuration sends what is pushed to no other branch.
func TestPushGoesToTheBranch(t *testing.T) {
	for name, config := range map[string][][]string{
		"none":     {},
		"upstream": {{"push.default", "upstream"}, {"branch.main.merge", "refs/heads/other"}},
		"mapped":   {{"remote.origin.push", "refs/heads/main:refs/heads/other"}},
		"matching": {{"push.default", "matching"}},
		"nothing":  {{"push.default", "nothing"}},
		"elsewhere": {
			{"remote.pushDefault", "nowhere"}, {"branch.main.pushRemote", "nowhere"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			clone, _ := person(t)
			for _, c := range config {
				command(t, string(clone), append([]string{"config"}, c...)...)
			}
			command(t, string(clone), "commit", "--quiet", "--allow-empty", "--message", "second")
			if err := clone.Push(t.Context(), "main"); err != nil {
				t.Fatal(err)
			}
			head, _ := clone.Commit(t.Context(), "HEAD")
			if got := command(t, string(clone), "ls-remote", "--heads", "origin"); got != head+"\trefs/heads/main" {
				t.Errorf("%s has\n%s, and the commit is %s", "origin", got, head)
			}
		})
	}
}

// TestPushedToIsWherePushesGo: each address that git pushes to counts, as git writes it, by the person's
// configuration.
func TestPushedToIsWherePushesGo(t *testing.T) {
	const fork = "https://git.example.com/mallory/fleet.git"
	for name, c := range map[string]struct {
		config [][]string
		want   []string
	}{
		"push URL":        {[][]string{{"remote.origin.pushurl", fork}}, []string{fork}},
		"several":         {[][]string{{"remote.origin.pushurl", "git@git.example.com:team/fleet.git"}, {"--add", "remote.origin.pushurl", fork}}, []string{"git@git.example.com:team/fleet.git", fork}},
		"two URLs":        {[][]string{{"remote.origin.url", "https://git.example.com/team/fleet"}, {"--add", "remote.origin.url", fork}}, []string{"https://git.example.com/team/fleet", fork}},
		"insteadOf":       {[][]string{{"remote.origin.url", "gh:team/fleet"}, {"url.https://git.example.com/mallory/.insteadOf", "gh:team/"}}, []string{"https://git.example.com/mallory/fleet"}},
		"pushInsteadOf":   {[][]string{{"remote.origin.url", "https://git.example.com/team/fleet.git"}, {"url.https://git.example.com/mallory/.pushInsteadOf", "https://git.example.com/team/"}}, []string{fork}},
		"ssh for pushing": {[][]string{{"remote.origin.url", "https://git.example.com/team/fleet.git"}, {"url.ssh://git@git.example.com/.pushInsteadOf", "https://git.example.com/"}}, []string{"ssh://git@git.example.com/team/fleet.git"}},
		"a slash":         {[][]string{{"remote.origin.url", "https://git.example.com/team/fleet/"}}, []string{"https://git.example.com/team/fleet/"}},
	} {
		t.Run(name, func(t *testing.T) {
			clone, _ := person(t)
			for _, one := range c.config {
				command(t, string(clone), append([]string{"config"}, one...)...)
			}
			if got, err := clone.PushedTo(t.Context()); err != nil || !slices.Equal(got, c.want) {
				t.Errorf("pushed to %q, want %q: %v", got, c.want, err)
			}
		})
	}
}

// TestCleanBeforeGoingBack: what is not committed is lost by no rollback.
func TestCleanBeforeGoingBack(t *testing.T) {
	clone, _ := person(t)
	file := filepath.Join(string(clone), "fleet.yaml")
	if err := os.WriteFile(file, []byte("a"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := clone.Clean(t.Context()); err != nil {
		t.Errorf("a new file: %v", err)
	}
	command(t, string(clone), "add", ".")
	if err := clone.Clean(t.Context()); err == nil {
		t.Error("a file that is not committed yet is clean")
	}
	command(t, string(clone), "commit", "--quiet", "--message", "it")
	if err := os.WriteFile(file, []byte("b"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := clone.Clean(t.Context()); err == nil {
		t.Error("a changed file is clean")
	}
}

// TestShare: a repository that reads the objects of a clone has its commits, also of a shallow one. A clone that leaves
// out objects is refused.
func TestShare(t *testing.T) {
	clone, folder := person(t)
	command(t, string(clone), "commit", "--quiet", "--allow-empty", "--message", "second")
	command(t, string(clone), "push", "--quiet", "origin", "main")
	shallow := WorkingTree(filepath.Join(folder, "shallow"))
	command(t, folder, "clone", "--quiet", "--depth", "1", "file://"+filepath.Join(folder, "fleet.git"), string(shallow))
	for of, want := range map[WorkingTree]string{clone: "2", shallow: "1"} {
		head, err := of.Commit(t.Context(), "HEAD")
		if err != nil {
			t.Fatal(err)
		}
		at := t.TempDir()
		if err := of.Share(t.Context(), at, head); err != nil {
			t.Fatal(err)
		}
		if n := command(t, at, "rev-list", "--count", "main"); n != want {
			t.Errorf("%s: %s commits are shared, want %s", of, n, want)
		}
	}
	command(t, string(clone), "config", "extensions.partialClone", "origin")
	if err := clone.Share(t.Context(), t.TempDir(), "HEAD"); fleet.KindOf(err) != fleet.Unavailable {
		t.Errorf("a partial clone: %v", err)
	}
}

// TestRevisionsOfAClone: a revision is a commit, and nothing is committed where nothing is to go back.
func TestRevisionsOfAClone(t *testing.T) {
	clone, _ := person(t)
	for _, rev := range []string{"HEAD^{tree}", "--all", "nope", ""} {
		if got, err := clone.Commit(t.Context(), rev); err == nil {
			t.Errorf("%q is %s", rev, got)
		}
	}
	if _, err := clone.Commit(t.Context(), "main"); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(string(clone), "fleet.yaml"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	command(t, string(clone), "add", ".")
	command(t, string(clone), "commit", "--quiet", "--message", "second")
	if _, err := clone.GoBack(t.Context(), "HEAD", ".", "back"); fleet.KindOf(err) != fleet.NotFound {
		t.Errorf("back to the same: %v", err)
	}
	if n := command(t, string(clone), "rev-list", "--count", "HEAD"); n != "2" {
		t.Errorf("%s commits", n)
	}
}

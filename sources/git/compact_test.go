package git_test

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
	"fairlead.dev/sources/git"
	"fairlead.dev/sources/git/gitserver"
)

// lived returns a branch with so many commits, each a minute after the one before, that
// change some of ten files, and its head.
func lived(t *testing.T, p *place, commits int) (*git.Branch, fleet.Revision) {
	t.Helper()
	return branch(t, git.Options{URL: p.url}), p.live(commits)
}

// live adds so many commits to the branch, and returns its head.
func (p *place) live(commits int) fleet.Revision {
	p.t.Helper()
	random := rand.New(rand.NewPCG(uint64(commits), 2))
	var in strings.Builder
	from, at := "", clock().Unix()
	if out, err := exec.Command("git", "-C", p.bare, "log", "-1", "--format=%H %ct", "fairlead/status").Output(); err == nil {
		fmt.Sscanf(string(out), "%s %d", &from, &at)
	}
	data := func(format string, args ...any) {
		text := fmt.Sprintf(format, args...)
		fmt.Fprintf(&in, "data %d\n%s\n", len(text), text)
	}
	for i := range commits {
		at += 60
		fmt.Fprintf(&in, "commit refs/heads/fairlead/status\nauthor A%d <a@b> %d +0100\ncommitter Fairlead <fairlead@fairlead.dev> %d +0000\n", i, at-5, at)
		data("change %d of %d\n\nFairlead-Agent: me\n", i, commits)
		if i == 0 && from != "" {
			fmt.Fprintf(&in, "from %s\n", from)
		}
		in.WriteString("M 100644 inline fleet.yaml\n")
		data("at %d of %d\n", i, commits)
		for range 1 + random.IntN(2) {
			fmt.Fprintf(&in, "M 100644 inline clusters/%s/eu-%d.yaml\n", []string{"dev", "prod"}[random.IntN(2)], random.IntN(5))
			data("%d of %d\n", i, commits)
		}
	}
	p.run(in.String(), "git", "-C", p.bare, "fast-import", "--quiet", "--force")
	return fleet.Revision{Ref: "fairlead/status", Digest: "sha1:" + p.git("rev-parse", "fairlead/status")}
}

// stories returns for each file what git log says of its last commit.
func (p *place) stories() map[string]string {
	p.t.Helper()
	out := map[string]string{}
	for f := range strings.FieldsSeq(p.git("ls-tree", "-r", "--name-only", "fairlead/status")) {
		out[f] = p.git("log", "-1", "--format=%an <%ae> %aI %cI %s %b", "fairlead/status", "--", f)
	}
	return out
}

func compaction(commits int) sources.Compaction {
	return sources.Compaction{Bound: fleet.HistoryBound{Commits: commits}, Now: clock(), Message: "history: compacted", Trailers: []string{"Fairlead-Agent: me"}}
}

func sameStories(t *testing.T, want, got map[string]string) {
	t.Helper()
	for f, story := range want {
		if got[f] != story {
			t.Errorf("git log of %s begins with\n%s\nand was\n%s", f, got[f], story)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d files, want %d", len(got), len(want))
	}
}

// A compacted history has the same content, the newest commits, and the last commit of each
// file. It can be compacted again, with later commits, on servers that can leave out
// content and on others.
func TestCompact(t *testing.T) {
	for name, filter := range map[string]string{"without filters": "false", "with filters": "true"} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t, gitserver.Options{})
			p.git("config", "uploadpack.allowFilter", filter)
			b, head := lived(t, p, 70)
			for round, commits := range []int{20, 5} {
				want, tree, before := p.stories(), p.git("rev-parse", "fairlead/status^{tree}"), p.git("log", "--format=%s", "-5", "fairlead/status")
				cut := p.git("log", "--first-parent", "--format=%ct", "-1", fmt.Sprint("--skip=", commits), "fairlead/status")
				next, h, err := b.Compact(t.Context(), head, compaction(commits))
				if err != nil {
					t.Fatal(err)
				}
				if got := "sha1:" + p.git("rev-parse", "fairlead/status"); next.Digest != got || next == head {
					t.Fatalf("compacted to %s, the branch is at %s", next.Digest, got)
				}
				if got := p.git("rev-parse", "fairlead/status^{tree}"); got != tree {
					t.Errorf("round %d: the content is another", round)
				}
				sameStories(t, want, p.stories())
				if got := p.git("log", "--format=%s", "-5", "--skip=1", "fairlead/status"); got != before {
					t.Errorf("the newest commits are\n%s\nwant\n%s", got, before)
				}
				if n := len(strings.Fields(p.git("log", "--first-parent", "--format=%h", "--max-count="+fmt.Sprint(commits+2), "--min-parents=1", "--max-parents=1", "fairlead/status"))); n < commits+1 || h.Commits != commits+1 {
					t.Errorf("%d commits are left, %d are told", n, h.Commits)
				}
				p.git("fsck", "--strict")
				if got := p.git("log", "--first-parent", "--grep=^history: what was before", "--format=%ct", "-1", "fairlead/status"); got != cut {
					t.Errorf("round %d: what was before stands at %s, the commit that it is for at %s", round, got, cut)
				}
				again, _, err := b.Compact(t.Context(), next, compaction(commits))
				if err != nil || again != next {
					t.Errorf("what is within its bound is compacted: %v, %v", again, err)
				}
				head = p.live(40 + round)
			}
			// Old objects are removed from the server.
			p.git("reflog", "expire", "--expire=now", "--all")
			p.git("gc", "--quiet", "--prune=now")
			if n := p.git("rev-list", "--count", "fairlead/status"); len(n) > 3 || n > "99" {
				t.Errorf("%s commits are left", n)
			}
		})
	}
}

// The last commits of many files are merged in groups of fifty.
func TestCompactManyFiles(t *testing.T) {
	p := newPlace(t, gitserver.Options{})
	var in strings.Builder
	for i := range 130 {
		fmt.Fprintf(&in, "commit refs/heads/fairlead/status\ncommitter a <a@b> %d +0000\ndata 3\n%03d\nM 100644 inline clusters/prod/%03d.yaml\ndata 3\n%03d\n", clock().Unix()+int64(i), i, i, i)
	}
	p.run(in.String(), "git", "-C", p.bare, "fast-import", "--quiet")
	head := p.live(10)
	if _, _, err := branch(t, git.Options{URL: p.url}).Compact(t.Context(), head, compaction(10)); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(p.git("log", "--format=%p", "fairlead/status")) {
		if n := len(strings.Fields(line)); n > 50 {
			t.Errorf("a commit has %d parents", n)
		}
	}
	for _, i := range []int{0, 60, 129} {
		if got := p.git("log", "--format=%s", "fairlead/status", "--", fmt.Sprintf("clusters/prod/%03d.yaml", i)); got != fmt.Sprintf("%03d", i) {
			t.Errorf("the story of file %d is %q", i, got)
		}
	}
	p.git("fsck", "--strict")
}

// A history with merges, made by people, is compacted too.
func TestCompactMerges(t *testing.T) {
	p := newPlace(t, gitserver.Options{})
	lived(t, p, 10)
	work := t.TempDir()
	g := func(args ...string) string { return p.run("", "git", append([]string{"-C", work}, args...)...) }
	g("clone", "--quiet", "--branch", "fairlead/status", p.bare, ".")
	g("checkout", "--quiet", "-b", "side", "HEAD~4")
	write := func(name, text string) {
		path := filepath.Join(work, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
		g("add", "-A")
		g("commit", "--quiet", "-m", "by hand: "+name)
	}
	write("requests/prod/eu-1/suspend.yaml", "kind: Request\n")
	write("notes/x y.txt", "with a space")
	g("checkout", "--quiet", "fairlead/status")
	g("merge", "--quiet", "--no-edit", "side")
	g("push", "--quiet", "origin", "fairlead/status")
	b := branch(t, git.Options{URL: p.url})
	head := p.live(12)
	stories := func() (out []string) {
		for _, f := range []string{"requests/prod/eu-1/suspend.yaml", "notes/x y.txt"} {
			out = append(out, p.git("log", "--format=%s", "fairlead/status", "--", f))
		}
		return out
	}
	want := stories()
	if _, _, err := b.Compact(t.Context(), head, compaction(5)); err != nil {
		t.Fatal(err)
	}
	if got := stories(); !slices.Equal(got, want) || want[0] != "by hand: requests/prod/eu-1/suspend.yaml" {
		t.Errorf("the stories of what was made by hand are %q, want %q", got, want)
	}
	p.git("fsck", "--strict")
}

// Readers and writers of the old history go on with the new one. A read succeeds, and a
// write on the old head is a conflict first.
func TestReadersSurviveCompaction(t *testing.T) {
	p := newPlace(t, gitserver.Options{})
	p.git("config", "uploadpack.allowAnySHA1InWant", "false")
	b, head := lived(t, p, 40)
	other := branch(t, git.Options{URL: p.url})
	if _, _, err := other.Read(t.Context()); err != nil {
		t.Fatal(err)
	}
	next, _, err := b.Compact(t.Context(), head, compaction(10))
	if err != nil {
		t.Fatal(err)
	}
	p.git("reflog", "expire", "--expire=now", "--all")
	p.git("gc", "--quiet", "--prune=now")
	_, err = other.Commit(t.Context(), head, sources.Commit{Edits: map[string][]byte{"requests/x": []byte("1")}, Message: "asked"})
	wantKind(t, err, fleet.Conflict, "")
	now, tree, err := other.Read(t.Context())
	if err != nil || now != next {
		t.Fatalf("read %v, %v", now, err)
	}
	if _, err := fs.ReadFile(tree, "fleet.yaml"); err != nil {
		t.Error(err)
	}
	asked, err := other.Commit(t.Context(), now, sources.Commit{Edits: map[string][]byte{"requests/x": []byte("1")}, Message: "asked"})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := b.Compact(t.Context(), next, compaction(2)); fleet.KindOf(err) != fleet.Conflict {
		t.Errorf("what was asked for meanwhile is compacted away: %v", err)
	}
	if got := "sha1:" + p.git("rev-parse", "fairlead/status"); got != asked.Digest {
		t.Errorf("the branch is at %s", got)
	}
	if got, _, err := b.Read(t.Context()); err != nil || got != asked {
		t.Errorf("read %v, %v", got, err)
	}
}

// TestHistoryIsCountedByCommits: a history within its bound is counted without its folders, which
// may need much more memory than there is.
func TestHistoryIsCountedByCommits(t *testing.T) {
	p := newPlace(t, gitserver.Options{})
	p.git("config", "uploadpack.allowFilter", "true")
	const commits = 400
	_, head := lived(t, p, commits)
	b := branch(t, git.Options{URL: p.url, Budget: git.Budget{Unpacked: commits * 600}})
	_, h, err := b.Compact(t.Context(), head, compaction(commits))
	if err != nil || h.Commits != commits {
		t.Errorf("%d commits were counted, want %d: %v", h.Commits, commits, err)
	}
}

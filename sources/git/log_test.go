package git_test

import (
	"fmt"
	"strings"
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/sources/git"
	"fairlead.dev/sources/git/gitserver"
)

// TestLog: the newest commits, as git log has them, and the commit that a file is of.
func TestLog(t *testing.T) {
	for _, filters := range []string{"true", "false"} {
		t.Run("filters "+filters, func(t *testing.T) {
			p := newPlace(t, gitserver.Options{})
			p.run("", "git", "-C", p.bare, "config", "uploadpack.allowFilter", filters)
			b, head := lived(t, p, 40)
			list, err := b.Log(t.Context(), head, 7)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, e := range list {
				subject, _, _ := strings.Cut(e.Message, "\n")
				got = append(got, fmt.Sprintf("%s %d %s %s", e.Commit, e.At.Unix(), e.By, subject))
			}
			want := p.git("log", "-7", "--format=%H %ct %an <%ae> %s", "fairlead/status")
			if strings.Join(got, "\n") != want {
				t.Errorf("the log is\n%s\nwant\n%s", strings.Join(got, "\n"), want)
			}
			for _, file := range strings.Fields(p.git("ls-tree", "-r", "--name-only", "fairlead/status")) {
				e, err := b.WriterOf(t.Context(), head, file)
				if err != nil {
					t.Fatal(err)
				}
				if want := p.git("log", "-1", "--format=%H", "fairlead/status", "--", file); e.Commit != want {
					t.Errorf("%s is of %s, want %s", file, e.Commit, want)
				}
			}
		})
	}
}

// TestWriterOfLongAgo: a commit that is not among the newest is not guessed.
func TestWriterOfLongAgo(t *testing.T) {
	p := newPlace(t, gitserver.Options{})
	p.live(1)
	p.run("", "git", "-C", p.bare, "update-ref", "refs/heads/main", "fairlead/status")
	once := strings.Fields(p.git("ls-tree", "-r", "--name-only", "main", "clusters"))[0]
	head := p.live(1)
	b := branch(t, git.Options{URL: p.url})
	if _, err := b.WriterOf(t.Context(), head, once); err != nil {
		t.Fatal(err)
	}
	var in strings.Builder
	for i := range 210 {
		fmt.Fprintf(&in, "commit refs/heads/fairlead/status\ncommitter A <a@b> %d +0000\ndata 2\nx\n\n", clock().Unix()+int64(i)+1000)
		if i == 0 {
			fmt.Fprintf(&in, "from %s\n", head.Hash())
		}
		fmt.Fprintf(&in, "M 100644 inline fleet.yaml\ndata 4\n%04d\n", i)
	}
	p.run(in.String(), "git", "-C", p.bare, "fast-import", "--quiet", "--force")
	head.Digest = "sha1:" + p.git("rev-parse", "fairlead/status")
	if e, err := b.WriterOf(t.Context(), head, once); fleet.KindOf(err) != fleet.NotFound {
		t.Errorf("it is said to be of %v, %v", e, err)
	}
}

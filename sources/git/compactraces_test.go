package git_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/sources/git"
	"fairlead.dev/sources/git/gitserver"
)

// A push between reading the history and replacing it is not lost.
func TestCompactLosesRace(t *testing.T) {
	var p *place
	var move func()
	p = newPlace(t, gitserver.Options{Before: func(_ http.ResponseWriter, r *http.Request) bool {
		if strings.HasSuffix(r.URL.Path, "/git-receive-pack") && r.Method == http.MethodPost && move != nil {
			move()
			move = nil
		}
		return false
	}})
	b, head := lived(t, p, 20)
	mine := p.git("commit-tree", "-p", "fairlead/status", "-m", "asked", p.git("rev-parse", "fairlead/status~3^{tree}"))
	move = func() { p.git("update-ref", "refs/heads/fairlead/status", mine) }
	_, _, err := b.Compact(t.Context(), head, compaction(5))
	wantKind(t, err, fleet.Conflict, "")
	if got := p.git("rev-parse", "fairlead/status"); got != mine {
		t.Errorf("the branch is at %s", got)
	}
}

// Where the server does not allow to replace history, the error says so, and nothing
// changes.
func TestCompactRefused(t *testing.T) {
	for name, refuse := range map[string]func(p *place){
		"configuration": func(p *place) { p.git("config", "receive.denyNonFastForwards", "true") },
		"a forge": func(p *place) {
			p.hook("pre-receive", "echo 'GitLab: You are not allowed to force push code to a protected branch on this project.' >&2; exit 1")
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t, gitserver.Options{})
			b, head := lived(t, p, 20)
			refuse(p)
			_, _, err := b.Compact(t.Context(), head, compaction(5))
			wantKind(t, err, fleet.Unauthorized, "compact the history of branch fairlead/status")
			if got := "sha1:" + p.git("rev-parse", "fairlead/status"); got != head.Digest {
				t.Errorf("the branch is at %s", got)
			}
		})
	}
}

// After a kill behind the push the history is the new one, and is not reported as the old
// one.
func TestCompactUnanswered(t *testing.T) {
	p := newPlace(t, gitserver.Options{})
	b, head := lived(t, p, 20)
	dying, err := gitserver.New(p.root, gitserver.Options{After: func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(dying)
	t.Cleanup(srv.Close)
	_, _, err = branch(t, git.Options{URL: srv.URL + "/fleet.git"}).Compact(t.Context(), head, compaction(5))
	wantKind(t, err, fleet.Unanswered, "")
	now, _, err := b.Read(t.Context())
	if err != nil || now == head {
		t.Errorf("read %v, %v", now, err)
	}
	if _, err := b.Commit(t.Context(), now, one("1")); err != nil {
		t.Error(err)
	}
}

// A history that is too large is compacted by its newest part. The content stays the same,
// and files without a commit in that part get one.
func TestCompactOverBudget(t *testing.T) {
	p := newPlace(t, gitserver.Options{})
	_, head := lived(t, p, 60)
	tree, newest := p.git("rev-parse", "fairlead/status^{tree}"), p.git("log", "-7", "--format=%s", "fairlead/status")
	b := branch(t, git.Options{URL: p.url, Budget: git.Budget{Unpacked: 26_000}})
	if _, _, err := b.Compact(t.Context(), head, compaction(5)); err != nil {
		t.Fatal(err)
	}
	if got := p.git("rev-parse", "fairlead/status^{tree}"); got != tree {
		t.Error("the content is another")
	}
	if got := p.git("log", "-5", "--skip=1", "--format=%s", "fairlead/status"); !strings.HasPrefix(newest, got) {
		t.Errorf("the newest commits are\n%s\nwant\n%s", got, newest)
	}
	for f, story := range p.stories() {
		if story == "" {
			t.Errorf("%s has no commit", f)
		}
	}
	p.git("fsck", "--strict")
}

// A compaction that is cancelled changes nothing.
func TestCompactGivenUp(t *testing.T) {
	p := newPlace(t, gitserver.Options{})
	b, head := lived(t, p, 10)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := b.Compact(ctx, head, compaction(5)); !errors.Is(err, context.Canceled) {
		t.Errorf("it gives %v", err)
	}
	if got := "sha1:" + p.git("rev-parse", "fairlead/status"); got != head.Digest {
		t.Errorf("the branch is at %s", got)
	}
}
